package shrink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios"
)

// Search looks for the smallest run that fails as one does.
type Search struct {
	Scenario *scenarios.Scenario
	// Options are the run that fails.
	Options scenarios.Options
	// Workers is how many runs are tried at a time; 0 is one. What is found does not depend on it,
	// unless time is up before the end.
	Workers int
	// OnProgress, if not nil, is called after each run that was tried, and each that was found.
	OnProgress func(Found)
}

// Found is the smallest run so far.
type Found struct {
	// First is the run that was given, as it failed, and Plan its faults.
	First scenarios.Result
	Plan  *faults.Plan
	// Options are the smallest run that fails in the same way, and Result how it does. Options.Plan
	// is not nil.
	Options scenarios.Options
	Result  scenarios.Result
	// Runs is how many runs were tried.
	Runs int
	// Complete says that no step makes the run smaller; otherwise time was up before.
	Complete bool
}

// NotFailingError says that the run that was given does not fail.
type NotFailingError struct{ Result scenarios.Result }

func (e *NotFailingError) Error() string {
	return fmt.Sprintf("%s seed %d does not fail: its verdict is %s", e.Result.Scenario, e.Result.Seed, e.Result.Verdict)
}

// ErrNoTime says that time was up before the run that was given had ended.
var ErrNoTime = errors.New("time was up before the run had ended once")

// Run searches until no step makes the run smaller, or ctx is done. Its errors are a
// *[NotFailingError], [ErrNoTime], or what is wrong with the options.
func (s *Search) Run(ctx context.Context) (*Found, error) {
	plan, err := s.Scenario.FaultPlan(s.Options)
	if err != nil {
		return nil, err
	}
	opt := s.Options
	opt.Plan, opt.Settings = plan, maps.Clone(s.Options.Settings)
	if opt.Profile == "" {
		opt.Profile = plan.Profile // which decides whether production code takes its rare paths
	}
	first := rerun.Once(ctx, s.Scenario, opt)
	switch {
	case first.Scenario == "":
		return nil, ErrNoTime
	case first.Verdict != scenarios.Fail:
		return nil, &NotFailingError{first}
	}
	h := &hunt{Search: s, tried: map[string]bool{}, found: Found{First: first, Plan: plan, Options: opt, Result: first, Runs: 1}}
	for changed := true; changed && ctx.Err() == nil; {
		changed = h.shorten(ctx)
		changed = h.leaveOutFaults(ctx) || changed
		changed = h.calm(ctx) || changed
		changed = h.reduceSettings(ctx) || changed
		changed = h.simplifyFaults(ctx) || changed
	}
	h.found.Complete = ctx.Err() == nil
	return &h.found, nil
}

// hunt is a search under way.
type hunt struct {
	*Search
	found Found
	tried map[string]bool // runs that did not fail as the first one does
}

// sameFailure tells whether a run fails by the oracle by which the first one fails.
func (h *hunt) sameFailure(r *scenarios.Result) bool {
	return r.Verdict == scenarios.Fail && len(r.Failures) > 0 && r.Failures[0].Oracle == h.found.First.Failures[0].Oracle
}

// try runs candidates, several at a time, and takes the first in their order that fails in the same
// way for the smallest run. It returns its index, or -1.
func (h *hunt) try(ctx context.Context, candidates []scenarios.Options) int {
	workers := max(h.Workers, 1)
	for from := 0; from < len(candidates) && ctx.Err() == nil; from += workers {
		batch := candidates[from:min(from+workers, len(candidates))]
		results := make([]scenarios.Result, len(batch))
		var running sync.WaitGroup
		for i, opt := range batch {
			if h.tried[key(opt)] {
				continue
			}
			h.found.Runs++
			running.Go(func() { results[i] = rerun.Once(ctx, h.Scenario, opt) })
		}
		running.Wait()
		for i, opt := range batch {
			if h.sameFailure(&results[i]) {
				h.found.Options, h.found.Result = opt, results[i]
				h.progress()
				return from + i
			}
			h.tried[key(opt)] = h.tried[key(opt)] || results[i].Scenario != ""
		}
		h.progress()
	}
	return -1
}

