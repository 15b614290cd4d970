package models

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
)

// maxSlots bounds how many operations on one object may be under way at a time, and apart from
// those how many open ones may matter. Beyond it Porcupine searches.
const maxSlots = 256

// slots is a set of operations by their slots.
type slots [maxSlots / 64]uint64

func (s slots) has(i int32) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s *slots) set(i int32)     { s[i>>6] |= 1 << (i & 63) }
func (s *slots) clear(i int32)   { s[i>>6] &^= 1 << (i & 63) }
func (s slots) within(o slots) bool {
	for i := range s {
		if s[i]&^o[i] != 0 {
			return false
		}
	}
	return true
}

// search looks for a linearization of one object's operations.
//
// It is the depth-first search of Wing and Gong (1993) with Lowe's remedy for repetition (2017),
// organised by returns: an operation is placed when it returns at the latest, so that all a
// point of the search has to remember beside the state is which of the operations under way it
// has placed, and memory depends on how many run at a time and not on how long the history is.
// In addition
//
//   - reads are placed as soon as the state allows them, which cannot hurt;
//   - open operations, of unknown outcome, are tried last, and of those that do the same only the
//     earliest;
//   - a point that differs from an earlier one only in having used up more open operations is
//     not searched again.
//
// The point farthest into the history tells which answer cannot be explained.
type search[S comparable] struct {
	spec *Spec[S]
	step func(S, *Op) (S, bool)
	ops  []*Op

	// returns are the definite operations in the order of their returns. pending[k] are those
	// under way just before the k-th of them returns, itself first, in the order of their returns.
	returns []int32
	pending [][]int32
	slot    []int32
	// open are the open operations by call; the first opened[k] were called before return k.
	// twin is the one before it that does the same, -1 if there is none.
	open   []int32
	opened []int32
	twin   []int32

	seen   map[place[S]][]slots
	budget *searchBudget
	// farthest is the first return that nothing tried so far gets past.
	farthest int
	// starts are the states in which the search begins.
	starts []S
	// reached collects, if not nil, the states in which returns were reached.
	reached map[S]bool
}

// place is a point of the search, but for the open operations used up.
type place[S comparable] struct {
	at     int32
	placed slots
	state  S
}

// point is a point of the search, and the next operation to try there.
type point[S comparable] struct {
	place[S]
	used slots
	next int32
}

// searchBudget bounds searches by steps, so that verdicts depend on the history alone, and lets
// them be called off.
type searchBudget struct {
	left int
	// bytes is what may still be remembered.
	bytes  int
	done   <-chan struct{}
	halted bool
}

func newSearchBudget(steps int, done <-chan struct{}) *searchBudget {
	return &searchBudget{left: steps, bytes: searchBytes, done: done}
}

// take is one step; false says that there are none left.
func (b *searchBudget) take() bool {
	if b.left <= 0 || b.halted {
		return false
	}
	if b.left--; b.left&0x3ff == 0 && b.done != nil {
		select {
		case <-b.done:
			b.halted = true
			return false
		default:
		}
	}
	return true
}

func (b *searchBudget) spent() bool { return b.left <= 0 || b.halted || b.bytes < 0 }

// Estimates of memory: what a search may remember, and what a point takes beside its state.
const (
	searchBytes = 1 << 30
	pointBytes  = 200
)

// sized is a state that takes memory worth counting.
type sized interface{ size() int }

// remember accounts for a point that is kept.
func (b *searchBudget) remember(state any) {
	b.bytes -= pointBytes
	if s, ok := state.(sized); ok {
		b.bytes -= s.size()
	}
}

// errTooWide says that more operations run at a time than the search can tell apart.
var errTooWide = fmt.Errorf("more than %d operations at a time", maxSlots)

// newSearch lays out the operations, which are in the order of their calls. The error is
// errTooWide.
func newSearch[S comparable](spec *Spec[S], p prepared[S], budget *searchBudget) (*search[S], error) {
	s := &search[S]{
		spec: spec, step: p.step, ops: p.ops, budget: budget,
		seen: map[place[S]][]slots{}, starts: []S{spec.Init},
		slot: make([]int32, len(p.ops)), twin: make([]int32, len(p.ops)),
	}
	for i, op := range s.ops {
		if op.Return == Open {
			s.open = append(s.open, int32(i))
		} else {
			s.returns = append(s.returns, int32(i))
		}
	}
	if len(s.open) > maxSlots {
		return nil, errTooWide
	}
	s.pairTwins()
	slices.SortStableFunc(s.returns, func(a, b int32) int { return cmp.Compare(s.ops[a].Return, s.ops[b].Return) })
	return s, s.layOut()
}

func (s *search[S]) pairTwins() {
	last := map[any]int32{}
	for n, i := range s.open {
		s.slot[i], s.twin[i] = int32(n), -1
		if s.spec.Alike == nil {
			continue
		}
		if like := s.spec.Alike(s.ops[i]); like != nil {
			if before, ok := last[like]; ok {
				s.twin[i] = before
			}
			last[like] = i
		}
	}
}

