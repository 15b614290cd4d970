package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/scenarios/mutants"
)

// plantedMutant is the name of the bug planted in this binary, "" for none. The linker sets it;
// see [mutants.Tree.Build].
var plantedMutant string

// invocationVariable hands down how the program was called to one with a bug planted.
const invocationVariable = "SIMRUN_INVOCATION"

// mutantToBuild is the mutant for which another binary is needed, "" for none.
func (f *runFlags) mutantToBuild() string {
	if f.mutant == plantedMutant {
		return ""
	}
	return f.mutant
}

// planted is the mutant under which runs with these flags take place.
func (f *runFlags) planted() string {
	if f.mutant == "" {
		return plantedMutant
	}
	return f.mutant
}

// mutants are the bugs that can be planted.
func (c *Command) mutants() ([]*mutants.Mutant, error) {
	if c.Mutants == nil {
		return nil, nil
	}
	all, err := c.Mutants()
	if err != nil {
		return nil, &usageError{err}
	}
	return all, nil
}

// mutant finds a mutant by name.
func (c *Command) mutant(name string) (*mutants.Mutant, error) {
	all, err := c.mutants()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range all {
		offered := slices.Contains(c.scenarioNames(), m.Scenario)
		switch {
		case m.Name == name && !offered:
			return nil, usagef("mutant %s is for scenario %s, which %s does not have", name, m.Scenario, c.Name)
		case m.Name == name:
			return m, nil
		case offered:
			names = append(names, m.Name)
		}
	}
	err = usagef("there is no mutant %q%s", name, suggestion(name, names))
	if closest(name, names) == "" {
		err = fmt.Errorf("%w; see %s mutants --list", err, c.Name)
	}
	return nil, err
}

// mutantPackage is the command that is built anew.
func (c *Command) mutantPackage() string {
	if c.Package == "" {
		return mutants.CommandPackage
	}
	return c.Package
}

// runMutant hands the whole call over to a binary with the bug planted, and ends as that ends.
func (c *Command) runMutant(ctx context.Context, name string) error {
	code, err := c.withMutant(ctx, name, func(ctx context.Context, binary string) (int, error) {
		return c.handOver(ctx, binary, c.args, c.Stdin)
	})
	if err != nil {
		return err
	}
	return status(code)
}

// reproMutant repeats one run in a binary with the bug planted.
func (c *Command) reproMutant(ctx context.Context, target *reproTarget, flags *reproFlags, name string) (int, error) {
	args := append([]string{"repro", fmt.Sprintf("%s:%d", target.scenario.Name, target.seed)},
		target.flags.arguments(target.scenario)...)
	if target.recorded != nil {
		args = append(args, "--expect", target.recorded.TraceHash)
	}
	if flags.trace != "" {
		args = append(args, "--trace", flags.trace)
	}
	return c.withMutant(ctx, name, func(ctx context.Context, binary string) (int, error) {
		return c.handOver(ctx, binary, args, c.Stdin)
	})
}

// withMutant builds a binary with the bug planted and does something with it.
func (c *Command) withMutant(ctx context.Context, name string, do func(context.Context, string) (int, error)) (int, error) {
	m, err := c.mutant(name)
	if err != nil {
		return 0, err
	}
	tree, err := mutants.FindTree(ctx, "")
	if err != nil {
		return 0, usagef("--mutant %s: %w", name, err)
	}
	dir, remove, err := c.temporary()
	if err != nil {
		return 0, err
	}
	defer remove()
	fmt.Fprintf(c.Stderr, "%s: planting bug %s: %s\n", c.Name, m.Name, m.Bug)
	binary, err := tree.Build(ctx, m, c.mutantPackage(), dir)
	if ctx.Err() != nil {
		return interruptStatus(context.Cause(ctx)), nil
	}
	if err != nil {
		return 0, usagef("--mutant %s: %w", name, err)
	}
	return do(ctx, binary)
}

// handOver runs a binary in place of this process, and returns its exit status.
func (c *Command) handOver(ctx context.Context, binary string, args []string, stdin io.Reader) (int, error) {
	cmd := exec.Command(binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, c.Stdout, c.Stderr
	// What it tells a person to type is a call of this program, which plants the bug again.
	cmd.Env = append(os.Environ(), invocationVariable+"="+c.shown(c.Name))
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		// Ctrl-C on a terminal reaches the child by itself, and a second one would kill it.
		if sig := interruptSignal(context.Cause(ctx)); sig != os.Interrupt || !isTerminal(c.Stderr) {
			_ = cmd.Process.Signal(sig)
		}
		select {
		case err = <-ended:
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			err = <-ended
		}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if code := exit.ExitCode(); code >= 0 {
			return code, nil
		}
		return 0, fmt.Errorf("%s: %w", strings.Join(append([]string{binary}, args...), " "), err)
	}
	return 0, err
}
