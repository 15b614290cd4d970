package models

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// prepareQueue looks for the ways in which a queue whose values differ goes wrong. That these are
// all there are is the theorem of Henzinger, Sezgin and Vafeiadis (Aspect-oriented
// linearizability proofs, 2013; Bouajjani, Emmi, Enea and Hamza 2015 for answers of empty):
//
//   - a value is dequeued that was not enqueued, or not yet;
//   - a value is dequeued twice;
//   - a was enqueued before b, b was dequeued, and a is not, or only after that;
//   - the queue is said to be empty while at every moment some value must have been in it.
//
// Open enqueues whose value was never dequeued are dropped: they need not have happened, and a
// value that nobody takes only stands in the way. If the value was dequeued, they did happen, at
// the latest when the dequeue returned. An open dequeue can have taken any value that is missing
// in an order that was observed: such a value must be gone by the time the first that came after
// it was dequeued. Earlier open dequeues serve every such deadline that later ones do, so
// earliest deadline with earliest call is the best assignment; a dequeue that is not needed need
// not have happened.
func prepareQueue(ops []*Op, _ *Spec[backlog]) prepared[backlog] {
	taken := map[Value]int{}
	for _, op := range ops {
		if out, ok := op.Output.(Item); ok {
			taken[out.Value]++
		}
	}
	p := prepared[backlog]{}
	for _, op := range ops {
		if in, ok := op.Input.(Enqueue); ok && op.Outcome == Unknown && taken[in.Value] == 0 {
			continue
		}
		p.ops = append(p.ops, op)
	}
	values, opens, empties, distinct := queueValues(p.ops)
	if p.found = notEnqueued(values); p.found != nil || !distinct {
		return p
	}
	if p.found = overtaken(values); p.found == nil {
		p.found = leftBehind(values, opens)
	}
	if p.found == nil && len(opens) == 0 {
		p.found = neverEmpty(values, empties)
	}
	p.exact = len(opens) == 0 || len(empties) == 0
	return p
}

// queued is a value with the operations that put and took it.
type queued struct {
	value     Value
	enqueues  []*Op
	dequeues  []*Op
	call, ret uint64 // of the enqueue; an open one has happened by the return of the dequeue
	// taken is the call of the dequeue, the end if there is none.
	taken uint64
}

// queueValues sorts operations by value, in the order of the enqueues' calls. Opens are the open
// dequeues by call. Distinct reports whether no value was enqueued twice.
func queueValues(ops []*Op) (values []*queued, opens, empties []*Op, distinct bool) {
	index := map[Value]*queued{}
	of := func(v Value) *queued {
		q := index[v]
		if q == nil {
			q = &queued{value: v, taken: math.MaxUint64, ret: math.MaxUint64}
			index[v] = q
			values = append(values, q)
		}
		return q
	}
	distinct = true
	for _, op := range ops {
		switch in := op.Input.(type) {
		case Enqueue:
			q := of(in.Value)
			if q.enqueues = append(q.enqueues, op); len(q.enqueues) > 1 {
				distinct = false
				continue
			}
			q.call, q.ret = op.Call, min(q.ret, op.Return)
		case Dequeue:
			switch out := op.Output.(type) {
			case Item:
				q := of(out.Value)
				q.dequeues = append(q.dequeues, op)
				q.taken, q.ret = min(q.taken, op.Call), min(q.ret, op.Return)
			case EmptyQueue:
				empties = append(empties, op)
			default:
				opens = append(opens, op)
			}
		}
	}
	slices.SortStableFunc(values, func(a, b *queued) int { return cmp.Compare(a.call, b.call) })
	return values, opens, empties, distinct
}

// notEnqueued finds dequeues of what was not there: never, not yet, or not so often.
func notEnqueued(values []*queued) []objection {
	var found []objection
	for _, q := range values {
		if len(q.dequeues) > len(q.enqueues) {
			last := q.dequeues[len(q.dequeues)-1]
			why := fmt.Sprintf("nothing ever enqueued %v", q.value)
			if len(q.enqueues) > 0 {
				why = fmt.Sprintf("%v was dequeued %d times and enqueued %d times:", q.value, len(q.dequeues), len(q.enqueues))
			}
			found = append(found, objection{op: last, why: why, others: slices.Concat(q.enqueues, q.dequeues[:len(q.dequeues)-1])})
			continue
		}
		for _, d := range q.dequeues {
			if d.Return < q.enqueues[0].Call {
				found = append(found, objection{op: d, others: q.enqueues[:1],
					why: fmt.Sprintf("%v had not been enqueued yet:", q.value)})
			}
		}
	}
	return found
}

