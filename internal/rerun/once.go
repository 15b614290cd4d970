package rerun

import (
	"context"

	"github.com/simrun-dev/simrun/scenarios"
)

// Once runs one seed, as a campaign for what that does about panics. An interrupted run has the
// zero result.
func Once(ctx context.Context, s *scenarios.Scenario, opt scenarios.Options) (result scenarios.Result) {
	campaign := scenarios.Campaign{
		Scenario: s.Name, Execute: s.Execute, Options: opt, Workers: 1,
		Seeds:    scenarios.Seeds{{First: opt.Seed, Last: opt.Seed}},
		OnResult: func(r scenarios.Result) { result = r },
	}
	campaign.Run(ctx)
	return result
}

// Record is Once with the trace recorded. inspect is given the run as it ended.
func Record(ctx context.Context, s *scenarios.Scenario, opt scenarios.Options, inspect func(*scenarios.Run)) scenarios.Result {
	opt.Record, opt.Inspect = true, inspect
	return Once(ctx, s, opt)
}
