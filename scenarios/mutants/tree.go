package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// ModulePath is the module whose source the mutants change.
const ModulePath = "github.com/simrun-dev/simrun"

// CommandPackage is the command line that a [Hunt] builds.
const CommandPackage = ModulePath + "/cmd/simrun"

// ErrNoSource says that there is nothing to plant a bug in: no go command, or no source tree of
// simrun that could be built with a changed file.
var ErrNoSource = errors.New("mutants are built from source")

// Tree is a source tree of simrun.
type Tree struct {
	// Dir is its root, where go.mod is.
	Dir string
	// WorkDir is where the go command runs; it decides which main module is built. "" is Dir.
	WorkDir string
}

// FindTree finds the source that a build in dir would use; "" is the current directory. The error
// wraps [ErrNoSource].
func FindTree(ctx context.Context, dir string) (Tree, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Tree{}, fmt.Errorf("%w, but there is no current directory: %w", ErrNoSource, err)
	}
	root, err := goCommand(ctx, dir, nil, "list", "-m", "-f", "{{.Dir}}", ModulePath)
	if errors.Is(err, exec.ErrNotFound) {
		return Tree{}, fmt.Errorf("%w, but there is no go command in PATH: install Go from https://go.dev/dl", ErrNoSource)
	}
	if err != nil || root == "" {
		return Tree{}, fmt.Errorf("%w, but this is not a directory of a module that uses %s: "+
			"change to a clone of it", ErrNoSource, ModulePath)
	}
	cache, err := goCommand(ctx, dir, nil, "env", "GOMODCACHE")
	if err != nil {
		return Tree{}, fmt.Errorf("%w, but go env failed: %w", ErrNoSource, err)
	}
	if rel, err := filepath.Rel(cache, root); err == nil && filepath.IsLocal(rel) {
		return Tree{}, fmt.Errorf("%w, but here that of %s is in the module cache, which the go command builds only "+
			"as it is: change to a clone of it, or replace the module with a clone in go.mod", ErrNoSource, ModulePath)
	}
	return Tree{Dir: root, WorkDir: dir}, nil
}

// BuildError is a mutant that does not compile.
type BuildError struct {
	Mutant *Mutant
	// Output is what the go command said.
	Output string
}

func (e *BuildError) Error() string {
	line, _, _ := strings.Cut(strings.TrimSpace(withoutHeadings(e.Output)), "\n")
	return fmt.Sprintf("%s: does not build: %s; adapt the patch to the source", e.Mutant.File, line)
}

// withoutHeadings leaves out the go command's "# package" lines.
func withoutHeadings(output string) string {
	var b strings.Builder
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "# ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Build builds a command with the bug planted, and returns the path of the binary. All files it
// writes are in dir. The error is a [*PatchError] or a [*BuildError] if it is the mutant's fault.
func (t Tree) Build(ctx context.Context, m *Mutant, command, dir string) (string, error) {
	overlay, err := m.Overlay(t.Dir, dir)
	if err != nil {
		return "", err
	}
	binary, err := filepath.Abs(filepath.Join(dir, "simrun-"+m.Name+executableSuffix()))
	if err != nil {
		return "", err
	}
	// The binary knows what it is, so that the commands it prints name the mutant. Nobody debugs it:
	// without symbols it is linked in half the time.
	flags := "-s -w -X " + ModulePath + "/internal/cli.plantedMutant=" + m.Name
	args := append([]string{"build", "-buildvcs=false", "-ldflags", flags, "-o", binary}, compiling(overlay)...)
	_, err = goCommand(ctx, t.workDir(), buildEnv(filepath.Dir(binary)), append(args, command)...)
	var failed *goError
	if errors.As(err, &failed) && ctx.Err() == nil {
		return "", &BuildError{Mutant: m, Output: failed.stderr}
	}
	return binary, err
}

// compiling are the flags that decide what the compiler makes of the tree with an overlay. A compiler
// without symbols to write takes a tenth less time.
func compiling(overlay string) []string {
	return []string{"-overlay", overlay, "-gcflags", ModulePath + "/...=-dwarf=false"}
}

// buildEnv has what the go command leaves behind when it is killed removed with dir, and gives the
// compiler room to let garbage lie, which is another tenth of its time.
func buildEnv(dir string) []string { return []string{"GOTMPDIR=" + dir, "GOGC=800"} }

func executableSuffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

func (t Tree) workDir() string {
	if t.WorkDir == "" {
		return t.Dir
	}
	return t.WorkDir
}

// goError is a go command that failed.
type goError struct {
	args   []string
	stderr string
	err    error
}

func (e *goError) Error() string {
	return fmt.Sprintf("go %s: %v: %s", e.args[0], e.err, strings.TrimSpace(e.stderr))
}

func (e *goError) Unwrap() error { return e.err }

// goCommand runs the go command in dir, with env added to the environment, and returns its output,
// trimmed.
func goCommand(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", &goError{args: args, stderr: stderr.String(), err: err}
	}
	return strings.TrimSpace(stdout.String()), nil
}