// overtaken finds a value that was dequeued although another one, enqueued before it, was taken
// only later.
func overtaken(values []*queued) []objection {
	byReturn := slices.Clone(values)
	slices.SortStableFunc(byReturn, func(a, b *queued) int { return cmp.Compare(a.ret, b.ret) })
	var longest *queued // taken last of those enqueued before
	next := 0
	for _, b := range values {
		for ; next < len(byReturn) && byReturn[next].ret < b.call; next++ {
			if a := byReturn[next]; len(a.dequeues) > 0 && (longest == nil || a.taken > longest.taken) {
				longest = a
			}
		}
		if longest != nil && len(b.dequeues) > 0 && b.dequeues[0].Return < longest.taken {
			return []objection{{op: longest.dequeues[0], others: []*Op{longest.enqueues[0], b.enqueues[0], b.dequeues[0]}, why: fmt.Sprintf(
				"%v was enqueued before %v, which had been dequeued before this was called:", longest.value, b.value)}}
		}
	}
	return nil
}

// leftBehind finds a value that is still there although one that was enqueued after it was
// dequeued, and no open dequeue can have taken it.
func leftBehind(values []*queued, opens []*Op) []objection {
	// soonest[i] is the first return of a dequeue of the values from i on.
	soonest := make([]*queued, len(values)+1)
	for i := len(values) - 1; i >= 0; i-- {
		soonest[i] = soonest[i+1]
		if d := values[i].dequeues; len(d) > 0 && (soonest[i] == nil || d[0].Return < soonest[i].dequeues[0].Return) {
			soonest[i] = values[i]
		}
	}
	type missing struct{ value, after *queued }
	var all []missing
	for _, a := range values {
		if len(a.dequeues) > 0 {
			continue
		}
		i := sort.Search(len(values), func(i int) bool { return values[i].call > a.ret })
		if soonest[i] != nil {
			all = append(all, missing{a, soonest[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b missing) int {
		return cmp.Compare(a.after.dequeues[0].Return, b.after.dequeues[0].Return)
	})
	for n, m := range all {
		deadline := m.after.dequeues[0]
		if n < len(opens) && opens[n].Call <= deadline.Return {
			continue
		}
		why := fmt.Sprintf("%v was enqueued before it and never dequeued:", m.value.value)
		if n > 0 {
			why = fmt.Sprintf("%v and %d other values were enqueued before it and never dequeued, and only %d open dequeues can have taken them by then:",
				m.value.value, n, n)
		}
		return []objection{{op: deadline, others: []*Op{m.value.enqueues[0], m.after.enqueues[0]}, why: why}}
	}
	return nil
}

// neverEmpty finds an answer of empty during all of which something must have been in the queue.
func neverEmpty(values []*queued, empties []*Op) []objection {
	if len(empties) == 0 {
		return nil
	}
	// What is in the queue for sure, from the enqueue's return to the dequeue's call, joined
	// where one begins before the other ends. The bounds themselves are moments of doubt.
	type span struct {
		from, to uint64
		of       []*Op
	}
	byReturn := slices.Clone(values)
	slices.SortStableFunc(byReturn, func(a, b *queued) int { return cmp.Compare(a.ret, b.ret) })
	var spans []span
	for _, q := range byReturn {
		switch {
		case q.ret >= q.taken || len(q.enqueues) == 0:
		case len(spans) > 0 && q.ret < spans[len(spans)-1].to:
			s := &spans[len(spans)-1]
			if q.taken > s.to {
				s.to = q.taken
				s.of = append(s.of, q.enqueues[0])
			}
		default:
			spans = append(spans, span{q.ret, q.taken, []*Op{q.enqueues[0]}})
		}
	}
	for _, op := range empties {
		i := sort.Search(len(spans), func(i int) bool { return spans[i].from >= op.Call }) - 1
		if i >= 0 && spans[i].to > op.Return {
			s := spans[i]
			return []objection{{op: op, others: s.of[:min(len(s.of), 4)],
				why: "the queue was not empty at any time while it ran; these were in it, among others:"}}
		}
	}
	return nil
}
