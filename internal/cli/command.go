package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

// Command is the whole command line over some scenarios.
type Command struct {
	// Name is that of the program, in help and in the commands that reproduce a run.
	Name string
	// Invocation is how the program was called, for commands that a person is to copy: "go run
	// ./cmd/simrun". "" is Name.
	Invocation string
	// Package is the import path of the main package, which --mutant builds; "" is
	// [mutants.CommandPackage].
	Package string
	// Executable is the path of the program, which `verify` calls; "" is os.Executable.
	Executable string
	// Scenarios are what it can run.
	Scenarios []*scenarios.Scenario
	// Mutants loads the bugs it can plant; nil is none.
	Mutants func() ([]*mutants.Mutant, error)

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv reads the environment; nil is an empty one.
	Getenv func(string) string

	args        []string
	temporaries temporaries

	stdinPlan []byte // of --faults -, which can be read once only
}

// Run executes the command line given by args, which do not have the program's name among them,
// and returns the exit status. When ctx is done because of an [Interrupted], what was done until
// then is reported.
func (c *Command) Run(ctx context.Context, args []string) int {
	c.args = args
	if err := c.checkScenarios(); err != nil {
		return c.report(err)
	}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.Stdin)
	root.SetOut(c.Stdout)
	root.SetErr(c.Stderr)
	return c.report(root.ExecuteContext(ctx))
}

// report prints an error, if it is one to print, and returns the exit status.
func (c *Command) report(err error) int {
	var status statusError
	var usage *usageError
	switch {
	case err == nil:
		return exitPass
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage):
		c.complain(err)
		return exitUsage
	default:
		c.complain(err)
		return exitUnknown
	}
}

// complain prints one line on standard error.
func (c *Command) complain(err error) {
	fmt.Fprintf(c.Stderr, "%s: %s\n", c.Name, oneLine(err.Error()))
}

func (c *Command) checkScenarios() error {
	seen := make(map[string]bool)
	for _, s := range c.Scenarios {
		if s.Name == "" || strings.ContainsAny(s.Name, ": \t\n") {
			return usagef("scenario name %q: must not be empty nor have colons or spaces", s.Name)
		}
		if seen[s.Name] {
			return usagef("two scenarios are called %q: rename one", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

func (c *Command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   c.Name,
		Short: "Deterministic simulation testing: one seed decides everything",
		Long: `Runs whole distributed systems on a simulated clock, network and disk. One seed
decides everything, so that a failure is replayed exactly from its seed.

` + exitHelp,
		Example: c.example(`run shard --seeds 1-50
repro shard:17
verify shard --seeds 1-10`),
		SilenceErrors: true,
		SilenceUsage:  true,
		// So that a mistyped command gets here, and the error is ours.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(helpCommand())
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(c.listCommand(), c.runCommand(), c.checkCommand(), c.reproCommandLine(), c.shrinkCommand(), c.keepCommand(), c.verifyCommand(), c.diffCommand(),
		c.planCommand(), c.coverageCommand(), c.newCommand(), c.mutantsCommand(), c.benchCommand(), c.vetCommand(), c.sqlCommand(), c.versionCommand())
	return root
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print how a command is called",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, strings.Join(args, " "))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, sub := range root.Commands() {
		names = append(names, sub.Name())
	}
	return usagef("there is no command %q%s", name, suggestion(name, names))
}

// example puts the program's name before each line.
func (c *Command) example(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		b.WriteString("  " + c.Name + " " + line)
	}
	return b.String()
}

// flagError rewrites the errors of the flag parser.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			return usagef("%s: there is no flag -%s; %s --help lists them", cmd.Name(), name, cmd.CommandPath())
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		return usagef("%s: there is no flag --%s%s", cmd.Name(), name, suggestion("--"+name, names))
	case errors.As(err, &missing):
		return usagef("%s: flag --%s needs a value: %s", cmd.Name(), missing.GetFlag().Name, missing.GetFlag().Value.Type())
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool":
		return usagef("%s: --%s: %q is neither true nor false", cmd.Name(), invalid.GetFlag().Name, invalid.GetValue())
	case errors.As(err, &invalid):
		return usagef("%s: --%s: %w", cmd.Name(), invalid.GetFlag().Name, invalid.Unwrap())
	}
	return usagef("%s: %w", cmd.Name(), err)
}

// oneScenario takes the one scenario out of a command's arguments.
func (c *Command) oneScenario(cmd *cobra.Command, args []string) (*scenarios.Scenario, error) {
	switch {
	case len(args) == 0:
		return nil, usagef("%s: which scenario? There are: %s", cmd.Name(), strings.Join(c.scenarioNames(), ", "))
	case len(args) > 1:
		return nil, usagef("%s: takes one scenario, not %d: %s", cmd.Name(), len(args), strings.Join(args, " "))
	}
	return c.scenario(args[0])
}

// shown is a command as a person at this terminal would type it.
func (c *Command) shown(command string) string {
	if c.Invocation == "" {
		return command
	}
	return c.Invocation + strings.TrimPrefix(command, c.Name)
}

// terminal prints to w, in colour if that is a terminal and nobody objects.
func (c *Command) terminal(w io.Writer) *reports.Terminal {
	return &reports.Terminal{Out: w, Color: isTerminal(w) && c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb"}
}

func (c *Command) getenv(name string) string {
	if c.Getenv == nil {
		return ""
	}
	return c.Getenv(name)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
