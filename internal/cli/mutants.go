package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

const defaultMutantSeeds = "1-200"

func (c *Command) mutantsCommand() *cobra.Command {
	var seeds seedFlags
	var json jsonFlag
	var only []string
	var list bool
	var workers int
	cmd := &cobra.Command{
		Use:   "mutants",
		Short: "Plant known bugs one at a time, and see which are caught, after how many seeds",
		Long: `Builds ` + c.Name + ` with one bug after the other planted in system/, runs the bug's scenario
until the first seed that fails, and repeats that seed. Only a violation counts as
caught. The source tree is not touched; it must be that of the current directory's
module, or one that its go.mod has a replace for.

A mutant that survives is a hole in the oracles or in the faults, and ends in status 1.
One that cannot be built or replayed ends in status 3.

` + exitHelp,
		Example: c.example(`mutants
mutants --only append-checks-le --seeds 1-1000
run shard --mutant append-checks-le`),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := seeds.check(cmd.Flags()); err != nil {
				return err
			}
			chosen, err := c.chooseMutants(only)
			if err != nil {
				return err
			}
			if list {
				return c.terminal(c.Stdout).MutantList(chosen)
			}
			hunt := &mutants.Hunt{Command: c.mutantPackage(), Seeds: seeds.seeds}
			if cmd.Flags().Changed("workers") {
				hunt.Workers = workers
			}
			return c.hunt(cmd.Context(), hunt, chosen, &json)
		},
	}
	seeds.add(cmd.Flags(), defaultMutantSeeds, false)
	cmd.Flags().Var(&parsedFlag{typ: "NAME", parse: func(text string) error {
		only = append(only, strings.Split(text, ",")...)
		return nil
	}}, "only", "only this mutant; may be repeated")
	cmd.Flags().BoolVar(&list, "list", false, "list the mutants, with the bugs they stand for, and do nothing")
	addWorkers(cmd.Flags(), &workers)
	json.add(cmd.Flags(), "what became of each mutant")
	return cmd
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

func (c *Command) hunt(ctx context.Context, hunt *mutants.Hunt, chosen []*mutants.Mutant, json *jsonFlag) error {
	var err error
	if hunt.Tree, err = mutants.FindTree(ctx, ""); err != nil {
		return usagef("mutants: %w", err)
	}
	var remove func()
	if hunt.Dir, remove, err = c.temporary(); err != nil {
		return err
	}
	defer remove()
	out, err := c.open(json)
	if err != nil {
		return err
	}
	t := c.terminal(out.text)
	writeErr := t.MutantHead()
	done := 0
	hunt.OnPhase = func(m *mutants.Mutant, phase string) {
		fmt.Fprintf(c.Stderr, "mutant %d of %d: %s %s\n", done+1, len(chosen), phase, m.Name)
	}
	hunt.OnOutcome = func(o mutants.Outcome) {
		done++
		if out.json != nil {
			writeErr = errors.Join(writeErr, reports.NewJSONLines(out.json).Mutant(o))
		}
		writeErr = errors.Join(writeErr, t.MutantRow(o))
	}
	outcomes, huntErr := hunt.Run(ctx, chosen)
	writeErr = errors.Join(writeErr, t.MutantSummary(outcomes, len(chosen)), out.close())
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

// mutantsStatus is the exit status of a hunt.
func mutantsStatus(outcomes []mutants.Outcome) int {
	code := exitPass
	for _, o := range outcomes {
		switch o.Status {
		case mutants.Caught:
		case mutants.Survived:
			return exitViolation
		default:
			code = exitUnknown
		}
	}
	return code
}
