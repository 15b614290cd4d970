// Banksim is simrun's command line over the scenario of bank.
package main

import (
	"github.com/simrun-dev/simrun"
	"github.com/simrun-dev/simrun/examples/bank/mutants"
	"github.com/simrun-dev/simrun/examples/bank/simulation"
	"github.com/simrun-dev/simrun/scenarios"
)

func main() {
	simrun.Program{Scenarios: []*scenarios.Scenario{simulation.Scenario()}, Mutants: mutants.Patches}.Main()
}
