package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

const defaultMutantSeeds = "1-200"

func (c *Command) mutantsCommand() *cobra.Command {
	var seeds seedFlags
	var json jsonFlag
	var only []string
	var list bool
	var workers int
	var flags mutantsFlags
	cmd := &cobra.Command{
		Use:   "mutants",
		Short: "Plant known bugs one at a time, and see which are caught, after how many seeds",
		Long: `Builds ` + c.Name + ` with one bug after the other planted in system/, runs the bug's scenario
until the first seed that fails, and repeats that seed. Only a violation counts as
caught. The source tree is not touched; it must be that of the current directory's
module, or one that its go.mod has a replace for.

A mutant that survives is a hole in the oracles or in the faults, and ends in status 1,
unless its header says why it does. One that cannot be built or replayed ends in status 3.

How many seeds a mutant takes is a matter of luck: --campaigns hunts each of them several
times, from other seeds, and gives the median. A hunt with --resume that was interrupted
goes on where it was, as long as source and patches are the same.

` + exitHelp,
		Example: c.example(`mutants
mutants --only append-checks-le --seeds 1-1000
mutants --campaigns 10 --jobs 2 --resume hunts.jsonl --markdown docs/mutants.md
run shard --mutant append-checks-le`),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := seeds.check(cmd.Flags()); err != nil {
				return err
			}
			if err := flags.check(seeds.seeds); err != nil {
				return err
			}
			chosen, err := c.chooseMutants(only)
			if err != nil {
				return err
			}
			if list {
				return c.terminal(c.Stdout).MutantList(chosen)
			}
			hunt := &mutants.Hunt{Command: c.mutantPackage(), Seeds: seeds.seeds, Campaigns: flags.campaigns, Jobs: flags.jobs}
			switch {
			case cmd.Flags().Changed("workers"):
				hunt.Workers = workers
			case flags.jobs > 1:
				hunt.Workers = max(1, workers/flags.jobs)
			}
			return c.hunt(cmd.Context(), hunt, chosen, &json, &flags)
		},
	}
	seeds.add(cmd.Flags(), defaultMutantSeeds, false)
	cmd.Flags().Var(&parsedFlag{typ: "NAME", parse: func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			only = append(only, strings.TrimSpace(name))
		}
		return nil
	}}, "only", "only this mutant; may be repeated")
	cmd.Flags().BoolVar(&list, "list", false, "list the mutants, with the bugs they stand for, and do nothing")
	addWorkers(cmd.Flags(), &workers)
	json.add(cmd.Flags(), "what became of each mutant")
	flags.add(cmd.Flags())
	return cmd
}

// mutantsFlags are the flags of mutants that other commands do not have.
type mutantsFlags struct {
	campaigns, jobs  int
	resume, markdown string
}

func (f *mutantsFlags) add(flags *pflag.FlagSet) {
	f.campaigns, f.jobs = 1, 1
	number := func(value *int, most int) func(string) error {
		return func(text string) error {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > most {
				return fmt.Errorf("%q is not a whole number from 1 to %d", text, most)
			}
			*value = n
			return nil
		}
	}
	file := func(value *string) func(string) error {
		return func(text string) error { *value = text; return nil }
	}
	flags.Var(&parsedFlag{typ: "N", text: "1", parse: number(&f.campaigns, 1000)}, "campaigns", "hunt each mutant in this many campaigns, each of as many seeds, from where the one before it ends")
	flags.Var(&parsedFlag{typ: "N", text: "1", parse: number(&f.jobs, 64)}, "jobs", "build and hunt this many mutants at a time; the cores are shared out among them")
	flags.Var(&parsedFlag{typ: "FILE", parse: file(&f.resume)}, "resume", "keep what is found out in this file, and do not find out again what is in it")
	flags.Var(&parsedFlag{typ: "FILE", parse: file(&f.markdown)}, "markdown", "write the table to this file as a document; - for standard output")
}

// check returns what is wrong with the flags.
func (f *mutantsFlags) check(seeds scenarios.Seeds) error {
	if f.campaigns == 1 {
		return nil
	}
	if len(seeds) != 1 {
		return usagef("mutants: --campaigns goes with one range of seeds, not with %s", seeds)
	}
	if room := (math.MaxUint64 - seeds[0].Last) / seeds.Len(); room < uint64(f.campaigns) {
		return usagef("mutants: --campaigns %d: there are not so many seeds behind %s", f.campaigns, seeds)
	}
	return nil
}

