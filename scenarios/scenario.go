package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/sim"
)

// Scenario is a named simulation: topology, workload, faults and oracles.
type Scenario struct {
	// Name is how the command line calls it.
	Name string
	// Doc is one line on what it exercises.
	Doc string
	// Settings are the parameters that --set changes, beside those of every scenario. One of the same name as one of those
	// replaces it: a scenario may have a default of its own.
	Settings []Setting
	// Oracles are the names of the oracles that judge each run.
	Oracles []string
	// Profile names the fault profile used when none is asked for; "" is "default".
	Profile string
	// Slowness is how many times as long the intervals and timeouts of what is simulated are as those that fault
	// profiles are made for; faults last as many times as long. 0 is 1.
	Slowness int
	// Build adds the machines, the workload and the oracles to a run, before virtual time zero.
	Build func(*Run)
}

// Setting is one parameter of a scenario.
type Setting struct {
	Name    string
	Default string
	Doc     string
	// Check returns what is wrong with a value. Nil takes what parses as the default does: a
	// whole number that is not negative, or a duration.
	Check func(value string) error
}

// Every scenario has these settings too.
var common = []Setting{
	{Name: "duration", Default: "15s", Doc: "virtual time for which the workload runs under faults"},
	{Name: "settle", Default: "60s", Doc: "virtual time after the faults within which everything must have settled"},
}

// AllSettings are the scenario's settings and those that every scenario has, sorted by name.
func (s *Scenario) AllSettings() []Setting {
	all := slices.Clone(s.Settings)
	for _, c := range common {
		if !slices.ContainsFunc(all, func(o Setting) bool { return o.Name == c.Name }) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Options is what one run depends on besides the source.
type Options struct {
	Seed uint64
	// Settings override the scenario's defaults; see [Scenario.CheckSettings].
	Settings map[string]string
	// Profile generates the fault plan from the seed; "" is the scenario's default.
	Profile string
	// Plan, if not nil, is used instead of a generated one.
	Plan *faults.Plan
	// Strategy is the scheduling strategy: "random", "pct" or "fifo"; "" is "random".
	Strategy string
	// Record keeps the whole trace, for Inspect.
	Record bool
	// Inspect, if not nil, is called with the run as it ended, before it is taken down.
	Inspect func(*Run)
}

// A SettingError says what is wrong with a setting.
type SettingError struct {
	Name    string
	Problem string
}

func (e *SettingError) Error() string { return fmt.Sprintf("setting %s: %s", e.Name, e.Problem) }

// CheckSettings returns a *SettingError for the first setting, by name, that is unknown or has a
// value that it can't have.
func (s *Scenario) CheckSettings(settings map[string]string) error {
	all := s.AllSettings()
	names := make([]string, 0, len(settings))
	for name := range settings {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		i := slices.IndexFunc(all, func(o Setting) bool { return o.Name == name })
		if i < 0 {
			known := make([]string, len(all))
			for k, o := range all {
				known[k] = o.Name
			}
			return &SettingError{name, fmt.Sprintf("scenario %s has no such setting; it has %s", s.Name, strings.Join(known, ", "))}
		}
		if err := all[i].check(settings[name]); err != nil {
			return &SettingError{name, err.Error()}
		}
	}
	return nil
}

func (o *Setting) check(value string) error {
	if o.Check != nil {
		return o.Check(value)
	}
	if _, err := time.ParseDuration(o.Default); err == nil && o.Default != "0" {
		d, err := time.ParseDuration(value)
		switch {
		case err != nil || d <= 0:
			return fmt.Errorf("%q is not a duration above zero: write it like %s", value, o.Default)
		case d > maxDuration:
			return fmt.Errorf("%q is more than %v", value, maxDuration)
		}
		return nil
	}
	n, err := strconv.Atoi(value)
	switch {
	case err != nil || n < 0:
		return fmt.Errorf("%q is not a whole number of at least 0", value)
	case n > maxCount:
		return fmt.Errorf("%q is more than %d", value, maxCount)
	}
	return nil
}

// What a setting can be at most, unless it has a Check of its own: far more than makes sense, and
// little enough not to eat the machine's memory.
const (
	maxDuration = 31 * 24 * time.Hour
	maxCount    = 10_000
)

// settings are the defaults with the overrides.
func (s *Scenario) settings(overrides map[string]string) map[string]string {
	all := map[string]string{}
	for _, o := range s.AllSettings() {
		all[o.Name] = o.Default
	}
	for name, v := range overrides {
		all[name] = v
	}
	return all
}

// FaultPlan returns the plan that Execute would carry out.
func (s *Scenario) FaultPlan(opt Options) (*faults.Plan, error) {
	r, err := s.prepare(context.Background(), opt, nil)
	if err != nil {
		return nil, err
	}
	defer r.World.Close()
	return r.plan, nil
}

// Check returns what is wrong with the options, if anything: a *SettingError, a *faults.PlanError,
// or an error about a name.
func (s *Scenario) Check(opt Options) error {
	_, err := s.FaultPlan(opt)
	return err
}

// A BuildError says that a scenario's Build panicked: a mistake in the scenario.
type BuildError struct {
	Scenario string
	Problem  string
	Place    string // function, file and line
}

func (e *BuildError) Error() string {
	return fmt.Sprintf("scenario %s: its Build panicked: %s (at %s)", e.Scenario, e.Problem, e.Place)
}

func (s *Scenario) build(r *Run) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &BuildError{s.Name, fmt.Sprint(p), sim.PanicSite()}
		}
	}()
	if s.Build == nil {
		panic("it is nil")
	}
	s.Build(r)
	return nil
}

// prepare makes a run as it is at virtual time zero.
func (s *Scenario) prepare(ctx context.Context, opt Options, onStuck func(sim.Stuck)) (*Run, error) {
	if err := s.CheckSettings(opt.Settings); err != nil {
		return nil, err
	}
	if opt.Strategy == "" {
		opt.Strategy = "random"
	}
	strategy := sim.NewStrategy(opt.Strategy)
	if strategy == nil {
		return nil, fmt.Errorf("there is no strategy %q; there are %s", opt.Strategy, strings.Join(sim.Strategies(), ", "))
	}
	if opt.Profile == "" {
		opt.Profile = s.Profile
	}
	if opt.Profile == "" {
		opt.Profile = "default"
	}
	profile, err := faults.FindProfile(opt.Profile)
	if err != nil {
		return nil, err
	}
	r := &Run{
		scenario: s,
		options:  opt,
		settings: s.settings(opt.Settings),
		handlers: map[string]faults.Handler{},
		topology: faults.Topology{Subjects: map[string][]string{}},
	}
	r.World = sim.New(sim.Config{
		Seed:      opt.Seed,
		Strategy:  strategy,
		Buggify:   profile.On > 0,
		MaxTime:   r.startLimit() + r.Duration("duration") + r.Duration("settle") + r.finalLimit(),
		MaxEvents: maxEvents,
		Context:   ctx,
		Record:    opt.Record,
		OnStuck:   onStuck,
	})
	if err := s.build(r); err != nil {
		r.World.Close()
		return nil, err
	}
	r.plan = opt.Plan
	if r.plan == nil {
		r.plan = faults.Generate(opt.Seed, profile.Slower(max(1, s.Slowness)), &r.topology, r.Duration("duration"), r.handled())
		r.drawsFaults = profile.On > 0
	}
	if r.injector, err = faults.NewInjector(r.World, r.plan, &r.topology, r.handlers); err != nil {
		r.World.Close()
		return nil, err
	}
	return r, nil
}
