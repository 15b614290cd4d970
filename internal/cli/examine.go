package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
)

// examination is what a run with its whole trace recorded shows beyond its result.
type examination struct {
	result scenarios.Result
	// inForce are the faults that had begun and not ended at the first failure.
	inForce []string
	// plan is the faults of the run's plan.
	plan []string
	// tail is the last events up to the first failure, log those of them that a process logged.
	tail, log []string
}

const (
	// tailLength is how many events before the failure are shown.
	tailLength = 20
	// logLength is how many lines that were logged before the failure are shown.
	logLength = 10
	// recordLimit is the most events of a run whose trace is recorded: about a gigabyte.
	recordLimit = 5_000_000
)

// examine runs a seed again, to see more of it. before is the result it had: what is in force,
// and the last events, are those at its first failure. It returns nil if the run is too long to
// be recorded, or was interrupted. also, if not nil, is passed all events, however many.
func examine(ctx context.Context, s *scenarios.Scenario, opt scenarios.Options, before scenarios.Result, also func(sim.Event)) *examination {
	if before.Events > recordLimit && also == nil {
		return nil
	}
	e := &examination{inForce: []string{}}
	last := before.Events
	if len(before.Failures) > 0 {
		last = before.Failures[0].Event
	}
	e.result = record(ctx, s, opt, func(r *scenarios.Run) {
		for _, f := range r.Plan().Faults {
			e.plan = append(e.plan, describe(&f))
		}
		instant := instantFaults(r.Plan())
		for _, event := range r.World.Trace() {
			if also != nil {
				also(event)
			}
			if event.Number > last {
				continue
			}
			e.tail = appendLast(e.tail, event.String(), tailLength)
			switch event.Kind {
			case sim.EventFault:
				e.fault(event.Text, instant)
			case sim.EventLog:
				e.log = appendLast(e.log, event.String(), logLength)
			}
		}
	})
	if e.result.Scenario == "" {
		return nil
	}
	e.tail = e.tail[max(0, len(e.tail)-tailLength):]
	e.log = e.log[max(0, len(e.log)-logLength):]
	return e
}

// appendLast appends a line, and drops the first ones as soon as there are twice as many as are
// wanted.
func appendLast(lines []string, line string, wanted int) []string {
	if len(lines) >= 2*wanted {
		lines = append(lines[:0], lines[len(lines)-wanted:]...)
	}
	return append(lines, line)
}

// instantFaults are the IDs of the faults that are over as they begin.
func instantFaults(p *faults.Plan) map[string]bool {
	instant := make(map[string]bool)
	for _, k := range faults.Kinds() {
		for _, f := range p.Faults {
			if f.Kind == k.Name && k.Instant {
				instant[f.ID] = true
			}
		}
	}
	return instant
}

// fault follows the injector's notes: "begin ID ...", "end ID".
func (e *examination) fault(note string, instant map[string]bool) {
	if fault, ok := strings.CutPrefix(note, "begin "); ok {
		if id, _, _ := strings.Cut(fault, " "); !instant[id] {
			e.inForce = append(e.inForce, fault)
		}
		return
	}
	id, ok := strings.CutPrefix(note, "end ")
	if !ok {
		return
	}
	e.inForce = slices.DeleteFunc(e.inForce, func(fault string) bool {
		return fault == id || strings.HasPrefix(fault, id+" ")
	})
}

// record runs a seed with its trace recorded. inspect is given the run as it ended.
func record(ctx context.Context, s *scenarios.Scenario, opt scenarios.Options, inspect func(*scenarios.Run)) scenarios.Result {
	opt.Record, opt.Inspect = true, inspect
	return runOnce(ctx, s, opt)
}

// traceLines runs a seed with its trace recorded, and passes it on line by line.
func traceLines(ctx context.Context, s *scenarios.Scenario, opt scenarios.Options, each func(line string)) {
	record(ctx, s, opt, func(r *scenarios.Run) {
		for _, event := range r.World.Trace() {
			each(traceLine(&event))
		}
	})
}

// runOnce runs one seed, as a campaign for what that does about panics. An interrupted run has
// the zero result.
func runOnce(ctx context.Context, s *scenarios.Scenario, opt scenarios.Options) (result scenarios.Result) {
	campaign := scenarios.Campaign{
		Scenario: s.Name, Execute: s.Execute, Options: opt, Workers: 1,
		Seeds:    scenarios.Seeds{{First: opt.Seed, Last: opt.Seed}},
		OnResult: func(r scenarios.Result) { result = r },
	}
	campaign.Run(ctx)
	return result
}

// describe is a fault of a plan as one line: when, after the start of the fault phase, and what.
func describe(f *faults.Fault) string {
	when := time.Duration(f.From).String()
	if f.To != 0 {
		when += " to " + time.Duration(f.To).String()
	}
	return fmt.Sprintf("%-24s %s", when, f)
}
