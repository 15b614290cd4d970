package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim/simbench"
)

func (c *Command) benchCommand() *cobra.Command {
	var quick bool
	scenario := "full"
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the kernel and a scenario, as JSON Lines",
		Long: `Measures, in this process and in turns, and prints the medians, one a line:
{"name": ..., "value": ..., "unit": ...}. Ratios hold on a busy machine, single times
do not.

  task_switches_per_s          two tasks yielding to each other
  handoffs_per_s               two tasks handing a token to each other over channels
  messages_per_s               datagrams delivered between two machines
  timers_per_s                 sleeps of 1,000 tasks
  idle_sim_seconds_per_s       five machines with a heartbeat a second
  hash_overhead                what hashing the trace adds to the time of a message
  record_overhead              what recording the trace adds
  worker_scaling               the gain of a second worker, divided by that of a pure loop
  pipeline_seeds_per_s         runs of a scenario, one at a time
  pipeline_sim_seconds_per_s   virtual time of those`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pipeline, err := c.scenario(scenario)
			if err != nil {
				if cmd.Flags().Changed("scenario") {
					return err
				}
				pipeline = nil // a module of somebody's own need not have one of that name
			}
			out := json.NewEncoder(c.Stdout)
			options := simbench.Options{}
			if quick {
				options = simbench.Options{Rounds: 1, Scale: 20}
			}
			kernel, err := await(cmd.Context(), func() ([]simbench.Measurement, error) { return simbench.Kernel(options), nil })
			if err != nil {
				return err
			}
			for _, m := range kernel {
				if err := out.Encode(m); err != nil {
					return err
				}
			}
			if pipeline == nil {
				return nil
			}
			figures, err := c.benchScenario(cmd.Context(), pipeline, quick)
			if err != nil {
				return err
			}
			for _, m := range figures {
				if err := out.Encode(m); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "measure each only once, and little: to see that it works")
	cmd.Flags().Var(&parsedFlag{typ: "SCENARIO", text: scenario, parse: func(text string) error { scenario = text; return nil }},
		"scenario", "the scenario that stands for the pipeline")
	return cmd
}

// benchScenario runs a scenario for several seeds, one at a time.
func (c *Command) benchScenario(ctx context.Context, s *scenarios.Scenario, quick bool) ([]simbench.Measurement, error) {
	seeds := uint64(50)
	if quick {
		seeds = 3
	}
	if _, err := c.options(ctx, s, &runFlags{}, 1); err != nil {
		return nil, err
	}
	campaign := scenarios.Campaign{
		Scenario: s.Name, Execute: s.Execute, Workers: 1, KeepGoing: true,
		Seeds: scenarios.Seeds{{First: 1, Last: seeds}},
	}
	sum := campaign.Run(ctx)
	if sum.Interrupted {
		return nil, status(interruptStatus(context.Cause(ctx)))
	}
	if sum.Passed == 0 {
		return nil, errors.New("no seed passed: there is nothing worth measuring")
	}
	return []simbench.Measurement{
		{Name: "pipeline_seeds_per_s", Value: sum.SeedsPerSecond(), Unit: "1/s"},
		{Name: "pipeline_sim_seconds_per_s", Value: sum.Speedup(), Unit: "s/s"},
	}, nil
}
