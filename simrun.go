package simrun

import (
	"os"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/scenarios"
)

// Main is the main function of a program that has simrun's command line over the given scenarios.
// It exits the process: with 0 if all passed, 1 if a violation was found, 2 if the call was
// wrong, 3 if something could not be judged.
func Main(list ...*scenarios.Scenario) { os.Exit(cli.Main(list)) }
