package models

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"
)

// judgeSlots judges a counter to which only one amount is ever added, exactly and without a
// search.
//
// Number the additions by when they happen: the j-th takes place at time t[j], and t never goes
// back. An answer of v amounts, given between c and r, says that the v-th addition happened by r
// and the one after it not before c. So slot j has a window from a[j], the latest call of an
// answer below j, to b[j], the earliest return of an answer of j or more; both ends only grow
// with j. An addition can take a slot if its own time meets the window; as windows only move
// on, these slots are a range. The history is linearizable exactly if additions can be assigned
// to slots so that every addition that happened has one, and every slot up to the highest answer
// is taken:
//
//   - Times in order: where two slots' times are in the wrong order, exchange the times together
//     with the additions; each still lies in its new window, since windows only move on.
//   - By the theorem of Mendelsohn and Dulmage (1958) it is enough that one assignment serves the
//     additions that happened, and another one, perhaps with open ones, fills the slots.
//   - Each of the two is found by taking slots or additions in order and giving each to the one
//     whose range ends first (Glover, 1967).
//
// An addition that was told what it added up to is an answer too, and has only the one slot.
func judgeSlots(ops []*Op, delta int64) []objection {
	slots, found := newSlotWindows(ops, delta)
	if found != nil {
		return found
	}
	for _, op := range ops {
		in, add := op.Input.(Add)
		if !add || in.Delta == 0 {
			continue
		}
		lo, hi := slots.rangeOf(op)
		if op.Outcome != Unknown && lo > hi {
			return []objection{slots.objection(op, lo, hi)}
		}
		if lo <= hi {
			slots.adds = append(slots.adds, slotRange{op, lo, hi})
		}
	}
	slices.SortStableFunc(slots.adds, func(a, b slotRange) int { return cmp.Compare(a.lo, b.lo) })
	if op := slots.unserved(); op != nil {
		lo, hi := slots.rangeOf(op)
		return []objection{slots.objection(op, lo, hi)}
	}
	return slots.unfilled()
}

// slotWindows are the windows of a counter's slots. Beyond the highest answer all slots are
// alike; there are as many as there are additions.
type slotWindows struct {
	delta int64
	high  int // the highest answer, in amounts
	total int
	// from[j] and to[j] bound slot j, from 1; opens[j] and closes[j] are the answers that do.
	from, to      []uint64
	opens, closes []*Op
	adds          []slotRange
}

// slotRange is an addition with the slots that it can take.
type slotRange struct {
	op     *Op
	lo, hi int
}

func newSlotWindows(ops []*Op, delta int64) (*slotWindows, []objection) {
	w := &slotWindows{delta: delta}
	adds := 0
	for _, op := range ops {
		if _, ok := op.Input.(Add); ok {
			adds++
		}
	}
	var answers []*Op
	for _, op := range ops {
		out, ok := op.Output.(Count)
		if !ok {
			continue
		}
		n := int64(0)
		if delta != 0 {
			n = out.Value / delta
		}
		if n < 0 || n > int64(adds) || n*delta != out.Value {
			return nil, []objection{{op: op, why: fmt.Sprintf("only %d additions, of %+d each, were ever called", adds, delta)}}
		}
		w.high = max(w.high, int(n))
		answers = append(answers, op)
	}
	w.total = w.high + adds
	w.from, w.to = make([]uint64, w.total+2), make([]uint64, w.total+2)
	w.opens, w.closes = make([]*Op, w.total+2), make([]*Op, w.total+2)
	for j := range w.to {
		w.to[j] = math.MaxUint64
	}
	for _, op := range answers {
		v := w.amounts(op)
		w.open(v+1, op)
		w.close(v, op)
		if _, add := op.Input.(Add); add {
			// It happened itself within its own time, as the last of v.
			if v == 0 {
				return nil, []objection{{op: op, why: "it added something, and was told that there is nothing"}}
			}
			w.open(v, op)
		}
	}
	for j := 1; j < len(w.from); j++ {
		if w.from[j-1] > w.from[j] {
			w.from[j], w.opens[j] = w.from[j-1], w.opens[j-1]
		}
	}
	for j := len(w.to) - 2; j >= 0; j-- {
		if w.to[j+1] < w.to[j] {
			w.to[j], w.closes[j] = w.to[j+1], w.closes[j+1]
		}
	}
	for j := 1; j <= w.high; j++ {
		if w.from[j] > w.to[j] {
			return nil, []objection{{op: w.opens[j], others: []*Op{w.closes[j]}, why: fmt.Sprintf(
				"it is told of fewer than %d additions, though an answer of %d or more had come back before it was called:", j, j)}}
		}
	}
	return w, nil
}

