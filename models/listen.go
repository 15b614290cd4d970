package models

import (
	"cmp"
	"fmt"
	"slices"
)

// OracleListen is the name of [Listens].
const OracleListen = "persist/listen"

// KindListen: a listener waits for the next batch; input [Listen]. Ok: [ListenBatch]. Fail:
// [SinceError], [LeaseExpired].
const KindListen = "listen"

// Listen asks a listener for what comes next.
type Listen struct {
	Shard    string `json:"shard"`
	Listener string `json:"listener"`
	// AsOf is the time after which the listener began: it is to yield every update later.
	AsOf uint64 `json:"as_of"`
	// From is the progress so far: what lies before it was yielded by earlier calls. At the
	// first call it is the frontier after AsOf.
	From Frontier `json:"from"`
}

func (l Listen) String() string {
	return fmt.Sprintf("(shard %s, listener %s as of %d, from %v)", l.Shard, l.Listener, l.AsOf, l.From)
}

// ListenBatch is the answer to [Listen]: all updates from the progress so far to Progress.
type ListenBatch struct {
	Updates  []Update `json:"updates,omitempty"`
	Progress Frontier `json:"progress"`
}

func (b ListenBatch) String() string {
	return fmt.Sprintf("%d updates, progress %v", len(b.Updates), b.Progress)
}

// Listens is the oracle persist/listen: a listener that began as of a yields every update of its
// shard later than a exactly once, at its own time, and in the batch whose bounds hold that time.
//
// What must be there is told by the appends of the same history: every update of an acknowledged
// append, none of an append that failed, and all or none, the same for all listeners, of an append
// whose outcome is unknown.
type Listens struct {
	History *History
}

// Name is persist/listen.
func (l Listens) Name() string { return OracleListen }

// Judge judges every shard.
func (l Listens) Judge() Judgement {
	shards := map[string]*listenedShard{}
	var order []string
	shard := func(name string) *listenedShard {
		if shards[name] == nil {
			shards[name] = &listenedShard{name: name, owners: map[rowAt][]*listenedAppend{}, reached: map[string]*Op{}}
			order = append(order, name)
		}
		return shards[name]
	}
	var found []Violation
	for _, op := range l.History.Ops() {
		switch in := op.Input.(type) {
		case CompareAndAppend:
			shard(in.Shard).addAppend(op, in)
		case Listen:
			s := shard(in.Shard)
			switch out := op.Output.(type) {
			case ListenBatch:
				s.batches = append(s.batches, listenedBatch{op, in, out})
			case nil, SinceError, LeaseExpired:
			default:
				found = append(found, violation(OracleListen, in.Shard, op, "%v", errOutput(op)))
			}
		}
	}
	slices.Sort(order)
	judged := 0
	for _, name := range order {
		s := shards[name]
		judged += len(s.batches)
		found = append(found, s.judge()...)
	}
	return judge(l.Name(), judged, found, nil)
}

// rowAt is an update without its diff.
type rowAt struct {
	data string
	ts   uint64
}

// listenedAppend is an append as far as listeners are concerned.
type listenedAppend struct {
	op   *Op
	diff map[rowAt]int64
	// seen and missed are the first batches that showed, or ought to have shown, an update of it.
	seen, missed *Op
}

type listenedBatch struct {
	op  *Op
	in  Listen
	out ListenBatch
}

type listenedShard struct {
	name    string
	owners  map[rowAt][]*listenedAppend
	rows    []rowAt // the keys of owners, by time
	batches []listenedBatch
	reached map[string]*Op // each listener's latest batch
}

func (s *listenedShard) addAppend(op *Op, in CompareAndAppend) {
	a := &listenedAppend{op: op, diff: map[rowAt]int64{}}
	for _, u := range in.Updates {
		a.diff[rowAt{u.Data, u.TS}] += u.Diff
	}
	for _, u := range in.Updates {
		at := rowAt{u.Data, u.TS}
		if owners := s.owners[at]; a.diff[at] == 0 || len(owners) > 0 && owners[len(owners)-1] == a {
			continue
		}
		if len(s.owners[at]) == 0 {
			s.rows = append(s.rows, at)
		}
		s.owners[at] = append(s.owners[at], a)
	}
}

