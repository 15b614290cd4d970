package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
)

// runFlags are the flags that, with scenario and seed, decide a run.
type runFlags struct {
	faults   string
	set      []string
	strategy string
	mutant   string

	// plan is what was read for faults, if that is not a profile.
	plan *faults.Plan
}

func (f *runFlags) add(flags *pflag.FlagSet) {
	text := func(name, typ string, set func(string), usage string) {
		flags.Var(&parsedFlag{typ: typ, parse: func(text string) error { set(text); return nil }}, name, usage)
	}
	text("faults", "PROFILE|FILE|{PLAN}", func(text string) { f.faults = text }, "the profile by which each seed draws its faults ("+
		strings.Join(faults.Profiles(), ", ")+"), or a file with a plan of faults, - for standard input, or the plan itself as {faults: [...]} (default: the scenario's profile)")
	text("set", "K=V", func(text string) { f.set = append(f.set, text) },
		"change a setting of the scenario; may be repeated, the last value of a setting counts")
	text("strategy", strings.Join(sim.Strategies(), "|"), func(text string) { f.strategy = text },
		"what goes first when several things could happen next (default: random)")
}

// addMutant registers --mutant of a program.
func (f *runFlags) addMutant(flags *pflag.FlagSet, program string) {
	flags.Var(&parsedFlag{typ: "NAME", parse: func(text string) error { f.mutant = text; return nil }},
		"mutant", "plant this bug first: builds "+program+" anew from source. See "+program+" mutants --list")
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
func (c *Command) options(ctx context.Context, s *scenarios.Scenario, f *runFlags, seed uint64) (scenarios.Options, error) {
	opt := scenarios.Options{Seed: seed, Strategy: f.strategy}
	if f.strategy != "" && !slices.Contains(sim.Strategies(), f.strategy) {
		return opt, usagef("--strategy: there is no strategy %q%s", f.strategy, suggestion(f.strategy, sim.Strategies()))
	}
	var err error
	if opt.Settings, err = parseSettings(ctx, s, f.set); err != nil {
		return opt, err
	}
	if f.faults != "" {
		if slices.Contains(faults.Profiles(), f.faults) {
			opt.Profile = f.faults
		} else {
			if opt.Plan, err = c.readPlan(ctx, f.faults); err != nil {
				return opt, err
			}
			if err := checkMoments(s, opt.Plan); err != nil {
				return opt, usagef("--faults: %s: %w", planName(f.faults), err)
			}
			f.plan = opt.Plan
			// A profile decides more than the plan: whether production code takes its rare paths.
			if slices.Contains(faults.Profiles(), opt.Plan.Profile) {
				opt.Profile = opt.Plan.Profile
			}
		}
	}
	_, err = c.faultPlan(ctx, s, opt, f)
	return opt, err
}

// faultPlan is the plan of a run, with what is wrong with the options told apart: a setting or a
// plan is the caller's to mend, all else the author's of the scenario.
func (c *Command) faultPlan(ctx context.Context, s *scenarios.Scenario, opt scenarios.Options, f *runFlags) (*faults.Plan, error) {
	plan, err := checking(ctx, s, func() (*faults.Plan, error) { return s.FaultPlan(opt) })
	var wrongPlan *faults.PlanError
	var wrongSetting *scenarios.SettingError
	var status statusError
	var build *scenarios.BuildError
	switch {
	case err == nil:
		return plan, nil
	case errors.As(err, &wrongPlan) && opt.Plan != nil:
		return nil, usagef("--faults: %s: %w", planName(f.faults), err)
	case errors.As(err, &wrongSetting):
		return nil, usagef("scenario %s: %w", s.Name, err)
	case errors.As(err, &status), errors.As(err, &build): // which says all there is to say
		return nil, err
	}
	return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
}

// parseSettings reads the values of --set.
func parseSettings(ctx context.Context, s *scenarios.Scenario, set []string) (map[string]string, error) {
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
	_, err := checking(ctx, s, func() (struct{}, error) { return struct{}{}, s.CheckSettings(settings) })
	var wrong *scenarios.SettingError
	if errors.As(err, &wrong) {
		return nil, usagef("--set: %w", err)
	}
	return settings, err
}

// isInline says whether the value of --faults is a plan itself.
func isInline(value string) bool { return strings.HasPrefix(value, "{") }

// planName is how messages call the plan that is the value of --faults.
func planName(value string) string {
	switch {
	case isInline(value):
		return "the plan given"
	case value == "-":
		return "standard input"
	}
	return value
}

// planBytes bounds what is read of a plan. A plan that long is refused.
const planBytes = 1 << 20

// readPlan reads the fault plan that is the value of --faults, which is not a profile's name.
func (c *Command) readPlan(ctx context.Context, name string) (*faults.Plan, error) {
	var data []byte
	var err error
	switch {
	case isInline(name):
		data = []byte(name)
	case name == "-":
		if c.stdinPlan == nil {
			c.stdinPlan, err = io.ReadAll(io.LimitReader(awaitedReader{ctx, c.Stdin}, planBytes))
		}
		data = c.stdinPlan
	case isDirectory(name):
		return nil, usagef("--faults: %s is a directory: give a file with a plan of faults", name)
	default:
		data, err = await(ctx, func() ([]byte, error) { return readStart(name, planBytes) })
	}
	var interrupted statusError
	switch {
	case errors.As(err, &interrupted):
		return nil, err
	case errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, `./\`):
		return nil, usagef("--faults: there is no fault profile and no file %q%s", name, suggestion(name, faults.Profiles()))
	case err != nil:
		return nil, usagef("--faults: cannot read the fault plan: %w", err)
	}
	plan, err := faults.ParsePlan(data)
	if err != nil {
		return nil, usagef("--faults: %s: %w", planName(name), err)
	}
	return plan, nil
}

// readStart reads the beginning of a file.
func readStart(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most))
}

// typed are the flags as a person would type them: where reproCommand has a plan in full, they have
// the name of its file.
func (f *runFlags) typed() *runFlags {
	typed := *f
	if f.faults != "-" {
		typed.plan = nil
	}
	return &typed
}

// reproCommand is the command that runs one seed of a scenario again. It depends on nothing but
// the source.
func (c *Command) reproCommand(s *scenarios.Scenario, f *runFlags, seed uint64) string {
	args := []string{c.Name, "repro", fmt.Sprintf("%s:%d", s.Name, seed)}
	return rerun.Join(append(args, f.arguments(s)...))
}

// arguments are the flags as arguments, without those that say what holds anyway.
func (f *runFlags) arguments(s *scenarios.Scenario) []string {
	settings := make(map[string]string)
	for _, assignment := range f.set {
		name, value, _ := strings.Cut(assignment, "=")
		settings[name] = value
	}
	flags := rerun.Flags{Settings: settings, Faults: f.faults, Strategy: f.strategy, Mutant: f.planted()}
	if f.plan != nil {
		// The plan itself: the file may be another one by the time, and standard input is gone.
		flags.Faults = f.plan.Inline()
	}
	return flags.Arguments(s)
}
