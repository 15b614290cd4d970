package models

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// judgeGrowing judges a set that is only added to and read as a whole, exactly and without a
// search.
//
// Reads must then be ordered by inclusion. Take the different answers from small to large: each
// makes a step, in which the elements that are new in it are added, then all reads with this
// answer happen. What is placed in a step can happen no earlier than what was called in it or in
// an earlier step, so going through the steps with the latest call so far, each operation must
// not have returned before that:
//
//   - a read, before the last of the elements it has was added;
//   - an addition, before a read that doesn't have the element. Of several additions of one
//     element that with the earliest call makes it appear; the others change nothing, and need
//     only not come before the reads without it.
//
// Doing each step as early as possible is best for all that follows.
func judgeGrowing(ops []*Op) []objection {
	adds := map[Value][]*Op{} // by call
	var reads []*growingRead
	for _, op := range ops {
		switch in := op.Input.(type) {
		case AddElement:
			adds[in.Element] = append(adds[in.Element], op)
		case ReadSet:
			reads = append(reads, &growingRead{op: op, in: elementsOf(op)})
		}
	}
	slices.SortStableFunc(reads, func(a, b *growingRead) int {
		return cmp.Or(cmp.Compare(len(a.in), len(b.in)), cmp.Compare(a.op.Call, b.op.Call))
	})
	now := frontmost{}
	var before *growingRead
	for i := 0; i < len(reads); {
		step := reads[i]
		fresh, lacks := step.beyond(before)
		if lacks {
			return []objection{crossed(before, step)}
		}
		asRead := now // when the reads of the step before had happened
		for _, e := range fresh {
			if len(adds[e]) == 0 {
				return []objection{{op: step.op, why: fmt.Sprintf("nothing ever added %v", e)}}
			}
			if o := addedTooEarly(adds[e], e, asRead); o != nil {
				return []objection{*o}
			}
			now.raise(adds[e][0])
			delete(adds, e)
		}
		added := now
		for ; i < len(reads) && len(reads[i].in) == len(step.in); i++ {
			r := reads[i]
			if _, lacks := r.beyond(step); lacks {
				return []objection{crossed(step, r)}
			}
			if added.op != nil && r.op.Return < added.op.Call {
				return []objection{{op: r.op, others: []*Op{added.op}, why: "it returned before this was called, which happened before it:"}}
			}
			now.raise(r.op)
		}
		before = step
	}
	for _, e := range slices.Sorted(maps.Keys(adds)) {
		if o := addedTooEarly(adds[e], e, now); o != nil {
			return []objection{*o}
		}
	}
	return nil
}

// addedTooEarly objects if an addition had returned before a read without the element was called.
func addedTooEarly(adds []*Op, e Value, now frontmost) *objection {
	for _, op := range adds {
		if now.op != nil && op.Return < now.op.Call {
			return &objection{op: now.read(), others: []*Op{op}, why: fmt.Sprintf("%v is missing, though this had returned before:", e)}
		}
	}
	return nil
}

// frontmost is the operation with the latest call so far, and the read that was last placed.
type frontmost struct{ op, reads *Op }

func (l *frontmost) raise(op *Op) {
	if _, ok := op.Input.(ReadSet); ok {
		l.reads = op
	}
	if l.op == nil || op.Call > l.op.Call {
		l.op = op
	}
}

// read is what lacks an element that was added too early.
func (l frontmost) read() *Op {
	if _, ok := l.op.Input.(ReadSet); ok || l.reads == nil {
		return l.op
	}
	return l.reads
}

// growingRead is a read with its elements.
type growingRead struct {
	op *Op
	in map[Value]bool
}

func elementsOf(op *Op) map[Value]bool {
	in := map[Value]bool{}
	for _, e := range op.Output.(Members).Elements {
		in[e] = true
	}
	return in
}

// beyond lists the elements that the read before did not have, in order, and reports
// whether this one lacks any that it had.
func (r *growingRead) beyond(before *growingRead) (fresh []Value, lacks bool) {
	had := 0
	for e := range r.in {
		if before != nil && before.in[e] {
			had++
			continue
		}
		fresh = append(fresh, e)
	}
	slices.Sort(fresh)
	return fresh, before != nil && had < len(before.in)
}

// lackedBeside is the first element that this read has and the other lacks.
func (r *growingRead) lackedBeside(other *growingRead) Value {
	var lacked []Value
	for e := range r.in {
		if !other.in[e] {
			lacked = append(lacked, e)
		}
	}
	if len(lacked) == 0 {
		return ""
	}
	slices.Sort(lacked)
	return lacked[0]
}

// crossed objects to two reads each of which has what the other lacks.
func crossed(a, b *growingRead) objection {
	if a.op.Return > b.op.Return {
		a, b = b, a
	}
	return objection{op: b.op, others: []*Op{a.op}, why: fmt.Sprintf(
		"the set only grows, and it has %v and not %v, while another read has it the other way round:",
		b.lackedBeside(a), a.lackedBeside(b))}
}
