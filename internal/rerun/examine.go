package rerun

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
)

// Examination is what a run with its whole trace recorded shows beyond its result.
type Examination struct {
	Result scenarios.Result
	// InForce are the faults that had begun and not ended at the first failure.
	InForce []string
	// Faults is the run's plan, and Plan the same in words, one fault a line.
	Faults *faults.Plan
	Plan   []string
	// Tail is the last events up to the first failure, Log those of them that a process logged.
	Tail, Log []string
}

const (
	// tailLength is how many events before the failure are shown.
	tailLength = 20
	// logLength is how many lines that were logged before the failure are shown.
	logLength = 10
)

// RecordLimit is the most events of a run whose trace is recorded: about a gigabyte.
const RecordLimit = 5_000_000

// Watcher looks at a run that is examined.
type Watcher struct {
	// Event, if not nil, is passed all events, however many.
	Event func(sim.Event)
	// Run, if not nil, is called with the run as it ended, before its events are passed on.
	Run func(*scenarios.Run)
}

// Examine runs a seed again, to see more of it. before is the result it had: what is in force,
// and the last events, are those at its first failure. It returns nil if the run is too long to
// be recorded, unless there is a watcher that wants to see it anyway, or was interrupted.
func Examine(ctx context.Context, s *scenarios.Scenario, opt scenarios.Options, before scenarios.Result, also Watcher) *Examination {
	if before.Events > RecordLimit && also.Event == nil {
		return nil
	}
	e := &Examination{InForce: []string{}}
	last := before.Events
	if len(before.Failures) > 0 {
		last = before.Failures[0].Event
	}
	e.Result = Record(ctx, s, opt, func(r *scenarios.Run) {
		if also.Run != nil {
			also.Run(r)
		}
		e.Faults = r.Plan()
		for i := range e.Faults.Faults {
			e.Plan = append(e.Plan, describe(&e.Faults.Faults[i]))
		}
		instant := instantFaults(e.Faults)
		for _, event := range r.World.Trace() {
			if also.Event != nil {
				also.Event(event)
			}
			if event.Number > last {
				continue
			}
			e.Tail = appendLast(e.Tail, event.String(), tailLength)
			switch event.Kind {
			case sim.EventFault:
				e.fault(event.Text, instant)
			case sim.EventLog:
				e.Log = appendLast(e.Log, event.String(), logLength)
			}
		}
	})
	if e.Result.Scenario == "" {
		return nil
	}
	e.Tail = e.Tail[max(0, len(e.Tail)-tailLength):]
	e.Log = e.Log[max(0, len(e.Log)-logLength):]
	return e
}

// Explain adds to a detail what led to the failure. Nil adds nothing.
func (e *Examination) Explain(d *reports.Detail) {
	if e != nil {
		d.InForce, d.Plan, d.Log, d.Trace = e.InForce, e.Plan, e.Log, e.Tail
	}
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
func (e *Examination) fault(note string, instant map[string]bool) {
	if fault, ok := strings.CutPrefix(note, "begin "); ok {
		if id, _, _ := strings.Cut(fault, " "); !instant[id] {
			e.InForce = append(e.InForce, fault)
		}
		return
	}
	id, ok := strings.CutPrefix(note, "end ")
	if !ok {
		return
	}
	e.InForce = slices.DeleteFunc(e.InForce, func(fault string) bool {
		return fault == id || strings.HasPrefix(fault, id+" ")
	})
}

// describe is a fault of a plan as one line: when, after the start of the fault phase, and what.
func describe(f *faults.Fault) string {
	return fmt.Sprintf("%-24s %s", f.Period(), f)
}
