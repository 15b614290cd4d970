package models

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// explainSteps bounds each of the searches that make a violation small. One that comes to its
// limit counts as not failing, so that what is reported fails without doubt.
const explainSteps = 200_000

// explain says why an object's operations cannot be explained: which answer is the first that
// makes it so, and which other operations are needed for it to be. Answers given before the
// position passed can be explained; 0 if that is not known.
func (q Sequential[S]) explain(o *objectHistory, passed uint64) Violation {
	prefix := q.shortestPrefix(o.ops, passed)
	culprit := lastToReturn(prefix)
	core, starts, minimal := q.core(prefix, culprit)
	var b strings.Builder
	fmt.Fprintf(&b, "%sno order of the operations explains the answer of %s, while all before it can be explained.",
		objectPrefix(o.name), describeOp(culprit))
	others := slices.DeleteFunc(slices.Clone(core), func(op *Op) bool { return op == culprit })
	switch {
	case !minimal:
		fmt.Fprintf(&b, " It ran beside or after %s.", neighbours(prefix, culprit))
	case len(others) == 0 && len(starts) == 0:
		b.WriteString(" Nothing could have made it so.")
	case len(others) == 0:
		fmt.Fprintf(&b, " It fits no state that the object can have been in: %s.", someStates(starts))
	default:
		fmt.Fprintf(&b, " It contradicts, whatever else happened:")
		for _, op := range others {
			b.WriteString("\n  " + describeOp(op))
		}
		if len(starts) > 0 {
			fmt.Fprintf(&b, "\n  whatever it was before: %s", someStates(starts))
		}
	}
	first := culprit
	for _, op := range core {
		if op.Call < first.Call {
			first = op
		}
	}
	b.WriteString("\n  " + windowText(first, culprit, len(core), len(o.ops)))
	return Violation{Oracle: q.Name(), Message: b.String(), Event: culprit.Return, AtNS: culprit.ReturnNS}
}

// someStates shows a few states, the shortest first.
func someStates(states []string) string {
	const shown, width = 5, 40
	states = slices.Clone(states)
	slices.SortStableFunc(states, func(a, b string) int { return len(a) - len(b) })
	for i, s := range states {
		if i == shown {
			return strings.Join(states[:shown], ", ") + fmt.Sprintf(" and %d more", len(states)-shown)
		}
		if len(s) > width {
			states[i] = strings.ToValidUTF8(s[:width], "") + "..."
		}
	}
	return strings.Join(states, ", ")
}

// windowText says from when to when a violation is, and how many operations make it.
func windowText(first, last *Op, core, all int) string {
	return fmt.Sprintf("Smallest failing window: %s to %s, %d of the object's %d operations",
		momentOf(first.Call, first.CallNS), momentOf(last.Return, last.ReturnNS), core, all)
}

// fails reports whether operations surely cannot be explained. Starts are the states to begin
// in, nil for the initial one.
func (q Sequential[S]) fails(ops []*Op, starts []S, steps int) bool {
	p := q.Spec.ready(ops)
	// What shows without a search, or narrows it, is about histories that begin in the initial state.
	if starts == nil && len(p.found) > 0 {
		return true
	}
	if starts == nil && p.exact {
		return false
	}
	if starts != nil {
		p.step = q.Spec.Step
	}
	budget := newSearchBudget(steps, q.Bounds.Done)
	s, err := newSearch(&q.Spec, p, budget)
	if err != nil {
		return starts == nil && q.searchWide(p, budget) == porcupine.Illegal
	}
	if starts != nil {
		s.starts = starts
	}
	return !s.run() && !budget.spent()
}

