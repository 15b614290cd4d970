package models

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"
)

// logNode is one time of a shard's log: an immutable chain from the newest time to the oldest.
// It carries the hash of the contents as of its time, so that a snapshot is checked without
// summing anything up, and the hash of the whole chain, so that two logs are compared in one
// step.
//
// Jump is an ancestor chosen so that any ancestor is found in O(log n) steps (Myers, "An
// applicative random-access stack", 1983): snapshots of old times stay cheap.
type logNode struct {
	ts         uint64
	sum        uint64
	chain      uint64
	prev, jump *logNode
	depth      int
}

// emptyLog ends every chain.
var emptyLog = func() *logNode {
	n := &logNode{}
	n.prev, n.jump = n, n
	return n
}()

func (n *logNode) with(d delta) *logNode {
	next := &logNode{
		ts: d.ts, sum: n.sum + d.sum, chain: mix(n.chain, d.ts, d.sum),
		prev: n, jump: n, depth: n.depth + 1,
	}
	if j := n.jump; n.depth-j.depth == j.depth-j.jump.depth {
		next.jump = j.jump
	}
	return next
}

// sumAt is the hash of the contents as of a time.
func (n *logNode) sumAt(asOf uint64) uint64 {
	for n.depth > 0 && n.ts > asOf {
		if n.jump.depth > 0 && n.jump.ts > asOf {
			n = n.jump
		} else {
			n = n.prev
		}
	}
	return n.sum
}

// mix folds values into a hash, in order.
func mix(values ...uint64) uint64 {
	var buf [8 * 4]byte
	b := buf[:0]
	for _, v := range values {
		for i := range 8 {
			b = append(b, byte(v>>(8*i)))
		}
	}
	return xxh3.Hash(b)
}

// logState is the log object's state in the sequential specification.
type logState struct {
	upper Frontier
	log   *logNode
	// reads is how many entries that show this upper have been placed since it was reached.
	reads int
	// ended is set once every operation with an end is placed.
	ended bool
}

func newLogState() *logState { return &logState{log: emptyLog} }

func (s *logState) equal(t *logState) bool {
	return s == t || s.upper == t.upper && s.reads == t.reads && s.ended == t.ended && s.log.chain == t.log.chain
}

// hash is equal for equal states, as Porcupine needs.
func (s *logState) hash() uint64 { return s.log.chain ^ s.upper.T*0x9e3779b97f4a7c15 }

func (s *logState) String() string {
	return fmt.Sprintf("upper %v, %d times written, contents %016x", s.upper, s.log.depth, s.log.sum)
}

// logStep is the sequential specification of a shard's log:
//
//   - an append from e to n is acknowledged only when the upper is e; it leaves it at n;
//   - an answer that tells an upper tells the upper;
//   - a snapshot as of a is answered only when a < upper, with the sum of all updates at times
//     <= a.
//
// An open append has two possible effects, and still needs no nondeterministic model. Its
// interval never ends, so "never took effect" is the same as being placed after everything that
// could have noticed. Where that is, the end entry marks: it is called after every return and
// returns before the open ones. Before it an open append may be placed only by taking effect;
// after it, freely. So the search branches on nothing but "now or later".
//
// Turns (see arrange) keep it from trying orders that differ in nothing.
func logStep(s *logState, e *logEntry) (bool, *logState) {
	if e.broken != "" {
		return false, s
	}
	switch e.kind {
	case logUpper:
		if s.upper != e.upper || s.reads != e.turn {
			return false, s
		}
		return true, &logState{upper: s.upper, log: s.log, reads: s.reads + 1, ended: s.ended}
	case logSnapshot:
		return s.upper.Beyond(e.asOf) && s.log.sumAt(e.asOf) == e.sum, s
	case logEnd:
		return true, &logState{upper: s.upper, log: s.log, ended: true}
	}
	if e.open && s.ended {
		return true, s
	}
	if s.upper != e.from || s.reads != e.turn {
		return false, s
	}
	next := &logState{upper: e.to, log: s.log}
	for _, d := range e.deltas {
		next.log = next.log.with(d)
	}
	return true, next
}

// arrange returns the log with what makes Porcupine's search of it nearly free of choices. Of
// orders that differ only in what nobody can tell apart it leaves one:
//
//   - The upper never comes back to where it was. So the entries that show an upper all come
//     between two appends, where they and snapshots can change places: they take turns by their
//     calls, an order that agrees with every order of their intervals. The append that leaves
//     the upper takes its turn after the last of them, since none could follow.
//   - A snapshot that is right once stays right, so it is placed at the end of its interval.
func arrange(log []*logEntry) []*logEntry {
	out := make([]*logEntry, len(log))
	turns := map[Frontier]int{}
	for i, e := range byCall(log) {
		c := *e
		switch e.kind {
		case logUpper:
			c.turn = turns[e.upper]
			turns[e.upper]++
		case logSnapshot:
			c.call = c.ret
		}
		out[i] = &c
	}
	for _, e := range out {
		if e.kind == logAppend {
			e.turn = turns[e.from]
		}
	}
	return out
}

func byCall(log []*logEntry) []*logEntry {
	sorted := slices.Clone(log)
	slices.SortStableFunc(sorted, func(a, b *logEntry) int { return cmp.Compare(a.call, b.call) })
	return sorted
}
