package cli

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

//go:embed skeleton
var skeletonFiles embed.FS

// skeleton is what the files of a new simulation are made of.
type skeleton struct {
	// Name is that of the package and the scenario, Title the same with a capital.
	Name, Title string
	Module      string
	// Clone is where simrun's source is, from the new directory; "" is a published version.
	Clone string
	// Requires is what simrun requires, of a clone, and Sums its go.sum: with them the module
	// builds as it is.
	Requires []requirement
	Sums     []byte
}

// requirement is a module that another one requires.
type requirement struct{ Path, Version string }

// files are the templates and where in the new directory they go.
func (s *skeleton) files() [][2]string {
	return [][2]string{
		{"go.mod.tmpl", "go.mod"},
		{"README.md.tmpl", "README.md"},
		{"server.go.tmpl", "server.go"},
		{"simulation/scenario.go.tmpl", "simulation/scenario.go"},
		{"simulation/model.go.tmpl", "simulation/model.go"},
		{"simulation/scenario_test.go.tmpl", "simulation/scenario_test.go"},
		{"cmd/main.go.tmpl", "cmd/" + s.Name + "sim/main.go"},
		{"github/simulation.yml.tmpl", ".github/workflows/simulation.yml"},
	}
}

func (c *Command) newCommand() *cobra.Command {
	var module string
	cmd := &cobra.Command{
		Use:   "new DIR",
		Short: "Write a small simulation of one's own, to begin with",
		Long: `Writes a module into a new or empty directory: a small server, a scenario that tries it
under faults, the model that judges it, a test, a command line over it, and a file for
continuous integration. It builds and passes as it is; its README says how to see it
fail. Called in a clone of ` + c.Name + `, or in a module that has one, the new module uses that.`,
		Example: c.example(`new ../counter
new ../counter --module example.com/counter`),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("new: takes one directory, not %d", len(args))
			}
			return c.newModule(cmd.Context(), args[0], module)
		},
	}
	cmd.Flags().Var(&parsedFlag{typ: "PATH", parse: func(text string) error {
		if !modulePath.MatchString(text) {
			return fmt.Errorf("%q is not the path of a module: write it like example.com/counter", text)
		}
		module = text
		return nil
	}}, "module", "the path of the new module (default: example.com/ and the name of the directory)")
	return cmd
}

var modulePath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9][A-Za-z0-9._~-]*)*$`)

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// newModule writes the skeleton into a directory.
func (c *Command) newModule(ctx context.Context, dir, module string) error {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return usagef("new: %w", err)
	}
	if err := mustBeEmpty(dir); err != nil {
		return err
	}
	name := notInNames.ReplaceAllString(strings.ToLower(filepath.Base(whole)), "")
	if !token.IsIdentifier(name) || name == "main" {
		return usagef("new: the package is to be called as the directory, and %q cannot be: give a directory with another name", filepath.Base(whole))
	}
	s := &skeleton{Name: name, Title: strings.ToUpper(name[:1]) + name[1:], Module: module}
	if err := s.useClone(ctx, whole); err != nil {
		return err
	}
	if s.Module == "" {
		s.Module = "example.com/" + name
	}
	for _, file := range s.files() {
		if err := s.write(file[0], filepath.Join(dir, filepath.FromSlash(file[1]))); err != nil {
			return usagef("new: %w", err)
		}
	}
	tidy := "  go mod tidy\n"
	if s.Clone != "" {
		if err := os.WriteFile(filepath.Join(dir, "go.sum"), s.Sums, 0o644); err != nil {
			return usagef("new: %w", err)
		}
		tidy = ""
	}
	fmt.Fprintf(c.Stdout, "%s: a server, its simulation, and a test. Next:\n\n  cd %s\n%s  go test ./...\n", dir, rerun.Quote(dir), tidy)
	return nil
}

func mustBeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usagef("new: %w", err)
	case len(entries) > 0:
		return usagef("new: %s is not empty: give a directory that is, or that is not there yet", dir)
	}
	return nil
}

// useClone has the module in dir use the source of simrun that the current directory uses, if that
// is a directory of its own.
func (s *skeleton) useClone(ctx context.Context, dir string) error {
	tree, err := mutants.FindTree(ctx, "")
	if err != nil {
		return nil // a published version, then
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "edit", "-json")
	cmd.Dir = tree.Dir
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("new: go mod edit -json in %s: %w", tree.Dir, err)
	}
	var mod struct{ Require []requirement }
	if err := json.Unmarshal(out, &mod); err != nil {
		return fmt.Errorf("new: go mod edit -json in %s: %w", tree.Dir, err)
	}
	if s.Sums, err = os.ReadFile(filepath.Join(tree.Dir, "go.sum")); err != nil {
		return fmt.Errorf("new: %w", err)
	}
	s.Requires, s.Clone = mod.Require, replacement(dir, tree.Dir)
	return nil
}

// replacement is a directory as go.mod in another one names it.
func replacement(from, to string) string {
	path, err := filepath.Rel(from, to)
	if err != nil {
		path = to // on another drive
	}
	if path = filepath.ToSlash(path); !filepath.IsAbs(path) && !strings.HasPrefix(path, "../") {
		path = "./" + path
	}
	if strings.ContainsAny(path, " \t\"'`") {
		return strconv.Quote(path)
	}
	return path
}

// write writes one file of a template.
func (s *skeleton) write(from, to string) error {
	text, err := skeletonFiles.ReadFile("skeleton/" + from)
	if err != nil {
		return err
	}
	t, err := template.New(from).Parse(string(text))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, s); err != nil {
		return err
	}
	written := b.Bytes()
	if strings.HasSuffix(to, ".go") {
		if written, err = format.Source(written); err != nil { // imports are sorted by the module's path
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, written, 0o644)
}