// shortestPrefix is the shortest prefix that fails of operations that do. Prefixes of what can
// be explained can be explained, so the first failing one is found by bisection, unless it is
// that which ends at the first answer not passed, as it mostly is: then that one search is all.
func (q Sequential[S]) shortestPrefix(ops []*Op, passed uint64) []*Op {
	var ends []uint64
	for _, op := range ops {
		if op.Return != Open && op.Return >= passed {
			ends = append(ends, op.Return)
		}
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	steps := q.steps()
	failsAt := func(i int) bool { return q.fails(q.Spec.upTo(ops, ends[i]), nil, steps) }
	n := 0
	if passed == 0 || !failsAt(0) {
		n = sort.Search(len(ends)-1, failsAt)
	}
	return q.Spec.upTo(ops, ends[n])
}

// upTo is what was known just after a position: later calls are gone, and operations that had
// not returned are open.
func (s *Spec[S]) upTo(ops []*Op, at uint64) []*Op {
	var prefix []*Op
	for _, op := range ops {
		if op.Call > at {
			break
		}
		if op.Return > at {
			op = loosened(op)
		}
		if s.idle(op) {
			continue
		}
		prefix = append(prefix, op)
	}
	return prefix
}

// loosened is an operation of which nobody knows how it ended.
func loosened(op *Op) *Op {
	if op.Outcome == Unknown {
		return op
	}
	open := *op
	open.Outcome, open.Output, open.Return = Unknown, nil, Open
	return &open
}

func lastToReturn(ops []*Op) *Op {
	var last *Op
	for _, op := range ops {
		if op.Return != Open && (last == nil || op.Return >= last.Return) {
			last = op
		}
	}
	return last
}

// Limits of how far a violation is made small.
const (
	// startsKept is how many states a window may begin in.
	startsKept = 4096
	// coreKept is how many operations are taken away one by one.
	coreKept = 400
)

// core is the least that has to be known for a failing prefix to fail, and the states in which
// the object can have been before, if they matter. An operation is not simply taken away, which
// could make anything fail: one that only reads is, another one becomes open, as if nobody had
// seen its end. Minimal is false if there was too much to try.
func (q Sequential[S]) core(prefix []*Op, culprit *Op) (core []*Op, starts []string, minimal bool) {
	kept, states := q.tail(prefix, culprit)
	if len(kept) > coreKept {
		return []*Op{culprit}, nil, false
	}
	current := slices.Clone(kept)
	// The latest are taken away last: they are the ones that say most.
	for i := 0; i < len(current); {
		op := current[i]
		if op == culprit || op.Outcome == Unknown {
			i++
			continue
		}
		without := slices.Clone(current)
		if q.Spec.readOnly(op) {
			without = slices.Delete(without, i, i+1)
		} else {
			without[i] = loosened(op)
		}
		if q.fails(without, states, explainSteps) {
			current = without
			continue
		}
		i++
	}
	for _, op := range current {
		if op.Outcome != Unknown {
			core = append(core, op)
		}
	}
	if states != nil {
		for _, s := range states {
			starts = append(starts, describeState(any(s)))
		}
		slices.Sort(starts)
		starts = slices.Compact(starts)
	}
	return core, starts, true
}

// tail cuts away the beginning of a failing prefix, as long as the rest fails from every state
// that can have been reached. It returns nil states if all of the prefix is needed.
func (q Sequential[S]) tail(prefix []*Op, culprit *Op) (kept []*Op, states []S) {
	reached, ok := q.statesOf(prefix)
	if !ok || len(reached) > startsKept {
		return prefix, nil
	}
	calls := make([]uint64, len(prefix))
	for i, op := range prefix {
		calls[i] = op.Call
	}
	// after are the operations that can have happened after a position: those called before it
	// and still under way count in full, open ones too.
	after := func(at uint64) []*Op {
		var rest []*Op
		for _, op := range prefix {
			if op.Return >= at {
				rest = append(rest, op)
			}
		}
		return rest
	}
	failsFrom := func(i int) bool {
		rest := after(calls[i])
		return slices.Contains(rest, culprit) && q.fails(rest, reached, explainSteps)
	}
	// From the last call backwards in doubling strides: what fails is mostly near.
	near := len(prefix)
	for stride := 1; ; stride *= 2 {
		from := len(prefix) - stride
		if from <= 0 {
			return prefix, nil
		}
		if failsFrom(from) {
			from += sort.Search(near-from, func(i int) bool { return !failsFrom(from + i) }) - 1
			return after(calls[from]), reached
		}
		near = from
	}
}

// statesOf lists every state in which the search of a failing prefix has been; ok is false if it
// could not finish.
func (q Sequential[S]) statesOf(prefix []*Op) (states []S, ok bool) {
	budget := q.budget()
	p := q.Spec.ready(prefix)
	p.step = q.Spec.Step // the narrower one leaves out states that lead nowhere
	s, err := newSearch(&q.Spec, p, budget)
	if err != nil {
		return nil, false
	}
	s.reached = map[S]bool{q.Spec.Init: true}
	if s.run() || budget.spent() {
		return nil, false
	}
	for state := range s.reached {
		states = append(states, state)
	}
	slices.SortFunc(states, func(a, b S) int { return strings.Compare(describeState(any(a)), describeState(any(b))) })
	return states, true
}

// describeOp names an operation as messages do: who, what, answer, when. Recordings without
// times are told by positions, which are line numbers where a file has an entry a line.
func describeOp(op *Op) string {
	answer := string(op.Outcome)
	switch {
	case op.Output != nil:
		answer = fmt.Sprintf("%s %v", answer, op.Output)
	case op.Outcome == Unknown:
		answer = "outcome unknown"
	}
	end := "never returned"
	if op.Return != Open {
		end = "to " + momentOf(op.Return, op.ReturnNS)
	}
	return fmt.Sprintf("#%d client %d %s%v = %s, %s %s", op.ID, op.Client, op.Kind, op.Input, answer,
		momentOf(op.Call, op.CallNS), end)
}

// momentOf is a time, or the position that stands in for it.
func momentOf(at uint64, ns int64) string {
	switch {
	case ns == math.MaxInt64:
		return "the end"
	case uint64(ns) == at && at < 1e9: // no line number, but a clock's nanoseconds, from there on
		return fmt.Sprintf("@%d", at)
	}
	return time.Duration(ns).String()
}
