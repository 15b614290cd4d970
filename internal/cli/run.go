package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// defaultSeeds are run when none are asked for: a minute's work at most for any built-in scenario.
const defaultSeeds = "1-100"

func (c *Command) runCommand() *cobra.Command {
	var seeds seedFlags
	var run runFlags
	var json jsonFlag
	var workers int
	var keepGoing bool
	var files artifactFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Run a scenario for many seeds",
		Long: `Runs a scenario once for each seed, several at a time, and judges each run by the
scenario's oracles. Ends at the first seed that fails, the lowest one, whatever the
number of workers. Without --seed, --seeds or --for it runs the seeds ` + defaultSeeds + `.

Results go to standard output, progress to standard error.

` + exitHelp,
		Example: c.example(`run full
run shard --seeds 1-1000 --json results.jsonl
run shard --for 10m --keep-going --faults chaos
run full --seeds 1-200 --junit results.xml --html report.html
run shard --seed 17 --faults plan.yaml --set clients=5`),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.oneScenario(cmd, args)
			if err != nil {
				return err
			}
			if err := seeds.check(cmd.Flags()); err != nil {
				return err
			}
			if err := files.check(&json); err != nil {
				return err
			}
			if run.mutantToBuild() != "" {
				return c.runMutant(cmd.Context(), run.mutant)
			}
			opt, err := c.options(cmd.Context(), s, &run, seeds.seeds.At(0))
			if err != nil {
				return err
			}
			out, err := c.open(&json)
			if err != nil {
				return err
			}
			artifacts, err := c.openArtifacts(&files, out)
			if err != nil {
				return errors.Join(err, out.close())
			}
			campaign := &campaignRun{
				Command: c, scenario: s, flags: &run, out: out, artifacts: artifacts, terminal: c.terminal(out.text),
				progress: c.progress(s.Name, seeds.seeds, seeds.limit),
				Campaign: scenarios.Campaign{
					Scenario: s.Name, Execute: s.Execute, Options: opt,
					Seeds: seeds.seeds, For: seeds.limit, Workers: workers, KeepGoing: keepGoing,
				},
			}
			return campaign.run(cmd.Context())
		},
	}
	seeds.add(cmd.Flags(), defaultSeeds, true)
	run.add(cmd.Flags())
	run.addMutant(cmd.Flags(), c.Name)
	addWorkers(cmd.Flags(), &workers)
	json.add(cmd.Flags(), "the result of each seed")
	files.add(cmd.Flags())
	cmd.Flags().BoolVar(&keepGoing, "keep-going", false, "run all seeds, whatever fails")
	return cmd
}

// addWorkers registers --workers.
func addWorkers(flags *pflag.FlagSet, workers *int) {
	*workers = runtime.GOMAXPROCS(0)
	flags.Var(&parsedFlag{typ: "N", parse: func(text string) error {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("%q is not a number of workers: give a whole number from 1 to %d", text, math.MaxUint16)
		}
		*workers = int(n)
		return nil
	}}, "workers", "how many seeds run at a time (default: the number of cores, GOMAXPROCS)")
}

// campaignRun is one call of `simrun run`.
type campaignRun struct {
	*Command
	scenarios.Campaign
	scenario  *scenarios.Scenario
	flags     *runFlags
	out       *outputs
	artifacts *artifacts
	terminal  *reports.Terminal
	progress  *progress
	// shownAt is the seed of the first block shown, by verdict and signature.
	shownAt map[string]uint64
	err     error // of writing results
}

// run runs the campaign and returns how the command ends.
func (c *campaignRun) run(ctx context.Context) (err error) {
	c.shownAt = make(map[string]uint64)
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c.OnResult = func(r scenarios.Result) {
		r.Repro = c.reproCommand(c.scenario, c.flags, r.Seed)
		c.progress.add(&r)
		if c.err == nil {
			c.err = c.write(inner, r)
		}
		if c.err != nil {
			stop(c.err)
		}
	}
	summary := c.Campaign.Run(inner)
	c.progress.clear()
	c.err = errors.Join(c.err, c.terminal.Summary(summary), c.artifacts.write(c.forReports(summary), c.scenario), c.out.close())
	if c.err != nil {
		return fmt.Errorf("cannot write the results: %w", c.err)
	}
	return status(campaignStatus(summary, context.Cause(ctx)))
}

// forReports is the campaign for those who read of it elsewhere.
func (c *campaignRun) forReports(summary scenarios.Summary) *reports.Campaign {
	settings := make(map[string]string)
	for _, setting := range c.scenario.AllSettings() {
		settings[setting.Name] = setting.Default
	}
	maps.Copy(settings, c.Options.Settings)
	if summary.Options.Profile == "" {
		summary.Options.Profile = rerun.DefaultProfile(c.scenario)
	}
	return &reports.Campaign{Summary: summary, Seeds: c.Seeds, Settings: settings, Command: c.commandOf}
}

// commandOf is the command that runs a seed again elsewhere, where there is no file with the plan.
func (c *campaignRun) commandOf(seed uint64) string {
	return c.shown(c.reproCommand(c.scenario, c.flags, seed))
}

// write writes one result: always as JSON, as text only if something is wrong.
func (c *campaignRun) write(ctx context.Context, r scenarios.Result) error {
	if c.out.json != nil {
		if err := reports.NewJSONLines(c.out.json).Result(r); err != nil {
			return err
		}
	}
	if r.Verdict == scenarios.Pass {
		c.artifacts.add(r, reports.Detail{})
		return nil
	}
	c.progress.clear()
	signature := string(r.Verdict)
	if len(r.Failures) > 0 {
		signature += r.Failures[0].Signature()
	}
	detail := reports.Detail{Command: c.commandOf(r.Seed), Strategy: c.flags.strategy}
	if earlier, ok := c.shownAt[signature]; ok {
		c.artifacts.add(r, detail)
		return c.terminal.FailureAgain(r, earlier)
	}
	c.shownAt[signature] = r.Seed
	if r.Verdict == scenarios.Fail {
		options := c.Options
		options.Seed = r.Seed
		if again := rerun.Examine(ctx, c.scenario, options, r, c.artifacts.watcher(r, detail.Command)); again != nil {
			detail.InForce = again.InForce
			detail.Warning = rerun.NotDeterministic(r, again.Result)
		}
	}
	c.artifacts.add(r, detail)
	detail.Command = c.shown(c.reproCommand(c.scenario, c.flags.typed(), r.Seed))
	return c.terminal.Failure(r, detail)
}
