package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// reproFlags are the flags of repro.
type reproFlags struct {
	run    runFlags
	expect string
	trace  string
}

func (c *Command) reproCommandLine() *cobra.Command {
	var flags reproFlags
	cmd := &cobra.Command{
		Use:   "repro SCENARIO:SEED | FILE | DIR",
		Short: "Run a seed again, and show all there is to know about its failure",
		Long: `Runs one seed again, or all failing runs of a file written by run --json (- for
standard input), or the runs that keep has written: one, by its file, or all of a
directory. Prints what failed, the faults of the run's plan, those in force at the
failure, and the last events before it.

A run from a file must come to the recorded trace hash, one given as SCENARIO:SEED to
that of --expect, if given; if it does not, source, settings or plan are not those of
the record, or else the run is not deterministic, and the exit status is 3. A run from a
file with other faults, settings or strategy than recorded is another run, and its hash
is not compared.

` + exitHelp,
		Example: c.example(`repro shard:17
repro shard:17 --expect 5a0c6f8e9b1d2c3a --trace events.txt
repro results.jsonl
repro testdata/seeds`),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("repro: takes one SCENARIO:SEED, FILE or DIR, not %d", len(args))
			}
			targets, err := c.reproTargets(cmd.Context(), cmd.Flags(), args[0], &flags)
			var none *noFailureError
			if errors.As(err, &none) {
				_, err := fmt.Fprintf(c.Stdout, "%v: nothing to reproduce\n", none)
				return err
			}
			if err != nil {
				return err
			}
			return c.reproAll(cmd.Context(), targets, &flags)
		},
	}
	flags.run.add(cmd.Flags())
	flags.run.addMutant(cmd.Flags(), c.Name)
	cmd.Flags().Var(&parsedFlag{typ: "HASH", parse: func(text string) error {
		if !hashText.MatchString(text) {
			return fmt.Errorf("%q is not a trace hash: those are 16 hexadecimal digits", text)
		}
		flags.expect = strings.ToLower(text)
		return nil
	}}, "expect", "the trace hash that the run must come to")
	cmd.Flags().Var(&parsedFlag{typ: "FILE", parse: func(text string) error { flags.trace = text; return nil }},
		"trace", "write all events of the run to this file, one a line, each with the hash of the trace up to it; - for standard output")
	return cmd
}

var hashText = regexp.MustCompile(`^[0-9a-fA-F]{16}$`)

// reproAll repeats the runs one after the other and returns how the command ends.
func (c *Command) reproAll(ctx context.Context, targets []reproTarget, flags *reproFlags) error {
	if len(targets) > 1 && flags.trace != "" {
		return usagef("--trace writes one run, but the file has %d that failed: give one as SCENARIO:SEED", len(targets))
	}
	worst := exitPass
	for _, target := range targets {
		if ctx.Err() != nil {
			break
		}
		code, err := c.reproOne(ctx, &target, flags)
		if err != nil {
			return err
		}
		worst = max(worst, code) // 3, not repeatable, is worse than 1, a violation
	}
	if ctx.Err() != nil && worst == exitPass {
		worst = interruptStatus(context.Cause(ctx))
	}
	return status(worst)
}

// reproOne repeats one run and returns the exit status that it stands for.
func (c *Command) reproOne(ctx context.Context, target *reproTarget, flags *reproFlags) (code int, err error) {
	if mutant := target.flags.mutantToBuild(); mutant != "" {
		return c.reproMutant(ctx, target, flags, mutant)
	}
	trace, err := c.openTrace(flags.trace)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, trace.close()) }()
	r := rerun.Once(ctx, target.scenario, target.options)
	if r.Scenario == "" {
		return exitPass, nil // interrupted
	}
	r.Repro = c.reproCommand(target.scenario, &target.flags, r.Seed)
	code = verdictStatus(r.Verdict)
	var again *rerun.Examination
	if r.Verdict != scenarios.Pass || trace.each() != nil {
		again = rerun.Examine(ctx, target.scenario, target.options, r, rerun.Watcher{Event: trace.each()})
	}
	detail := reports.Detail{Command: c.shown(c.reproCommand(target.scenario, target.flags.typed(), r.Seed)), Strategy: target.flags.strategy}
	if target.kept != nil {
		detail.Kept = fmt.Sprintf("%s: %s", filepath.ToSlash(target.file), cmp.Or(strings.TrimSpace(target.kept.Note), "without a note"))
	}
	if again != nil {
		again.Explain(&detail)
		if detail.Warning = rerun.NotDeterministic(r, again.Result); detail.Warning != "" {
			code = exitUnknown
		}
	}
	t := c.terminal(trace.text)
	if r.Verdict == scenarios.Pass && detail.Warning == "" {
		err = t.Pass(r, detail)
	} else {
		err = t.Failure(r, detail)
	}
	if problem := c.unlikeRecord(target, r); problem != "" {
		c.complain(errors.New(problem))
		code = exitUnknown
	} else if len(target.overridden) > 0 && target.recorded == nil {
		c.complain(fmt.Errorf("%s seed %d: not compared with the record: overridden by %s",
			r.Scenario, r.Seed, strings.Join(target.overridden, ", ")))
	}
	return code, err
}

// unlikeRecord says in what the run differs from the record, and what that may come from, the
// likely first; "" if it differs in nothing.
func (c *Command) unlikeRecord(t *reproTarget, r scenarios.Result) string {
	if t.recorded == nil {
		return ""
	}
	field, recorded, now := "trace_hash", t.recorded.TraceHash, r.TraceHash
	if t.recorded.Scenario != "" {
		field, recorded, now = rerun.DifferingField(*t.recorded, r)
	} else if recorded == now {
		field = ""
	}
	if field == "" {
		return ""
	}
	verify := []string{c.Name, "verify", r.Scenario, "--seeds", fmt.Sprint(r.Seed)}
	return fmt.Sprintf("%s seed %d: %s is %s, but %s was recorded: the source, a setting or the plan has changed since, "+
		"or else the run is not deterministic, which this tells: %s",
		r.Scenario, r.Seed, field, now, recorded, c.shown(rerun.Join(append(verify, t.flags.typed().arguments(t.scenario)...))))
}
