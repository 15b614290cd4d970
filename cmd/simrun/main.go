// Simrun runs deterministic simulations of the scenarios that come with it. See simrun --help.
package main

import (
	"github.com/simrun-dev/simrun"
	"github.com/simrun-dev/simrun/scenarios"
)

func main() { simrun.Main(scenarios.Builtin()...) }
