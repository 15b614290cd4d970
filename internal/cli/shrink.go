package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/internal/shrink"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

const defaultShrinkTime = time.Minute

// shrinkFlags are the flags of shrink.
type shrinkFlags struct {
	run     runFlags
	limit   time.Duration
	output  string
	workers int
}

func (c *Command) shrinkCommand() *cobra.Command {
	flags := shrinkFlags{limit: defaultShrinkTime}
	cmd := &cobra.Command{
		Use:   "shrink SCENARIO:SEED | FILE",
		Short: "Find the smallest run that fails as a run does: few faults, small settings",
		Long: `Takes a run that fails, or the first one in a file written by run --json (- for
standard input), and leaves out faults, makes the others simpler and settings smaller,
as long as the run still fails by the same oracle. Random choices have addresses: with a
fault less, all others are as they were.

The run that is left is written to a file, which repro takes:

  ` + c.Name + ` shrink shard:17
  ` + c.Name + ` repro shard-17.shrunk.jsonl

Exit status:
  0    the smallest run found was run again, failed again, and is in the file
  2    the call or its input is wrong, or the run does not fail
  3    the run is not deterministic, or could not be judged
  130  interrupted by Ctrl-C: the smallest run found until then is in the file, if any is`,
		Example: c.example(`shrink shard:17
shrink shard:17 --faults chaos --for 5m --output small.jsonl
shrink results.jsonl`),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("shrink: takes one SCENARIO:SEED or FILE, not %d", len(args))
			}
			targets, err := c.targets(cmd.Context(), "shrink", cmd.Flags(), args[0], flags.run)
			var none *noFailureError
			if errors.As(err, &none) {
				return usagef("shrink: %w: there is nothing to shrink", none)
			}
			if err != nil {
				return err
			}
			return c.shrink(cmd.Context(), &targets[0], &flags, len(targets)-1)
		},
	}
	flags.run.add(cmd.Flags())
	flags.run.addMutant(cmd.Flags(), c.Name)
	addWorkers(cmd.Flags(), &flags.workers)
	cmd.Flags().Var(&parsedFlag{typ: "D", text: defaultShrinkTime.String(), parse: func(text string) (err error) {
		flags.limit, err = parseDuration(text)
		return err
	}}, "for", "search for this much real time at most: 30s, 10m")
	cmd.Flags().Var(&parsedFlag{typ: "FILE", parse: func(text string) error { flags.output = text; return nil }},
		"output", "write the run to this file, as one line of JSON; - for standard output (default: SCENARIO-SEED.shrunk.jsonl)")
	return cmd
}

// shrink shrinks one run; more are those of the file that it leaves alone.
func (c *Command) shrink(ctx context.Context, target *reproTarget, flags *shrinkFlags, more int) error {
	if flags.output == "" {
		flags.output = fmt.Sprintf("%s-%d.shrunk.jsonl", target.scenario.Name, target.seed)
	}
	if err := creatable("--output", flags.output); err != nil {
		return err
	}
	if sameFile(target.file, flags.output) {
		return usagef("shrink: --output: %s is the file that is read: give another one, or it is lost", flags.output)
	}
	if more > 0 {
		c.complain(fmt.Errorf("shrink: of the %d runs that failed, the first is shrunk, %s:%d", more+1, target.scenario.Name, target.seed))
	}
	if mutant := target.flags.mutantToBuild(); mutant != "" {
		return c.shrinkMutant(ctx, target, flags, mutant)
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, flags.limit)
	defer cancel()
	search := &shrink.Search{
		Scenario: target.scenario, Options: target.options, Workers: flags.workers,
		OnProgress: c.shrinkProgress(began),
	}
	found, err := search.Run(limited)
	var passes *shrink.NotFailingError
	switch {
	case errors.As(err, &passes) && passes.Result.Verdict == scenarios.Unknown:
		return fmt.Errorf("shrink: %w: %s", err, passes.Result.Failures[0].Signature())
	case errors.As(err, &passes):
		return usagef("shrink: %w: there is nothing to shrink", err)
	case errors.Is(err, shrink.ErrNoTime) && ctx.Err() != nil:
		return status(interruptStatus(context.Cause(ctx)))
	case errors.Is(err, shrink.ErrNoTime):
		return usagef("shrink: %w: --for %s is too short", err, flags.limit)
	case err != nil:
		return err
	}
	return c.writeShrunk(ctx, target, found, flags.output, time.Since(began))
}

