package simtest

import (
	"flag"
	"fmt"
	"strings"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
)

// given is what the flags of the test binary say.
var given struct {
	seeds    scenarios.Seeds // nil: not said
	keep     bool
	faults   string
	plan     *faults.Plan // of faults, if that is one
	set      map[string]string
	strategy string
}

// seedFlag is the name of -simtest.seed in the commands that reproduce a failure.
var seedFlag = "-simtest.seed"

// seed and seeds read the flags of these names.
func seed(text string) (err error) {
	one, err := rerun.ParseSeed(text)
	given.seeds = scenarios.Seeds{{First: one, Last: one}}
	return err
}

func seeds(text string) (err error) {
	given.seeds, err = rerun.ParseSeeds(text)
	return err
}

func init() {
	flag.Func("simtest.seed", "simtest: run this seed `N` only", seed)
	flag.Func("simtest.seeds", "simtest: run the seeds `A-B` only, both included; also a list, 1-50,77", seeds)
	flag.BoolVar(&given.keep, "simtest.keep", false, "simtest: add seeds that fail to the corpus in testdata/seeds")
	flag.Func("simtest.faults", "simtest: the fault `profile` or plan, in place of the test's", readFaults)
	flag.Func("simtest.set", "simtest: a setting `K=V`, in place of the test's; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return fmt.Errorf("write it as name=value")
		}
		if given.set == nil {
			given.set = make(map[string]string)
		}
		given.set[name] = value
		return nil
	})
	flag.Func("simtest.strategy", "simtest: the scheduling `strategy`, in place of the test's", func(text string) error {
		if sim.NewStrategy(text) == nil {
			return fmt.Errorf("there are %s", strings.Join(sim.Strategies(), ", "))
		}
		given.strategy = text
		return nil
	})
}

// readFaults reads the value of -simtest.faults.
func readFaults(text string) (err error) {
	given.faults = text
	if !strings.HasPrefix(text, "{") {
		_, err = faults.FindProfile(text)
		return err
	}
	given.plan, err = faults.ParsePlan([]byte(text))
	return err
}

// override puts what the flags say in the place of what the test says.
func override(opt scenarios.Options) scenarios.Options {
	settings := make(map[string]string, len(opt.Settings)+len(given.set))
	for name, value := range opt.Settings {
		settings[name] = value
	}
	for name, value := range given.set {
		settings[name] = value
	}
	opt.Settings = settings
	switch {
	case given.plan != nil:
		opt.Plan = given.plan
		// A profile decides more than the plan: whether production code takes its rare paths.
		if _, err := faults.FindProfile(given.plan.Profile); err == nil {
			opt.Profile = given.plan.Profile
		}
	case given.faults != "":
		opt.Plan, opt.Profile = nil, given.faults
	}
	if given.strategy != "" {
		opt.Strategy = given.strategy
	}
	return opt
}
