package rerun

import (
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/scenarios"
)

// Flags are what, with scenario and seed, decides a run, as the flags of the command line.
type Flags struct {
	// Settings override the scenario's defaults.
	Settings map[string]string
	// Faults is the name of a profile, or of a file with a plan, or a plan in one line
	// ([faults.Plan.Inline]); "" is the scenario's profile.
	Faults string
	// Strategy is the scheduling strategy; "" is "random".
	Strategy string
	// Mutant is the bug planted; "" is none.
	Mutant string
}

// FlagsOf are the flags that stand for the options of a run.
func FlagsOf(opt scenarios.Options) Flags {
	f := Flags{Settings: opt.Settings, Faults: opt.Profile, Strategy: opt.Strategy}
	if opt.Plan != nil {
		f.Faults = opt.Plan.Inline()
	}
	return f
}

// Arguments are the flags as arguments, without those that say what holds anyway.
func (f Flags) Arguments(s *scenarios.Scenario) []string {
	defaults := make(map[string]string)
	for _, setting := range s.AllSettings() {
		defaults[setting.Name] = setting.Default
	}
	var args []string
	for _, name := range slices.Sorted(maps.Keys(f.Settings)) {
		if f.Settings[name] != defaults[name] {
			args = append(args, "--set", name+"="+f.Settings[name])
		}
	}
	if f.Faults != "" && f.Faults != DefaultProfile(s) {
		args = append(args, "--faults", f.Faults)
	}
	if f.Strategy != "" && f.Strategy != "random" {
		args = append(args, "--strategy", f.Strategy)
	}
	if f.Mutant != "" {
		args = append(args, "--mutant", f.Mutant)
	}
	return args
}

// DefaultProfile is the fault profile of runs that do not ask for one.
func DefaultProfile(s *scenarios.Scenario) string {
	if s.Profile == "" {
		return "default"
	}
	return s.Profile
}
