package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/internal/corpus"
)

// defaultCorpus is where sim/simtest looks for a corpus.
const defaultCorpus = "testdata/seeds"

// keepFlags are the flags of keep.
type keepFlags struct {
	run       runFlags
	dir, note string
}

func (c *Command) keepCommand() *cobra.Command {
	flags := keepFlags{dir: defaultCorpus}
	cmd := &cobra.Command{
		Use:   "keep SCENARIO:SEED | FILE",
		Short: "Keep a run, so that its bug is noticed when it comes back",
		Long: `Writes a run, or all failing runs of a file written by run --json or shrink (- for
standard input), into a corpus: a directory with a folder for each scenario, and in it
a small file for each run. The faults of the run are in it, since what a seed draws
changes with the code. Commit the files.

  ` + c.Name + ` repro ` + defaultCorpus + `

repeats all of them and ends in status 1 if one fails. The tests of sim/simtest run those
in ` + defaultCorpus + ` of their package first.

` + exitHelp,
		Example: c.example(`keep shard:17 --note "a retry took a new token"
keep results.jsonl
keep results.jsonl --dir simulation/testdata/seeds`),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("keep: takes one SCENARIO:SEED or FILE, not %d", len(args))
			}
			targets, err := c.targets(cmd.Context(), "keep", cmd.Flags(), args[0], flags.run)
			var none *noFailureError
			if errors.As(err, &none) {
				return usagef("keep: %w: there is nothing to keep", none)
			}
			if err != nil {
				return err
			}
			return c.keepAll(cmd.Context(), targets, &flags)
		},
	}
	flags.run.add(cmd.Flags())
	cmd.Flags().Var(&parsedFlag{typ: "DIR", text: defaultCorpus, parse: func(text string) error {
		if text == "" {
			return errors.New("give a directory")
		}
		flags.dir = text
		return nil
	}}, "dir", "the corpus")
	cmd.Flags().Var(&parsedFlag{typ: "TEXT", parse: func(text string) error { flags.note = text; return nil }},
		"note", "what the run has shown (default: what failed, of runs from a file)")
	return cmd
}

// keepAll writes the runs, and says where.
func (c *Command) keepAll(ctx context.Context, targets []reproTarget, flags *keepFlags) error {
	if isFile(flags.dir) {
		return usagef("--dir: %s is a file: give a directory", flags.dir)
	}
	for _, target := range targets {
		if ctx.Err() != nil {
			return status(interruptStatus(context.Cause(ctx)))
		}
		path, err := c.keep(ctx, &target, flags)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.Stdout, "%s seed %d kept as %s\n", target.scenario.Name, target.seed, filepath.ToSlash(path)); err != nil {
			return err
		}
	}
	return nil
}

// keep writes the run, and returns the file's path.
func (c *Command) keep(ctx context.Context, t *reproTarget, flags *keepFlags) (string, error) {
	// Those of the target are none if the run is one with a bug planted, for which there is another binary.
	opt, err := c.options(ctx, t.scenario, &t.flags, t.seed)
	if err != nil {
		return "", err
	}
	kept, err := corpus.Of(t.scenario, opt)
	if err != nil {
		return "", fmt.Errorf("keep: %w", err)
	}
	kept.Mutant = t.flags.planted()
	switch {
	case flags.note != "":
		kept.Note = flags.note
	case t.recorded != nil && len(t.recorded.Failures) > 0:
		kept.Note = t.recorded.Failures[0].Signature()
	}
	path, err := kept.Write(filepath.Join(flags.dir, t.scenario.Name))
	if err != nil {
		return "", usagef("--dir: %w: give a directory that can be written to", err)
	}
	return path, nil
}