func (w *slotWindows) open(j int, op *Op) {
	if op.Call > w.from[j] {
		w.from[j], w.opens[j] = op.Call, op
	}
}

func (w *slotWindows) close(j int, op *Op) {
	if op.Return < w.to[j] {
		w.to[j], w.closes[j] = op.Return, op
	}
}

func (w *slotWindows) amounts(op *Op) int {
	if w.delta == 0 {
		return 0
	}
	return int(op.Output.(Count).Value / w.delta)
}

// rangeOf is the range of slots that an addition can take; empty if lo > hi.
func (w *slotWindows) rangeOf(op *Op) (lo, hi int) {
	if _, told := op.Output.(Count); told {
		j := w.amounts(op)
		return j, j
	}
	lo, _ = slices.BinarySearch(w.to[1:w.total+1], op.Call)
	hi, _ = slices.BinarySearchFunc(w.from[1:w.total+1], op.Return, func(from, ret uint64) int {
		if from > ret {
			return 1
		}
		return -1
	})
	return lo + 1, hi
}

// unserved is an addition that happened and is left without a slot, nil if none is.
func (w *slotWindows) unserved() *Op {
	waiting := &byEnd{}
	next := 0
	for j := 1; j <= w.total; j++ {
		for ; next < len(w.adds) && w.adds[next].lo <= j; next++ {
			if w.adds[next].op.Outcome != Unknown {
				heap.Push(waiting, w.adds[next])
			}
		}
		if waiting.Len() == 0 {
			continue
		}
		if first := heap.Pop(waiting).(slotRange); first.hi < j {
			return first.op
		}
	}
	if waiting.Len() > 0 {
		return heap.Pop(waiting).(slotRange).op
	}
	return nil
}

// unfilled objects to the first slot up to the highest answer that no addition can take.
func (w *slotWindows) unfilled() []objection {
	waiting := &byEnd{}
	next := 0
	for j := 1; j <= w.high; j++ {
		for ; next < len(w.adds) && w.adds[next].lo <= j; next++ {
			heap.Push(waiting, w.adds[next])
		}
		for waiting.Len() > 0 && (*waiting)[0].hi < j {
			heap.Pop(waiting)
		}
		if waiting.Len() == 0 {
			return []objection{{op: w.closes[j], why: fmt.Sprintf(
				"fewer than %d additions, of %+d each, can have happened by then", j, w.delta)}}
		}
		heap.Pop(waiting)
	}
	return nil
}

// objection says that an addition that happened fits nowhere.
func (w *slotWindows) objection(op *Op, lo, hi int) objection {
	o := objection{op: op, why: "it happened, and no answers leave room for it"}
	// The answer that came too late for it, and the one that was given too early.
	if hi+1 < len(w.opens) && w.opens[hi+1] != nil && w.opens[hi+1].Call > op.Return {
		late := w.opens[hi+1]
		o = objection{op: late, others: []*Op{op}, why: "it does not count an addition that had returned before it was called:"}
	}
	if lo > 0 && lo-1 < len(w.closes) && w.closes[lo-1] != nil && w.closes[lo-1] != o.op {
		o.others = append(o.others, w.closes[lo-1])
	}
	return o
}

// byEnd is a heap of additions whose range ends first.
type byEnd []slotRange

func (b byEnd) Len() int           { return len(b) }
func (b byEnd) Less(i, j int) bool { return b[i].hi < b[j].hi }
func (b byEnd) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *byEnd) Push(x any)        { *b = append(*b, x.(slotRange)) }
func (b *byEnd) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}