// chooseMutants returns those named, or all whose scenario the program has.
func (c *Command) chooseMutants(only []string) ([]*mutants.Mutant, error) {
	if len(only) == 0 {
		all, err := c.mutants()
		if err != nil {
			return nil, err
		}
		offered := slices.DeleteFunc(slices.Clone(all), func(m *mutants.Mutant) bool {
			return !slices.Contains(c.scenarioNames(), m.Scenario)
		})
		if len(offered) == 0 {
			return nil, usagef("mutants: there are none for the scenarios of %s: %s", c.Name, strings.Join(c.scenarioNames(), ", "))
		}
		return offered, nil
	}
	var chosen []*mutants.Mutant
	for _, name := range only {
		m, err := c.mutant(name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, m)
	}
	return chosen, nil
}

func (c *Command) hunt(ctx context.Context, hunt *mutants.Hunt, chosen []*mutants.Mutant, json *jsonFlag, flags *mutantsFlags) (err error) {
	if flags.markdown == "-" && json.path == "-" {
		return usagef("mutants: --json and --markdown cannot both go to standard output: give one of them a file")
	}
	if hunt.Tree, err = mutants.FindTree(ctx, ""); err != nil {
		return usagef("mutants: %w", err)
	}
	if err := checkLedgerFile(flags.resume); err != nil {
		return err
	}
	var remove func()
	if hunt.Dir, remove, err = c.temporary(); err != nil {
		return err
	}
	defer remove()
	if flags.resume != "" {
		cut := torn(flags.resume)
		if hunt.Ledger, err = mutants.OpenLedger(flags.resume); err != nil {
			return usagef("mutants: --resume: %w", err)
		}
		if cut {
			c.complain(fmt.Errorf("mutants: --resume: %s: the last line is torn: dropped", flags.resume))
		}
		defer func() { err = errors.Join(err, hunt.Ledger.Close()) }()
	}
	out, err := c.open(json)
	if err != nil {
		return err
	}
	// A table of an earlier hunt stays until there is another one.
	if err := creatable("--markdown", flags.markdown); err != nil {
		return errors.Join(err, out.close())
	}
	if flags.markdown == "-" {
		out.text = c.Stderr
	}
	t := c.terminal(out.text)
	writeErr := t.MutantHead()
	hunt.OnStale = func(campaigns int) {
		c.complain(fmt.Errorf("mutants: --resume: %s: source or patches have changed since %d of the campaigns in it: repeating them", flags.resume, campaigns))
	}
	hunt.OnPhase = func(m *mutants.Mutant, phase string) {
		fmt.Fprintf(c.Stderr, "mutant %d of %d: %s %s\n", slices.Index(chosen, m)+1, len(chosen), phase, m.Name)
	}
	hunt.OnLitter = func(m *mutants.Mutant, err error) {
		c.complain(fmt.Errorf("mutants: what %s was compiled to stays in the cache of builds, until go clean -cache: %w", m.Name, err))
	}
	hunt.OnOutcome = func(o mutants.Outcome) {
		if out.json != nil {
			writeErr = errors.Join(writeErr, reports.NewJSONLines(out.json).Mutant(o))
		}
		writeErr = errors.Join(writeErr, t.MutantRow(o))
	}
	outcomes, huntErr := hunt.Run(ctx, chosen)
	table := &reports.MutantTable{
		Mutants: chosen, Outcomes: outcomes, Seeds: hunt.Seeds, Campaigns: hunt.Campaigns,
		Command: rerun.Join(append([]string{c.Name}, c.args...)),
	}
	writeErr = errors.Join(writeErr, t.MutantSummary(outcomes, len(chosen)), out.close(), c.writeMutants(flags.markdown, table))
	if writeErr != nil {
		return fmt.Errorf("cannot write the results: %w", writeErr)
	}
	code := mutantsStatus(outcomes)
	if huntErr != nil && ctx.Err() == nil {
		return huntErr
	}
	if ctx.Err() != nil && code == exitPass {
		code = interruptStatus(context.Cause(ctx))
	}
	return status(code)
}

// writeMutants writes the table of the mutants as a document, if it is wanted.
func (c *Command) writeMutants(name string, table *reports.MutantTable) error {
	switch name {
	case "":
		return nil
	case "-":
		return reports.MutantsMarkdown(c.Stdout, table)
	}
	file, err := openAside("--markdown", name)
	if err != nil {
		return err
	}
	if err := reports.MutantsMarkdown(file, table); err != nil {
		return err
	}
	return file.Close()
}

// mutantsStatus is the exit status of a hunt.
func mutantsStatus(outcomes []mutants.Outcome) int {
	code := exitPass
	for _, o := range outcomes {
		switch {
		case o.Status == mutants.Caught, o.Status == mutants.Survived && o.Survives != "":
		case o.Status == mutants.Survived:
			return exitViolation
		default:
			code = exitUnknown
		}
	}
	return code
}
