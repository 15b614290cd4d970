package simtest

import (
	"testing"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/scenarios"
)

// An Option changes what [Run] or [Check] does.
type Option func(*config)

// config is what the options come to.
type config struct {
	seeds     uint64
	short     uint64 // 0: a tenth of seeds
	options   scenarios.Options
	workers   int
	command   string
	mustReach []string
	reachAll  bool
	vary      []variation
}

type variation struct {
	name   string
	values []string
}

const defaultSeeds = 100

func configure(options []Option) *config {
	c := &config{seeds: defaultSeeds, options: scenarios.Options{Settings: map[string]string{}}}
	for _, o := range options {
		o(c)
	}
	if c.short == 0 {
		c.short = max(1, c.seeds/10)
	}
	return c
}

// seedsToRun are those that the flags ask for, or else the test.
func (c *config) seedsToRun() scenarios.Seeds {
	if given.seeds != nil {
		return given.seeds
	}
	n := c.seeds
	if testing.Short() {
		n = min(n, c.short)
	}
	return scenarios.Seeds{{First: 1, Last: n}}
}

// Seeds has Run run the seeds 1 to n; without it those are 100. n must be above 0.
func Seeds(n int) Option {
	if n <= 0 {
		panic("simtest: Seeds needs a number above 0")
	}
	return func(c *config) { c.seeds = uint64(n) }
}

// Short has Run run the seeds 1 to n under -short; without it those are a tenth of [Seeds].
func Short(n int) Option {
	if n <= 0 {
		panic("simtest: Short needs a number above 0")
	}
	return func(c *config) { c.short = uint64(n) }
}

// Set changes a setting of the scenario.
func Set(name, value string) Option {
	return func(c *config) { c.options.Settings[name] = value }
}

// Faults names the fault profile by which each seed draws its faults, in place of the scenario's.
func Faults(profile string) Option { return func(c *config) { c.options.Profile = profile } }

// Plan has all seeds run with this plan of faults.
func Plan(p *faults.Plan) Option {
	return func(c *config) {
		c.options.Plan = p
		if c.options.Profile == "" {
			c.options.Profile = p.Profile
		}
	}
}

// Strategy names the scheduling strategy: "random", "pct" or "fifo". Without it Run uses "random",
// and Check any of them.
func Strategy(name string) Option { return func(c *config) { c.options.Strategy = name } }

// Workers is how many seeds run at a time; without it as many as there are cores, GOMAXPROCS.
func Workers(n int) Option { return func(c *config) { c.workers = n } }

// MustReach makes it a failure if no seed reached these situations (host.Checks.Sometimes and
// Reachable), or any that is declared if none are named: the campaign was blind there. It is not
// asked of fewer seeds than the test wants, under -short or with -seed.
func MustReach(names ...string) Option {
	return func(c *config) {
		c.mustReach = append(c.mustReach, names...)
		c.reachAll = c.reachAll || len(names) == 0
	}
}

// Command is a command line that knows the scenario, such as "go run ./cmd/banksim": failures are
// then reported with its repro command as well. Without it, simrun is taken to know those that
// come with it.
func Command(command string) Option { return func(c *config) { c.command = command } }

// Vary has [Check] draw a setting's value from these. What fails is shrunk towards the first.
func Vary(setting string, values ...string) Option {
	if len(values) == 0 {
		panic("simtest: Vary needs values for " + setting)
	}
	return func(c *config) { c.vary = append(c.vary, variation{setting, values}) }
}
