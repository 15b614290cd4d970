package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// holdKind is what an operation does to, or shows of, what holds a shard's since back.
type holdKind uint8

const (
	// holdOpen shows the state of a hold, or creates it.
	holdOpen holdKind = iota
	// holdDowngrade moves a leased reader's hold up.
	holdDowngrade
	// holdExpired shows that a leased reader is gone.
	holdExpired
	// holdSwap moves a critical hold up and replaces its opaque value.
	holdSwap
	// holdRefused shows a critical hold's opaque value.
	holdRefused
	// holdMaybeSwap is the other half of a refused swap: see addCompareAndDowngrade.
	holdMaybeSwap
	// holdTooLate shows a lower bound of the shard's since.
	holdTooLate
	// holdEnd comes after everything else; see logStep.
	holdEnd
)

// holdEntry is an operation reduced to what the holds are concerned with.
type holdEntry struct {
	op        *Op
	kind      holdKind
	call, ret uint64
	// open: may take effect at any time after its call, or never.
	open bool

	holder   holderID
	expected uint64   // opaque value that a swap expects
	opaque   uint64   // opaque value that a swap leaves, or that an answer shows
	asked    Frontier // since that a downgrade or swap asks for
	since    Frontier // since that the answer shows
	live     bool     // the lease is vouched for
	broken   string   // as in logEntry
}

// holderID names a holder; "" stands for a fresh reader nobody else knows.
type holderID struct {
	id       string
	critical bool
}

func (h holderID) String() string {
	if h.critical {
		return "critical hold " + h.id
	}
	return "reader " + h.id
}

