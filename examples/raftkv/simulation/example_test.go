package simulation_test

import (
	"context"
	"fmt"

	"github.com/simrun-dev/simrun/examples/raftkv/simulation"
	"github.com/simrun-dev/simrun/scenarios"
)

// One seed, as any program can run it.
func ExampleScenario() {
	result := simulation.Scenario().Execute(context.Background(), scenarios.Options{Seed: 1})
	fmt.Println(result.Scenario, result.Verdict)
	// Output: raftkv pass
}
