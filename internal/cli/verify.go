package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

const defaultVerifySeeds = "1-20"

func (c *Command) verifyCommand() *cobra.Command {
	var seeds seedFlags
	var run runFlags
	var workers int
	var child bool
	cmd := &cobra.Command{
		Use:   "verify SCENARIO",
		Short: "Audit determinism: run seeds several times and compare",
		Long: `Runs each seed three times: twice in this process, in different orders and with
different numbers of workers, and once in a process of its own with another
GOMAXPROCS and GOGC. The trace hash is a function of scenario, seed, settings and
source; a seed for which anything but the real time differs breaks that law. Verify
names the first event that differs, and ends in status 3.

It does not judge: a seed that fails in the same way each time is as it should be here.
Without --seed or --seeds it verifies the seeds ` + defaultVerifySeeds + `.

` + exitHelp,
		Example: c.example(`verify shard
verify full --seeds 1-100 --faults chaos`),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.oneScenario(cmd, args)
			if err != nil {
				return err
			}
			if err := seeds.check(cmd.Flags()); err != nil {
				return err
			}
			if run.mutantToBuild() != "" {
				return c.runMutant(cmd.Context(), run.mutant)
			}
			opt, err := c.options(cmd.Context(), s, &run, seeds.seeds.At(0))
			if err != nil {
				return err
			}
			a := &audit{
				Command: c, scenario: s, flags: &run, options: opt, seeds: seeds.seeds, workers: workers,
				terminal: c.terminal(c.Stdout), first: map[uint64]scenarios.Result{}, compared: map[uint64]bool{},
				differences: map[uint64]string{}, explained: map[uint64]bool{},
			}
			return a.run(cmd.Context(), child)
		},
	}
	seeds.add(cmd.Flags(), defaultVerifySeeds, false)
	run.add(cmd.Flags())
	run.addMutant(cmd.Flags(), c.Name)
	addWorkers(cmd.Flags(), &workers)
	cmd.Flags().BoolVar(&child, "child", true, "run the seeds in a process of their own too")
	return cmd
}

// audit is one call of `simrun verify`.
type audit struct {
	*Command
	scenario *scenarios.Scenario
	flags    *runFlags
	options  scenarios.Options
	seeds    scenarios.Seeds
	workers  int
	terminal *reports.Terminal

	first map[uint64]scenarios.Result
	// compared are the seeds that were run again.
	compared map[uint64]bool
	// differences says for each seed that is not deterministic how that shows.
	differences map[uint64]string
	explained   map[uint64]bool
}

func (a *audit) run(ctx context.Context, child bool) error {
	a.pass(ctx, "first run", a.seeds, a.workers, func(r scenarios.Result) { a.first[r.Seed] = r })
	other := 1
	if a.workers == 1 {
		other = 2
	}
	a.pass(ctx, "second run", a.seeds.Reversed(), other, func(r scenarios.Result) {
		a.compare(r, "run again in another order")
	})
	if err := a.explainAll(ctx, a.inProcess); err != nil {
		return err
	}
	runs := 2
	if child && ctx.Err() == nil {
		runs = 3
		if err := a.runChild(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		if err := a.explainAll(ctx, a.inChild); err != nil {
			return err
		}
	}
	return a.conclude(ctx, runs)
}

// pass runs all seeds once.
func (a *audit) pass(ctx context.Context, title string, seeds scenarios.Seeds, workers int, each func(scenarios.Result)) {
	if ctx.Err() != nil {
		return
	}
	p := a.progress(title, seeds, 0)
	campaign := scenarios.Campaign{
		Scenario: a.scenario.Name, Execute: a.scenario.Execute, Options: a.options,
		Seeds: seeds, Workers: workers, KeepGoing: true,
		OnResult: func(r scenarios.Result) {
			p.add(&r)
			each(r)
		},
	}
	campaign.Run(ctx)
	p.clear()
}

// compare compares a result with that of the first run.
func (a *audit) compare(r scenarios.Result, how string) {
	first, ok := a.first[r.Seed]
	if !ok {
		return
	}
	a.compared[r.Seed] = true
	if _, known := a.differences[r.Seed]; known {
		return
	}
	if field, was, is := rerun.DifferingField(first, r); field != "" {
		a.differences[r.Seed] = fmt.Sprintf("%s was %s, and %s when %s", field, was, is, how)
	}
}

func (a *audit) conclude(ctx context.Context, runs int) error {
	s := reports.Audit{
		Scenario: a.scenario.Name, Seeds: a.seeds.Len(), Compared: len(a.compared), Runs: runs,
		Differing: slices.Sorted(maps.Keys(a.differences)), Interrupted: ctx.Err() != nil,
	}
	for _, r := range a.first {
		switch r.Verdict {
		case scenarios.Fail:
			s.Failed++
		case scenarios.Unknown:
			s.Unknown++
		}
	}
	if err := a.terminal.Audit(s); err != nil {
		return err
	}
	switch {
	case len(a.differences) > 0:
		return status(exitUnknown)
	case ctx.Err() != nil:
		return status(interruptStatus(context.Cause(ctx)))
	case uint64(len(a.compared)) < a.seeds.Len():
		return status(exitUnknown)
	}
	return nil
}