func compareHolders(a, b holderID) int {
	if a.critical != b.critical {
		if b.critical {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.id, b.id)
}

func (s *shardHistory) addHold(e *holdEntry) {
	e.call, e.ret = e.op.Call, e.op.Return
	if e.kind == holdTooLate {
		// Holds only move up, so an error that is right once stays right, and raises the floor
		// no earlier than it has to: the end of its interval is as good a place as any. A lease
		// that is vouched for is so until then.
		e.call = e.ret
	}
	s.holds = append(s.holds, e)
	if e.op.Outcome != Unknown {
		s.answered++
	}
}

// addSnapshotError records what a refused snapshot shows of the since.
func (s *shardHistory) addSnapshotError(op *Op, in Snapshot) error {
	reader := holderID{id: in.Reader}
	switch out := op.Output.(type) {
	case nil:
	case SinceError:
		broken := ""
		if !out.Since.Beyond(in.AsOf) {
			broken = fmt.Sprintf("it was refused as of %d because the since is %v, which is not past that time",
				in.AsOf, out.Since)
		}
		s.addHold(&holdEntry{
			op: op, kind: holdTooLate, holder: reader, since: out.Since.normal(),
			live: in.Live, broken: broken,
		})
	case LeaseExpired:
		if in.Live {
			s.addHold(&holdEntry{op: op, kind: holdTooLate, holder: reader, broken: expiredAlive})
		}
	default:
		return errOutput(op)
	}
	return nil
}

const expiredAlive = "its lease was reported expired while the workload knows it to be live"

// addOpenReader ignores unknown outcomes: what they did shows in the reader's first answer.
func (s *shardHistory) addOpenReader(op *Op, in OpenReader) error {
	if op.Outcome != Ok {
		return nil
	}
	out, ok := op.Output.(Since)
	if !ok {
		return errOutput(op)
	}
	s.addHold(&holdEntry{op: op, kind: holdOpen, holder: holderID{id: in.Reader}, since: out.Since.normal()})
	return nil
}

func (s *shardHistory) addDowngrade(op *Op, in DowngradeSince) error {
	e := &holdEntry{
		op: op, kind: holdDowngrade, holder: holderID{id: in.Reader},
		asked: in.Since.normal(), live: in.Live, open: op.Outcome == Unknown,
	}
	switch op.Outcome {
	case Fail:
		switch op.Output.(type) {
		case nil:
		case LeaseExpired:
			if in.Live {
				e.broken = expiredAlive
				s.addHold(e)
			}
		default:
			return errOutput(op)
		}
		return nil
	case Ok:
		out, ok := op.Output.(Since)
		if !ok {
			return errOutput(op)
		}
		e.since = out.Since.normal()
		if e.since.Empty && !e.asked.Empty {
			e.kind = holdExpired
			if in.Live {
				e.broken = expiredAlive
			}
		}
	}
	s.addHold(e)
	return nil
}

// addOpenCritical ignores unknown outcomes, like addOpenReader.
func (s *shardHistory) addOpenCritical(op *Op, in OpenCritical) error {
	if op.Outcome != Ok {
		return nil
	}
	out, ok := op.Output.(Hold)
	if !ok {
		return errOutput(op)
	}
	s.addHold(&holdEntry{
		op: op, kind: holdOpen, holder: holderID{in.ID, true},
		opaque: out.Opaque, since: out.Since.normal(),
	})
	return nil
}

// addCompareAndDowngrade splits a refused swap in two. The system retries a swap of which it
// does not know whether it went through, as if it could be repeated; then the retry may be
// refused because the first attempt had replaced the opaque value, or because somebody replaced
// it after that. So the swap may have taken effect, once, before the answer that shows the
// opaque value.
func (s *shardHistory) addCompareAndDowngrade(op *Op, in CompareAndDowngradeSince) error {
	e := &holdEntry{
		op: op, kind: holdSwap, holder: holderID{in.ID, true}, open: op.Outcome == Unknown,
		expected: in.Expected, opaque: in.New, asked: in.Since.normal(),
	}
	switch op.Outcome {
	case Fail:
		switch out := op.Output.(type) {
		case nil:
		case OpaqueMismatch:
			refused := &holdEntry{op: op, kind: holdRefused, holder: e.holder, opaque: out.Actual}
			if out.Actual == in.Expected {
				refused.broken = "it was refused because the opaque value was not what it expected, " +
					"and told that the value is just that"
			}
			s.addHold(refused)
			e.kind = holdMaybeSwap
			s.addHold(e)
		default:
			return errOutput(op)
		}
		return nil
	case Ok:
		out, ok := op.Output.(Since)
		if !ok {
			return errOutput(op)
		}
		e.since = out.Since.normal()
	}
	s.addHold(e)
	return nil
}

// hold is one holder's state.
type hold struct {
	holder holderID
	since  Frontier // [] once a leased reader has expired
	opaque uint64
}

// holdState is the holds object's state in the sequential specification. A holder that no
// answer has shown yet is absent, and its first answer is believed.
//
// The shard's own since is not in it: when leases run out, and when the shard takes notice, is
// the shard's business. All that clients can tell is bounds. Since errors bound it from below
// and it never goes back; holds that are certainly in force bound it from above. It can always
// be taken to be the lowest since that was ever shown, so the floor is all there is to keep.
type holdState struct {
	floor Frontier
	holds []hold // sorted by holder, never changed in place
	ended bool
}

func (s *holdState) find(id holderID) (hold, int, bool) {
	at, ok := slices.BinarySearchFunc(s.holds, id, func(h hold, id holderID) int {
		return compareHolders(h.holder, id)
	})
	if !ok {
		return hold{holder: id}, at, false
	}
	return s.holds[at], at, true
}

func (s *holdState) with(h hold) *holdState {
	_, at, known := s.find(h.holder)
	next := &holdState{floor: s.floor, ended: s.ended}
	if known {
		next.holds = slices.Clone(s.holds)
		next.holds[at] = h
		return next
	}
	next.holds = make([]hold, 0, len(s.holds)+1)
	next.holds = append(next.holds, s.holds[:at]...)
	next.holds = append(next.holds, h)
	next.holds = append(next.holds, s.holds[at:]...)
	return next
}

func (s *holdState) equal(t *holdState) bool {
	return s == t || s.floor == t.floor && s.ended == t.ended && slices.Equal(s.holds, t.holds)
}

func (s *holdState) hash() uint64 {
	sum := s.floor.T
	for _, h := range s.holds {
		sum = mix(sum, xxh3.HashString(h.holder.id), h.since.T, h.opaque)
	}
	return sum
}

func (s *holdState) String() string {
	parts := []string{"since at least " + s.floor.String()}
	for _, h := range s.holds {
		parts = append(parts, fmt.Sprintf("%v at %v", h.holder, h.since))
	}
	return strings.Join(parts, ", ")
}

// holdStep is the sequential specification of what holds a shard's since back:
//
//   - a hold only moves up; a downgrade leaves it at the later of what it was and what was
//     asked;
//   - a leased reader may expire at any moment, and then stays expired;
//   - a swap needs the expected opaque value;
//   - a since error shows a since that the shard has reached, or that the reader itself holds;
//   - the shard's since is never past a critical hold, nor past a leased one whose reader is
//     answered as one that is there, or is vouched for.
//
// Open operations are treated as in logStep. Placing one where it changes nothing is the same
// as never, so only the end allows that.
func holdStep(s *holdState, e *holdEntry) (bool, *holdState) {
	if e.broken != "" {
		return false, s
	}
	if e.kind == holdEnd {
		return true, &holdState{floor: s.floor, holds: s.holds, ended: true}
	}
	if e.open {
		if s.ended {
			return true, s
		}
		next := s.attempt(e)
		return next != nil, next
	}
	h, _, known := s.find(e.holder)
	switch e.kind {
	case holdOpen:
		if known && (h.since != e.since || h.opaque != e.opaque) || e.since.Less(s.floor) {
			return false, s
		}
		return true, s.with(hold{e.holder, e.since, e.opaque})

	case holdDowngrade:
		want := e.asked.Join(h.since)
		if s.passed(h, known) || known && want != e.since || e.since.Less(want) || e.since.Less(s.floor) {
			return false, s
		}
		return true, s.with(hold{holder: e.holder, since: e.since})

	case holdExpired:
		return true, s.with(hold{holder: e.holder, since: Closed()})

	case holdSwap:
		want := e.asked.Join(h.since)
		if known && (h.opaque != e.expected || want != e.since) || e.since.Less(want) || e.since.Less(s.floor) {
			return false, s
		}
		return true, s.with(hold{e.holder, e.since, e.opaque})

	case holdRefused:
		return !known || h.opaque == e.opaque, s

	case holdMaybeSwap:
		if next := s.attempt(e); next != nil {
			return true, next
		}
		return true, s
	}
	return s.tooLate(e, h, known)
}

// passed says whether the shard's since has gone past a hold. Then the hold was in force no
// more at that time, and as readers that are gone don't come back, it never is again.
func (s *holdState) passed(h hold, known bool) bool { return known && h.since.Less(s.floor) }

// attempt is the effect of an operation whose success nobody confirmed, nil if it has none.
func (s *holdState) attempt(e *holdEntry) *holdState {
	h, _, known := s.find(e.holder)
	if !known || s.passed(h, known) {
		return nil
	}
	after := hold{holder: e.holder, since: e.asked.Join(h.since)}
	if e.holder.critical {
		if h.opaque != e.expected {
			return nil
		}
		after.opaque = e.opaque
	}
	if after == h {
		return nil
	}
	return s.with(after)
}

// tooLate judges a since error.
func (s *holdState) tooLate(e *holdEntry, h hold, known bool) (bool, *holdState) {
	if known && !h.since.Less(e.since) {
		// The reader's own hold explains the error. A live reader's is in force.
		return !e.live || !s.passed(h, known), s
	}
	if known && e.live {
		return false, s
	}
	if !s.floor.Less(e.since) {
		return true, s
	}
	for _, other := range s.holds {
		if other.holder.critical && other.since.Less(e.since) {
			return false, s
		}
	}
	return true, &holdState{floor: e.since, holds: s.holds, ended: s.ended}
}
