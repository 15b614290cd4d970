// Raftkvsim is simrun's command line over the scenario of raftkv.
package main

import (
	"github.com/simrun-dev/simrun"
	"github.com/simrun-dev/simrun/examples/raftkv/mutants"
	"github.com/simrun-dev/simrun/examples/raftkv/simulation"
	"github.com/simrun-dev/simrun/scenarios"
)

func main() {
	simrun.Program{Scenarios: []*scenarios.Scenario{simulation.Scenario()}, Mutants: mutants.Patches}.Main()
}