func (s *listenedShard) judge() []Violation {
	slices.SortFunc(s.rows, func(a, b rowAt) int { return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.data, b.data)) })
	slices.SortStableFunc(s.batches, func(a, b listenedBatch) int { return cmp.Compare(a.op.Return, b.op.Return) })
	var found []Violation
	for _, b := range s.batches {
		found = append(found, s.judgeBatch(b)...)
	}
	return found
}

func (s *listenedShard) judgeBatch(b listenedBatch) (found []Violation) {
	object := func(format string, args ...any) {
		found = append(found, violation(OracleListen, s.name, b.op, "%v %s", b.op, fmt.Sprintf(format, args...)))
	}
	if !b.in.From.Less(b.out.Progress) {
		object("made no progress: it was at %v before", b.in.From)
	}
	if last := s.reached[b.in.Listener]; last != nil {
		if at := last.Output.(ListenBatch).Progress; at != b.in.From {
			object("does not begin where the listener's last batch ended, at %v", at)
		}
	} else if b.in.From != after(b.in.AsOf) {
		object("is the listener's first and does not begin right after %d", b.in.AsOf)
	}
	s.reached[b.in.Listener] = b.op

	yielded := map[rowAt]int64{}
	var order []rowAt
	for _, u := range b.out.Updates {
		at := rowAt{u.Data, u.TS}
		if b.in.From.Beyond(u.TS) || !b.out.Progress.Beyond(u.TS) {
			object("yields %s at time %d, which is outside of its bounds", quoteRow(u.Data), u.TS)
			continue
		}
		if _, ok := yielded[at]; !ok {
			order = append(order, at)
		}
		yielded[at] += u.Diff
	}
	for _, at := range order {
		if len(s.owners[at]) == 0 && yielded[at] != 0 {
			object("yields %s at time %d, which nobody appended there", quoteRow(at.data), at.ts)
		}
	}
	first, _ := slices.BinarySearchFunc(s.rows, b.in.From.T, func(r rowAt, t uint64) int { return cmp.Compare(r.ts, t) })
	for _, at := range s.rows[first:] {
		if !b.out.Progress.Beyond(at.ts) {
			break
		}
		if message := judgeRow(at, s.owners[at], yielded[at], b.op); message != "" {
			object("%s", message)
		}
	}
	return found
}

// judgeRow compares how often a batch yields a row with the appends that have it. Rows of several
// open appends can't be told apart, and are left to the oracles of snapshots.
func judgeRow(at rowAt, owners []*listenedAppend, got int64, batch *Op) string {
	var sure int64
	var open []*listenedAppend
	for _, a := range owners {
		switch a.op.Outcome {
		case Ok:
			sure += a.diff[at]
		case Unknown:
			open = append(open, a)
		}
	}
	row := fmt.Sprintf("%s at time %d", quoteRow(at.data), at.ts)
	switch {
	case len(open) > 1:
		return ""
	case len(open) == 0 && got == sure:
		return ""
	case len(open) == 0 && len(owners) == 1 && sure != 0 && got == 0:
		return fmt.Sprintf("leaves out %s, which was acknowledged: %v", row, owners[0].op)
	case len(open) == 0 && sure == 0:
		return fmt.Sprintf("yields %s, which was refused: %v", row, owners[0].op)
	case len(open) == 0:
		return fmt.Sprintf("yields %s %d times; appended were %d: %v", row, got, sure, owners[0].op)
	}
	a := open[0]
	switch got {
	case sure:
		if a.missed == nil {
			a.missed = batch
		}
	case sure + a.diff[at]:
		if a.seen == nil {
			a.seen = batch
		}
	default:
		return fmt.Sprintf("yields %s %d times; appended were %d, or %d if %v took effect", row, got, sure, sure+a.diff[at], a.op)
	}
	if a.seen != nil && a.missed != nil {
		return fmt.Sprintf("tears apart %v: it is all or nothing, and %v shows some of it while %v leaves some out", a.op, a.seen, a.missed)
	}
	return ""
}
