package simrun

import (
	"io/fs"
	"os"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/scenarios"
)

// Main is the main function of a program that has simrun's command line over the given scenarios.
// It exits the process: with 0 if all passed, 1 if a violation was found, 2 if the call was
// wrong, 3 if something could not be judged.
func Main(list ...*scenarios.Scenario) { Program{Scenarios: list}.Main() }

// Program is simrun's command line over some scenarios, with planted bugs of one's own.
type Program struct {
	Scenarios []*scenarios.Scenario
	// Mutants has the patch files that --mutant and mutants plant, as package mutants describes
	// them; nil stands for those that come with simrun.
	Mutants fs.FS
}

// Main is [Main] for the program.
func (p Program) Main() { os.Exit(cli.Main(p.Scenarios, p.Mutants)) }
