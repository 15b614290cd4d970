package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/simrun-dev/simrun/sim/simvet"
)

func (c *Command) vetCommand() *cobra.Command {
	var json jsonFlag
	var opt simvet.Options
	var fix bool
	cmd := &cobra.Command{
		Use:   "vet [PACKAGES]",
		Short: "Find what the simulator can't decide in code that is to run in a simulation",
		Long: `Checks Go packages, named as for the go command (default: the current directory's),
for go statements, the real clock, global randomness, bare channels and select, blocking
with package sync, loops over maps where the order shows, and real input and output.
Name all packages that the simulated code is made of, and no others.

A comment on the line, or on the one above, switches a check off there, and says why:

  //simvet:ignore NAME REASON

The checks are also a tool for go vet, which keeps its results until the source changes:

  go vet -vettool=$(which ` + c.Name + `) PACKAGES

Go 1.26 loses findings that way when it has seen a package as an import of another
before it is asked about the package itself.

Exit status:
  0    nothing was found
  1    something was found
  2    a package does not exist or does not compile, or the call is wrong; one line on standard error says what`,
		Example: c.example(`vet ./...
vet ./internal/raft/... --skip simio
vet ./... --json -`),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := vet(cmd.Context(), opt, args)
			if err == nil && fix && len(found) > 0 {
				if err = c.vetFix(cmd.Context(), opt, args); err == nil {
					found, err = vet(cmd.Context(), opt, args)
				}
			}
			if err != nil {
				return err
			}
			return c.reportFindings(found, &json)
		},
	}
	flags := cmd.Flags()
	flags.Var(checkNames(&opt.Only), "only", "only these checks, separated by commas: "+strings.Join(simvet.Names(), ", "))
	flags.Var(checkNames(&opt.Skip), "skip", "not these checks")
	flags.BoolVar(&opt.Tests, "tests", false, "look at test files too")
	flags.BoolVar(&fix, "fix", false, "first change what can be changed mechanically, then report the rest")
	json.add(flags, "the findings")
	return cmd
}

// checkNames is a flag that takes names of checks.
func checkNames(list *[]string) *parsedFlag {
	return &parsedFlag{typ: "NAMES", parse: func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			if !slices.Contains(simvet.Names(), name) {
				return fmt.Errorf("there is no check %q%s", name, suggestion(name, simvet.Names()))
			}
			*list = append(*list, name)
		}
		return nil
	}}
}

func vet(ctx context.Context, opt simvet.Options, patterns []string) ([]simvet.Finding, error) {
	found, err := simvet.Check(ctx, opt, patterns...)
	var load *simvet.LoadError
	switch {
	case ctx.Err() != nil:
		return nil, status(interruptStatus(context.Cause(ctx)))
	case errors.As(err, &load):
		return nil, usagef("vet: %w", err)
	}
	return found, err
}

func (c *Command) reportFindings(found []simvet.Finding, json *jsonFlag) (err error) {
	out, err := c.open(json)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	if err := writeFindings(out, found); err != nil {
		return fmt.Errorf("cannot write the findings: %w", err)
	}
	if len(found) > 0 {
		return status(exitViolation)
	}
	return nil
}

// vetFinding is a finding as a JSON object.
type vetFinding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Check   string `json:"check"`
	Message string `json:"message"`
}

func writeFindings(out *outputs, found []simvet.Finding) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, f := range found {
		p := f.Position
		if rel, err := filepath.Rel(dir, p.Filename); err == nil && filepath.IsLocal(rel) {
			p.Filename = rel
		}
		if _, err := fmt.Fprintf(out.text, "%s: %s (%s)\n", p, f.Message, f.Check); err != nil {
			return err
		}
		if out.json == nil {
			continue
		}
		if err := json.NewEncoder(out.json).Encode(vetFinding{p.Filename, p.Line, p.Column, f.Check, f.Message}); err != nil {
			return err
		}
	}
	return nil
}

// vetFix lets go vet apply the suggested fixes, with this program as its tool.
func (c *Command) vetFix(ctx context.Context, opt simvet.Options, patterns []string) error {
	tool := c.Executable
	if tool == "" {
		var err error
		if tool, err = os.Executable(); err != nil {
			return err
		}
	}
	args := []string{"vet", "-vettool=" + tool, "-fix"}
	for _, name := range opt.Only {
		args = append(args, "-"+name)
	}
	for _, name := range opt.Skip {
		args = append(args, "-"+name+"=false")
	}
	if opt.Tests {
		args = append(args, "-"+simvet.TestsFlag)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, patterns...)...)
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return status(interruptStatus(context.Cause(ctx)))
	case err != nil:
		return fmt.Errorf("vet --fix: go vet: %w: %s", err, lastLine(stderr.String()))
	}
	return nil
}

// isVetTool tells whether go vet calls this program as its tool: with -V=full or -flags, to be told
// about it, or with flags and a file that describes a package.
func isVetTool(args []string) bool {
	for i, arg := range args {
		if i == len(args)-1 {
			return arg == "-V=full" || arg == "-flags" || filepath.Ext(arg) == ".cfg" && !strings.HasPrefix(arg, "-")
		}
		if !strings.HasPrefix(arg, "-") {
			return false
		}
	}
	return false
}

// vetTool is the tool. It reads the process's arguments, and ends the process.
func vetTool() {
	analyzers := simvet.Analyzers()
	flag.BoolFunc(simvet.TestsFlag, "look at test files too", func(text string) error {
		for _, a := range analyzers {
			if err := a.Flags.Set(simvet.TestsFlag, text); err != nil {
				return err
			}
		}
		return nil
	})
	unitchecker.Main(analyzers...)
}
