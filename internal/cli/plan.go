package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

func (c *Command) planCommand() *cobra.Command {
	var run runFlags
	cmd := &cobra.Command{
		Use:   "plan SCENARIO:SEED",
		Short: "Print the fault plan of a seed as YAML, to be edited and given to --faults",
		Long: `Prints the plan of faults that a seed draws, or the one given by --faults, as YAML.
A run with an edited plan has the seed's other choices, as they were:

  ` + c.Name + ` plan shard:17 > plan.yaml
  ` + c.Name + ` repro shard:17 --faults plan.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !strings.Contains(args[0], ":") {
				return usagef("plan: takes one SCENARIO:SEED, written like shard:17")
			}
			name, seed, _ := strings.Cut(args[0], ":")
			target, err := c.target(cmd.Context(), "plan", name, seed, run)
			if err != nil {
				return err
			}
			plan, err := c.faultPlan(cmd.Context(), target.scenario, target.options, &target.flags)
			if err != nil {
				return err
			}
			_, err = c.Stdout.Write(plan.YAML())
			return err
		},
	}
	run.add(cmd.Flags())
	return cmd
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s: takes no arguments, but was given %s", cmd.Name(), strings.Join(args, " "))
	}
	return nil
}
