package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

const defaultCoverageSeeds = "1-20"

// coverageFlags are the flags of coverage.
type coverageFlags struct {
	seeds      seedFlags
	profiles   []string
	workers    int
	json       jsonFlag
	markdown   string
	requireAll bool
}

func (c *Command) coverageCommand() *cobra.Command {
	var flags coverageFlags
	cmd := &cobra.Command{
		Use:   "coverage [SCENARIO...]",
		Short: "Run scenarios, and tell which rare situations of the code they got into",
		Long: `Runs the same seeds of all scenarios but those of days, such as longhaul, or of those
that are named, under one fault profile or several, and adds up how often each
situation that the code declares (Sometimes, Reachable) was reached: in how many seeds,
after how many, and by which scenario. What no run reached is listed: the campaigns were
blind there.

Situations are those of the packages that the runs used; with all the scenarios that
come with simrun but those of days, all there are.

` + exitHelp,
		Example: c.example(`coverage
coverage shard full --seeds 1-200 --faults default,chaos
coverage --seeds 1-50 --markdown coverage.md
coverage flow --seeds 1-300 --require-all`),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.seeds.check(cmd.Flags()); err != nil {
				return err
			}
			return c.coverage(cmd.Context(), args, &flags)
		},
	}
	flags.seeds.add(cmd.Flags(), defaultCoverageSeeds, false)
	cmd.Flags().Var(&parsedFlag{typ: "PROFILE,...", parse: func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			if !slices.Contains(faults.Profiles(), name) {
				return fmt.Errorf("there is no fault profile %q%s", name, suggestion(name, faults.Profiles()))
			}
			if !slices.Contains(flags.profiles, name) {
				flags.profiles = append(flags.profiles, name)
			}
		}
		return nil
	}}, "faults", "run the seeds under each of these fault profiles (default: each scenario's own); may be repeated")
	addWorkers(cmd.Flags(), &flags.workers)
	flags.json.add(cmd.Flags(), "each situation")
	cmd.Flags().Var(&parsedFlag{typ: "FILE", parse: func(text string) error { flags.markdown = text; return nil }},
		"markdown", "write the coverage to this file as a document; - for standard output")
	cmd.Flags().BoolVar(&flags.requireAll, "require-all", false, "end in status 1 if a situation was reached by no run")
	return cmd
}

func (c *Command) coverage(ctx context.Context, names []string, flags *coverageFlags) (err error) {
	chosen := slices.DeleteFunc(slices.Clone(c.Scenarios), isLong)
	if len(names) > 0 {
		chosen = nil
		for _, name := range names {
			s, err := c.scenario(name)
			if err != nil {
				return err
			}
			if !slices.Contains(chosen, s) {
				chosen = append(chosen, s)
			}
		}
	}
	if flags.markdown == "-" && flags.json.path == "-" {
		return usagef("coverage: --json and --markdown cannot both go to standard output: give one of them a file")
	}
	out, err := c.open(&flags.json)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	document, err := c.create("--markdown", flags.markdown, out)
	if err != nil {
		return err
	}
	report, err := c.cover(ctx, chosen, flags)
	if err != nil {
		return err
	}
	report.Command = rerun.Join(append([]string{c.Name}, c.args...))
	if err := c.writeCoverage(out, document, report); err != nil {
		return fmt.Errorf("cannot write the coverage: %w", err)
	}
	return status(coverageStatus(ctx, report, flags.requireAll))
}

// cover runs the campaigns.
func (c *Command) cover(ctx context.Context, chosen []*scenarios.Scenario, flags *coverageFlags) (*reports.Coverage, error) {
	var coverage scenarios.Coverage
	report := &reports.Coverage{Seeds: flags.seeds.seeds, Planned: len(chosen) * max(1, len(flags.profiles))}
	for _, s := range chosen {
		profiles := flags.profiles
		if len(profiles) == 0 {
			profiles = []string{rerun.DefaultProfile(s)}
		}
		for _, profile := range profiles {
			opt, err := c.options(ctx, s, &runFlags{faults: profile}, flags.seeds.seeds.At(0))
			if err != nil {
				return nil, err
			}
			campaigned := scenarios.Campaigned{Scenario: s.Name, Profile: profile}
			p := c.progress(s.Name+" "+profile, flags.seeds.seeds, 0)
			campaign := scenarios.Campaign{
				Scenario: s.Name, Execute: s.Execute, Options: opt, Seeds: flags.seeds.seeds,
				Workers: flags.workers, KeepGoing: true,
				OnResult: func(r scenarios.Result) {
					p.add(&r)
					coverage.Add(campaigned, &r)
				},
			}
			summary := campaign.Run(ctx)
			p.clear()
			report.Campaigns = append(report.Campaigns, campaigned)
			report.Failed += summary.Failed
			if report.Interrupted = summary.Interrupted; report.Interrupted {
				break
			}
		}
		if report.Interrupted {
			break
		}
	}
	if hasBuiltin(chosen) {
		coverage.AddDeclared()
	}
	report.Situations, report.Runs = coverage.Situations(), coverage.Runs()
	return report, nil
}

// isLong tells whether a scenario's runs take so long that it is run only by name.
func isLong(s *scenarios.Scenario) bool { return s.Slowness > 1 }

// hasBuiltin tells whether all scenarios that come with simrun are among those, but for long ones.
func hasBuiltin(chosen []*scenarios.Scenario) bool {
	return !slices.ContainsFunc(scenarios.Builtin(), func(b *scenarios.Scenario) bool {
		return !isLong(b) && !slices.ContainsFunc(chosen, func(s *scenarios.Scenario) bool { return s.Name == b.Name })
	})
}

// writeCoverage writes the coverage wherever it is wanted.
func (c *Command) writeCoverage(out *outputs, document io.WriteCloser, report *reports.Coverage) error {
	var errs []error
	if out.json != nil {
		lines := reports.NewJSONLines(out.json)
		for _, s := range report.Situations {
			errs = append(errs, lines.Situation(s))
		}
	}
	if document != nil {
		errs = append(errs, closeWritten(document, reports.CoverageMarkdown(document, report)))
	}
	return errors.Join(append(errs, c.terminal(out.text).Coverage(report))...)
}

// coverageStatus is the exit status of coverage.
func coverageStatus(ctx context.Context, report *reports.Coverage, requireAll bool) int {
	switch {
	case report.Failed > 0:
		return exitViolation
	case report.Interrupted:
		return interruptStatus(context.Cause(ctx))
	case requireAll && len(report.Unreached()) > 0:
		return exitViolation
	}
	return exitPass
}
