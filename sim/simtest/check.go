package simtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
)

// Check has rapid draw runs of a scenario: seed, strategy, the settings of [Vary], and the faults,
// which are any of those that the profile draws for some seed. What fails is shrunk as long as it
// fails in the same way, to few faults and small settings, and reported with the plan that is
// left. rapid keeps it in testdata/rapid and repeats it first; its flags, such as -rapid.checks,
// say how much is tried.
//
// Runs in which nothing could be judged are drawn again: with few operations and any faults, some
// are bound to be.
//
// With -seed, that one run takes place instead, with the plan of -simtest.faults.
func Check(t *testing.T, s *scenarios.Scenario, options ...Option) {
	t.Helper()
	r := newRunner(t, s, options)
	if given.seeds != nil {
		r.campaign()
		return
	}
	var last *drawn
	// rapid ends the test as it reports, so that what follows must be deferred.
	defer func() {
		if last != nil {
			t.Error(r.minimal(last))
		}
	}()
	rapid.Check(t, func(rt *rapid.T) {
		opt := r.draw(rt)
		result := rerun.Once(r.ctx, r.scenario, opt)
		switch {
		case result.Scenario == "":
			rt.Fatalf("simtest: out of time: seed %d of %s did not end before go test's -timeout", opt.Seed, r.scenario.Name)
		case result.Verdict == scenarios.Pass:
			return
		case vacuous(&result):
			rt.Skip("nothing could be judged")
		}
		last = &drawn{opt, result}
		// Nothing but the signature: rapid takes another message for another failure, and shrinks
		// no further.
		rt.Fatal(result.Failures[0].Signature())
	})
}

// drawn is a run that failed.
type drawn struct {
	options scenarios.Options
	result  scenarios.Result
}

// maxSeed bounds the seeds that are drawn, for commands that can be typed.
const maxSeed = 1_000_000

func (r *runner) draw(rt *rapid.T) scenarios.Options {
	opt := r.options
	opt.Seed = rapid.Uint64Range(1, maxSeed).Draw(rt, "seed")
	opt.Settings = make(map[string]string)
	for name, value := range r.options.Settings {
		opt.Settings[name] = value
	}
	for _, v := range r.vary {
		opt.Settings[v.name] = rapid.SampledFrom(v.values).Draw(rt, v.name)
	}
	if opt.Strategy == "" {
		strategies := slices.Sorted(slices.Values(sim.Strategies()))
		opt.Strategy = rapid.SampledFrom(strategies).Draw(rt, "strategy")
	}
	if opt.Plan == nil {
		opt.Plan = r.drawPlan(rt, opt)
	}
	return opt
}

// drawPlan draws a plan for some seed, and which of its faults to keep.
func (r *runner) drawPlan(rt *rapid.T, opt scenarios.Options) *faults.Plan {
	opt.Seed = rapid.Uint64Range(1, maxSeed).Draw(rt, "plan of seed")
	whole, err := r.scenario.FaultPlan(opt)
	if err != nil {
		rt.Skip(err) // values of Vary that do not go together
	}
	return &faults.Plan{Profile: whole.Profile, Faults: someOf(whole.Faults).Draw(rt, "faults")}
}

// kept draws whether a fault stays: mostly, and shrinks to that it does not.
var kept = rapid.SampledFrom([]bool{false, true, true, true})

// keptFaults are shown as their IDs in what rapid prints.
type keptFaults []faults.Fault

// GoString implements fmt.GoStringer.
func (k keptFaults) GoString() string {
	ids := make([]string, len(k))
	for i := range k {
		ids[i] = k[i].ID
	}
	return strings.Join(ids, ", ")
}

// someOf draws which of the faults are kept, as one value: rapid prints a line for each draw.
func someOf(all []faults.Fault) *rapid.Generator[keptFaults] {
	return rapid.Custom(func(rt *rapid.T) keptFaults {
		some := keptFaults{}
		for _, f := range all {
			if kept.Draw(rt, f.ID) {
				some = append(some, f)
			}
		}
		return some
	})
}

// vacuous tells whether a run says nothing, be it that it was drawn so.
func vacuous(r *scenarios.Result) bool {
	return r.Verdict == scenarios.Unknown && !slices.ContainsFunc(r.Failures, func(f scenarios.Failure) bool {
		return f.Oracle != "vacuous"
	})
}

// minimal reports the run that is left after shrinking.
func (r *runner) minimal(d *drawn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nthe smallest run found that fails like this has seed %d, %s and %d of the faults:\n\n",
		d.options.Seed, orDefault(d.options.Strategy), len(d.options.Plan.Faults))
	b.Write(d.options.Plan.YAML())
	arguments := append([]string{seedFlag, fmt.Sprint(d.options.Seed)}, testFlags(rerun.FlagsOf(d.options).Arguments(r.scenario))...)
	b.WriteString(r.report(d.options, d.result, r.goTest(arguments...)))
	if given.keep {
		b.WriteString(r.keep(d.options, d.result))
	}
	return b.String()
}

func orDefault(strategy string) string {
	if strategy == "" {
		return "strategy random"
	}
	return "strategy " + strategy
}