// sameFile says whether two paths are of one file, which is there.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// shrinkMutant has a binary with the bug planted shrink the run.
func (c *Command) shrinkMutant(ctx context.Context, target *reproTarget, flags *shrinkFlags, mutant string) error {
	args := append([]string{"shrink", fmt.Sprintf("%s:%d", target.scenario.Name, target.seed)}, target.flags.arguments(target.scenario)...)
	args = append(args, "--for", flags.limit.String(), "--output", flags.output, "--workers", strconv.Itoa(flags.workers))
	code, err := c.withMutant(ctx, mutant, func(ctx context.Context, binary string) (int, error) {
		return c.handOver(ctx, binary, args, c.Stdin)
	})
	if err != nil {
		return err
	}
	return status(code)
}

// shrinkProgress says every now and then how small the run is by now.
func (c *Command) shrinkProgress(began time.Time) func(shrink.Found) {
	last := began
	return func(f shrink.Found) {
		if now := time.Now(); now.Sub(last) >= progressEvery {
			last = now
			fmt.Fprintf(c.Stderr, "shrink: %d runs, %d of %d faults left, %s\n",
				f.Runs, len(f.Options.Plan.Faults), len(f.Plan.Faults), now.Sub(began).Round(time.Second))
		}
	}
}

// writeShrunk shows the smallest run and writes it to its file, if it fails as it did when it is run
// once more.
func (c *Command) writeShrunk(ctx context.Context, target *reproTarget, found *shrink.Found, output string, took time.Duration) error {
	r, opt := found.Result, found.Options
	flags := runFlags{faults: opt.Plan.Inline(), plan: opt.Plan, strategy: opt.Strategy, mutant: target.flags.mutant}
	for _, name := range slices.Sorted(maps.Keys(opt.Settings)) {
		flags.set = append(flags.set, name+"="+opt.Settings[name])
	}
	r.Repro = c.reproCommand(target.scenario, &flags, r.Seed)

	// It is short, and an interruption must not lose it.
	confirming := context.WithoutCancel(ctx)
	detail := reports.Detail{Command: c.shown(r.Repro), Strategy: opt.Strategy}
	if output != "-" {
		detail.Command = c.shown(rerun.Join([]string{c.Name, "repro", output}))
	}
	again := rerun.Once(confirming, target.scenario, opt)
	warning := rerun.NotDeterministic(r, again)
	if e := rerun.Examine(confirming, target.scenario, opt, r, rerun.Watcher{}); e != nil {
		e.Explain(&detail)
		if warning == "" {
			warning = rerun.NotDeterministic(r, e.Result)
		}
	}
	detail.Warning = warning
	text := c.Stdout
	if output == "-" {
		text = c.Stderr
	}
	t := c.terminal(text)
	if err := t.Failure(r, detail); err != nil {
		return err
	}
	if warning != "" {
		return fmt.Errorf("shrink: nothing is written: the run is %s", warning)
	}
	if err := c.writeRecord(output, r); err != nil {
		return fmt.Errorf("shrink: cannot write the run: %w", err)
	}
	err := t.Shrunk(reports.Shrunk{
		File: output, FaultsBefore: len(found.Plan.Faults), Faults: len(opt.Plan.Faults),
		Before: found.First.Settings, After: r.Settings, Runs: found.Runs, Took: took, Complete: found.Complete,
	})
	if err == nil && ctx.Err() != nil {
		err = status(interruptStatus(context.Cause(ctx)))
	}
	return err
}

// writeRecord writes the record of one run to a file.
func (c *Command) writeRecord(output string, r scenarios.Result) error {
	if output == "-" {
		return reports.NewJSONLines(c.Stdout).Result(r)
	}
	file, err := openAside("--output", output)
	if err != nil {
		return err
	}
	if err := reports.NewJSONLines(file).Result(r); err != nil {
		return err
	}
	return file.Close()
}
