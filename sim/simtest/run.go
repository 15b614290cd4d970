package simtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// maxFailing is the number of failing seeds after which Run ends.
const maxFailing = 10

// Run runs a scenario for many seeds and fails the test unless all pass. See the package's
// documentation.
func Run(t *testing.T, s *scenarios.Scenario, options ...Option) {
	t.Helper()
	r := newRunner(t, s, options)
	if given.seeds == nil && !r.corpus() {
		return
	}
	r.campaign()
}

// runner runs one scenario for one test.
type runner struct {
	*config
	t        *testing.T
	scenario *scenarios.Scenario
	ctx      context.Context
	failing  int
	// shownAt is the subtest that has shown a failure, by verdict and signature.
	shownAt map[string]string
}

func newRunner(t *testing.T, s *scenarios.Scenario, options []Option) *runner {
	t.Helper()
	r := &runner{config: configure(options), t: t, scenario: s, shownAt: make(map[string]string)}
	r.options = override(r.options)
	if err := s.Check(r.options); err != nil {
		t.Fatalf("simtest: scenario %s cannot run like this: %v", s.Name, err)
	}
	ctx, cancel := t.Context(), context.CancelFunc(func() {})
	if deadline, ok := t.Deadline(); ok {
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-reserve(time.Until(deadline))))
	}
	t.Cleanup(cancel)
	r.ctx = ctx
	return r
}

// grace is how long a run has to stop when it is told to, before it is given up.
const grace = 5 * time.Second

// reserve is how long before go test's timeout runs are told to stop: time for those that do not,
// and to say what there is to say.
func reserve(left time.Duration) time.Duration {
	return min(max(left/10, grace+3*time.Second), 10*time.Second, left/2)
}

// campaign runs the seeds.
func (r *runner) campaign() {
	r.t.Helper()
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	seeds := r.seedsToRun()
	campaign := scenarios.Campaign{
		Scenario: r.scenario.Name, Execute: r.scenario.Execute, Options: r.options,
		Seeds: seeds, Workers: r.workers, KeepGoing: true, Grace: grace,
		OnResult: func(result scenarios.Result) {
			if result.Verdict == scenarios.Pass || r.failing == maxFailing {
				return
			}
			opt := r.options
			opt.Seed = result.Seed
			if r.fail(fmt.Sprintf("seed=%d", result.Seed), opt, result, r.seedCommand(opt)) == maxFailing {
				stop()
			}
		},
	}
	summary := campaign.Run(ctx)
	if testing.Verbose() {
		r.t.Log(summaryText(summary))
	}
	if len(summary.Abandoned) > 0 {
		r.t.Errorf("simtest: the runs of these seeds of %s did not stop when told to, and were given up: %v; look for a loop in which nothing waits",
			r.scenario.Name, summary.Abandoned)
	}
	switch {
	case r.failing == maxFailing:
		r.t.Logf("simtest: ended after %d failing seeds", maxFailing)
	case summary.Interrupted:
		r.t.Errorf("simtest: out of time: %d of the %d seeds of %s ran before go test's -timeout; raise it, or run fewer seeds",
			summary.Seeds(), seeds.Len(), r.scenario.Name)
	case len(summary.Abandoned) > 0:
	case given.seeds == nil && !testing.Short():
		r.blind(summary.Sometimes)
	}
}

// fail makes a subtest of a run that failed, and returns how many there are.
func (r *runner) fail(name string, opt scenarios.Options, result scenarios.Result, command string) int {
	r.failing++
	r.t.Run(name, func(t *testing.T) {
		signature := string(result.Verdict)
		if len(result.Failures) > 0 {
			signature += result.Failures[0].Signature()
		}
		if given.keep {
			t.Log(r.keep(opt, result))
		}
		if earlier, ok := r.shownAt[signature]; ok {
			t.Errorf("%s %s seed %d: as %s\nreproduce: %s", verdictWord(result.Verdict), result.Scenario, result.Seed, earlier, command)
			return
		}
		r.shownAt[signature] = t.Name()
		t.Error(r.report(opt, result, command))
	})
	return r.failing
}

// blind fails the test for situations that had to be reached and were not.
func (r *runner) blind(reached map[string]int) {
	r.t.Helper()
	names := r.mustReach
	if r.reachAll {
		names = slices.Sorted(maps.Keys(reached))
	}
	var missed []string
	for _, name := range names {
		if reached[name] == 0 {
			missed = append(missed, name)
		}
	}
	if len(missed) > 0 {
		r.t.Errorf("simtest: reached by no seed of %s: %s; run more seeds, or make the scenario go there",
			r.scenario.Name, strings.Join(missed, ", "))
	}
}

func verdictWord(v scenarios.Verdict) string {
	if v == scenarios.Fail {
		return "FAIL"
	}
	return "UNKNOWN"
}

func summaryText(s scenarios.Summary) string {
	var b strings.Builder
	b.WriteByte('\n')
	_ = (&reports.Terminal{Out: &b}).Summary(s) // a Builder takes everything
	return b.String()
}