// layOut goes through the history once and notes what is under way at each return. An operation
// that is called at the very position at which another returns is concurrent with it.
func (s *search[S]) layOut() error {
	var free []int32
	for i := int32(maxSlots - 1); i >= 0; i-- {
		free = append(free, i)
	}
	var now []int32
	next, openNow := 0, int32(0)
	for _, r := range s.returns {
		for ; next < len(s.ops) && s.ops[next].Call <= s.ops[r].Return; next++ {
			op := s.ops[next]
			if op.Return == Open {
				openNow++
				continue
			}
			if len(free) == 0 {
				return errTooWide
			}
			s.slot[next] = free[len(free)-1]
			free = free[:len(free)-1]
			at, _ := slices.BinarySearchFunc(now, op.Return+1, func(i int32, ret uint64) int {
				return cmp.Compare(s.ops[i].Return, ret)
			})
			now = slices.Insert(now, at, int32(next))
		}
		at := slices.Index(now, r)
		s.pending = append(s.pending, append([]int32{r}, slices.Delete(slices.Clone(now), at, at+1)...))
		now = slices.Delete(now, at, at+1)
		free = append(free, s.slot[r])
		s.opened = append(s.opened, openNow)
	}
	return nil
}

// run reports whether there is a linearization. The answer is void if the budget is spent.
func (s *search[S]) run() bool {
	for _, start := range s.starts {
		if s.from(start) {
			return true
		}
	}
	return false
}

func (s *search[S]) from(start S) bool {
	stack := []point[S]{{place: place[S]{state: start}}}
	if s.advance(&stack[0]) {
		return true
	}
	if !s.fresh(&stack[0]) {
		return false
	}
	for len(stack) > 0 {
		child, ok := s.try(&stack[len(stack)-1])
		switch {
		case s.budget.spent():
			return false
		case !ok:
			stack = stack[:len(stack)-1]
		case s.advance(&child):
			return true
		case s.fresh(&child):
			stack = append(stack, child)
		}
	}
	return false
}

// try places the next operation that can be, after those tried before at the point. It reports
// false if there is none left.
func (s *search[S]) try(p *point[S]) (point[S], bool) {
	pending := s.pending[p.at]
	for {
		n := p.next
		p.next++
		var i int32
		child := *p
		switch opens := n - int32(len(pending)); {
		case opens < 0:
			i = pending[n]
			if p.placed.has(s.slot[i]) {
				continue
			}
			child.placed.set(s.slot[i])
		case opens < s.opened[p.at]:
			i = s.open[opens]
			if p.used.has(s.slot[i]) || s.twin[i] >= 0 && !p.used.has(s.slot[s.twin[i]]) {
				continue
			}
			child.used.set(s.slot[i])
		default:
			return child, false
		}
		if !s.budget.take() {
			return child, false
		}
		next, legal := s.step(p.state, s.ops[i])
		if !legal || s.ops[i].Return == Open && next == p.state {
			continue // an open operation that changes nothing may as well not happen
		}
		child.state, child.next = next, 0
		return child, true
	}
}

// advance places the reads that the state allows and takes the point past every return of an
// operation that it has placed. It reports whether that was the last one.
func (s *search[S]) advance(p *point[S]) (finished bool) {
	for int(p.at) < len(s.returns) {
		s.placeReads(p)
		slot := s.slot[s.returns[p.at]]
		if !p.placed.has(slot) {
			return false
		}
		p.placed.clear(slot)
		p.at++
		s.farthest = max(s.farthest, int(p.at))
	}
	return true
}

func (s *search[S]) placeReads(p *point[S]) {
	if s.spec.ReadOnly == nil {
		return
	}
	for _, i := range s.pending[p.at] {
		if p.placed.has(s.slot[i]) || !s.spec.ReadOnly(s.ops[i]) || !s.budget.take() {
			continue
		}
		if next, legal := s.step(p.state, s.ops[i]); legal {
			p.state = next
			p.placed.set(s.slot[i])
		}
	}
}

// fresh reports whether a point is worth searching: no earlier one stood at the same place with
// no more open operations used up.
func (s *search[S]) fresh(p *point[S]) bool {
	if s.reached != nil {
		s.reached[p.state] = true
	}
	before := s.seen[p.place]
	for _, used := range before {
		if used.within(p.used) {
			return false
		}
	}
	kept := before[:0]
	for _, used := range before {
		if !p.used.within(used) {
			kept = append(kept, used)
		}
	}
	s.seen[p.place] = append(kept, p.used)
	s.budget.remember(p.state)
	return true
}

var hashSeed = maphash.MakeSeed()

// stateHash only speeds comparisons up: nothing that is reported depends on it.
func stateHash[T comparable](state T) uint64 { return maphash.Comparable(hashSeed, state) }

// describeState is a state as pictures and messages show it.
func describeState(state any) string {
	if s, ok := state.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%v", state)
}