func (h *hunt) progress() {
	if h.OnProgress != nil {
		h.OnProgress(h.found)
	}
}

// key tells runs apart.
func key(opt scenarios.Options) string {
	return fmt.Sprint(opt.Plan.Inline(), opt.Settings, opt.Strategy, opt.Profile)
}

func withPlan(opt scenarios.Options, p *faults.Plan) scenarios.Options {
	opt.Plan = p
	return opt
}

// without is the run without some of its faults.
func (h *hunt) without(drop func(index int, f *faults.Fault) bool) scenarios.Options {
	return withPlan(h.found.Options, h.found.Options.Plan.Keep(func(i int, f *faults.Fault) bool { return !drop(i, f) }))
}

// leaveOutFaults leaves out as many faults as it can: all of them, all of one kind, and then parts of
// the plan, from its halves down to single faults.
func (h *hunt) leaveOutFaults(ctx context.Context) bool {
	before := len(h.found.Options.Plan.Faults)
	if before == 0 || h.try(ctx, []scenarios.Options{h.without(func(int, *faults.Fault) bool { return true })}) >= 0 {
		return before > 0
	}
	var kinds []string
	for _, f := range h.found.Options.Plan.Faults {
		if !slices.Contains(kinds, f.Kind) {
			kinds = append(kinds, f.Kind)
		}
	}
	for _, kind := range kinds {
		h.try(ctx, []scenarios.Options{h.without(func(_ int, f *faults.Fault) bool { return f.Kind == kind })})
	}
	for size := len(h.found.Options.Plan.Faults) / 2; size >= 1; size /= 2 {
		h.leaveOutParts(ctx, size)
	}
	return len(h.found.Options.Plan.Faults) < before
}

// leaveOutParts leaves out what it can in parts of a size.
func (h *hunt) leaveOutParts(ctx context.Context, size int) {
	for at := 0; at < len(h.found.Options.Plan.Faults) && ctx.Err() == nil; {
		var candidates []scenarios.Options
		for from := at; from < len(h.found.Options.Plan.Faults); from += size {
			candidates = append(candidates, h.without(func(i int, _ *faults.Fault) bool { return i >= from && i < from+size }))
		}
		left := h.try(ctx, candidates)
		if left < 0 {
			return
		}
		at += left * size // what is before that has been tried
	}
}

// simplifyFaults makes each fault simpler as long as it can be.
func (h *hunt) simplifyFaults(ctx context.Context) (changed bool) {
	for i := range h.found.Options.Plan.Faults {
		for ctx.Err() == nil {
			plan := h.found.Options.Plan
			var candidates []scenarios.Options
			for _, f := range plan.Faults[i].Simpler() {
				simpler := withPlan(h.found.Options, plan.Replace(i, f))
				if h.Scenario.Check(simpler) == nil {
					candidates = append(candidates, simpler)
				}
			}
			if h.try(ctx, candidates) < 0 {
				break
			}
			changed = true
		}
	}
	return changed
}

// calm tries the simplest order of events, and production code that takes none of its rare paths.
func (h *hunt) calm(ctx context.Context) (changed bool) {
	const strategy, profile = "fifo", "calm"
	if h.found.Options.Strategy != strategy {
		opt := h.found.Options
		opt.Strategy = strategy
		changed = h.try(ctx, []scenarios.Options{opt}) >= 0
	}
	if h.found.Options.Profile != profile {
		opt := h.found.Options
		opt.Profile = profile
		plan := *opt.Plan
		plan.Profile = profile
		opt.Plan = &plan
		changed = h.try(ctx, []scenarios.Options{opt}) >= 0 || changed
	}
	return changed
}
