package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
)

// runFlags are the flags that, with scenario and seed, decide a run.
type runFlags struct {
	faults   string
	set      []string
	strategy string
	mutant   string
}

func (f *runFlags) add(flags *pflag.FlagSet) {
	text := func(name, typ string, set func(string), usage string) {
		flags.Var(&parsedFlag{typ: typ, parse: func(text string) error { set(text); return nil }}, name, usage)
	}
	text("faults", "PROFILE|FILE", func(text string) { f.faults = text }, "the profile by which each seed draws its faults ("+
		strings.Join(faults.Profiles(), ", ")+"), or a file with a plan of faults, - for standard input (default: the scenario's profile)")
	text("set", "K=V", func(text string) { f.set = append(f.set, text) },
		"change a setting of the scenario; may be repeated, the last value of a setting counts")
	text("strategy", strings.Join(sim.Strategies(), "|"), func(text string) { f.strategy = text },
		"what goes first when several things could happen next (default: random)")
}

// addMutant registers --mutant.
func (f *runFlags) addMutant(flags *pflag.FlagSet) {
	flags.Var(&parsedFlag{typ: "NAME", parse: func(text string) error { f.mutant = text; return nil }},
		"mutant", "plant this bug first: builds simrun anew from source. See simrun mutants --list")
}

// scenario finds a scenario by name.
func (c *Command) scenario(name string) (*scenarios.Scenario, error) {
	for _, s := range c.Scenarios {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, usagef("there is no scenario %q%s", name, suggestion(name, c.scenarioNames()))
}

func (c *Command) scenarioNames() []string {
	names := make([]string, len(c.Scenarios))
	for i, s := range c.Scenarios {
		names[i] = s.Name
	}
	return names
}

// options makes and checks the options that the flags stand for; seed is one to check them with.
func (c *Command) options(s *scenarios.Scenario, f *runFlags, seed uint64) (scenarios.Options, error) {
	opt := scenarios.Options{Seed: seed, Strategy: f.strategy}
	if f.strategy != "" && !slices.Contains(sim.Strategies(), f.strategy) {
		return opt, usagef("--strategy: there is no strategy %q%s", f.strategy, suggestion(f.strategy, sim.Strategies()))
	}
	var err error
	if opt.Settings, err = parseSettings(s, f.set); err != nil {
		return opt, err
	}
	if f.faults != "" {
		if slices.Contains(faults.Profiles(), f.faults) {
			opt.Profile = f.faults
		} else {
			if opt.Plan, err = c.readPlan(f.faults); err != nil {
				return opt, err
			}
			// A profile decides more than the plan: whether production code takes its rare paths.
			if slices.Contains(faults.Profiles(), opt.Plan.Profile) {
				opt.Profile = opt.Plan.Profile
			}
		}
	}
	if err := s.Check(opt); err != nil {
		var plan *faults.PlanError
		if errors.As(err, &plan) && opt.Plan != nil {
			return opt, usagef("--faults: %s: %w", f.faults, err)
		}
		return opt, &usageError{fmt.Errorf("scenario %s: %w", s.Name, err)}
	}
	return opt, nil
}

// parseSettings reads the values of --set.
func parseSettings(s *scenarios.Scenario, set []string) (map[string]string, error) {
	var known []string
	for _, setting := range s.AllSettings() {
		known = append(known, setting.Name)
	}
	settings := make(map[string]string, len(set))
	for _, assignment := range set {
		name, value, ok := strings.Cut(assignment, "=")
		if !ok || name == "" {
			return nil, usagef("--set %q: write it as name=value", assignment)
		}
		if !slices.Contains(known, name) {
			return nil, usagef("--set %s: scenario %s has no setting %q%s", assignment, s.Name, name, suggestion(name, known))
		}
		settings[name] = value
	}
	if err := s.CheckSettings(settings); err != nil {
		return nil, usagef("--set: %w", err)
	}
	return settings, nil
}

// readPlan reads a fault plan from a file; its name is not that of a profile.
func (c *Command) readPlan(name string) (*faults.Plan, error) {
	var data []byte
	var err error
	if name == "-" {
		if c.stdinPlan == nil {
			c.stdinPlan, err = io.ReadAll(c.Stdin)
		}
		data = c.stdinPlan
	} else {
		data, err = os.ReadFile(name)
	}
	switch {
	case errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, `./\`):
		return nil, usagef("--faults: there is no fault profile and no file %q%s", name, suggestion(name, faults.Profiles()))
	case err != nil:
		return nil, usagef("--faults: cannot read the fault plan: %w", err)
	}
	plan, err := faults.ParsePlan(data)
	if err != nil {
		return nil, usagef("--faults: %s: %w", name, err)
	}
	return plan, nil
}

// reproCommand is the command that runs one seed of a scenario again.
func (c *Command) reproCommand(s *scenarios.Scenario, f *runFlags, seed uint64) string {
	args := []string{c.Name, "repro", fmt.Sprintf("%s:%d", s.Name, seed)}
	return quoteAll(append(args, f.arguments(s)...))
}

// defaultProfile is the fault profile of runs that do not ask for one.
func defaultProfile(s *scenarios.Scenario) string {
	if s.Profile == "" {
		return "default"
	}
	return s.Profile
}

// arguments are the flags as arguments, without those that say what holds anyway.
func (f *runFlags) arguments(s *scenarios.Scenario) []string {
	defaults := make(map[string]string)
	for _, setting := range s.AllSettings() {
		defaults[setting.Name] = setting.Default
	}
	values := make(map[string]string)
	for _, assignment := range f.set {
		name, value, _ := strings.Cut(assignment, "=")
		values[name] = value
	}
	var args []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] != defaults[name] {
			args = append(args, "--set", name+"="+values[name])
		}
	}
	if f.faults != "" && f.faults != defaultProfile(s) {
		args = append(args, "--faults", f.faults)
	}
	if f.strategy != "" && f.strategy != "random" {
		args = append(args, "--strategy", f.strategy)
	}
	if mutant := f.planted(); mutant != "" {
		args = append(args, "--mutant", mutant)
	}
	return args
}
