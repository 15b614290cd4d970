package models

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// logKind is what an operation does to, or shows of, a shard's log: its upper and contents.
type logKind uint8

const (
	// logAppend moves the upper from one frontier to a later one, with updates.
	logAppend logKind = iota
	// logUpper shows that the upper was a certain frontier during the operation. Fetching the
	// upper does, and so do a mismatch and an acknowledged append from a frontier to itself.
	logUpper
	// logSnapshot shows the contents as of a time that the upper has passed.
	logSnapshot
	// logEnd comes after everything else; see logStep.
	logEnd
)

// logEntry is an operation reduced to what the log is concerned with.
type logEntry struct {
	op        *Op
	kind      logKind
	call, ret uint64

	// Of logAppend. An open one may take effect at any time after its call, or never.
	open     bool
	from, to Frontier
	updates  []Update
	deltas   []delta

	upper Frontier // of logUpper

	// Of logSnapshot: what was read, sorted, and its hash.
	asOf uint64
	rows []Row
	sum  uint64

	// turn is how many entries that show the same upper go before; see arrange.
	turn int

	// broken says why the answer is wrong whatever the shard's state; "" mostly.
	broken string
}

// delta is the share of an append's updates at one time in the hash of contents.
type delta struct {
	ts  uint64
	sum uint64
}

// deltasOf groups updates by time, ascending. Times whose updates cancel out are left out.
func deltasOf(updates []Update) []delta {
	if len(updates) == 0 {
		return nil
	}
	all := make([]delta, len(updates))
	for i, u := range updates {
		all[i] = delta{u.TS, rowSum(u.Data, u.Diff)}
	}
	slices.SortStableFunc(all, func(a, b delta) int { return cmp.Compare(a.ts, b.ts) })
	kept := all[:0]
	for i := 0; i < len(all); {
		d := all[i]
		for i++; i < len(all) && all[i].ts == d.ts; i++ {
			d.sum += all[i].sum
		}
		if d.sum != 0 {
			kept = append(kept, d)
		}
	}
	return kept
}

// sumAt is the append's share in the hash of contents as of a time.
func (e *logEntry) sumAt(asOf uint64) uint64 {
	var sum uint64
	for _, d := range e.deltas {
		if d.ts > asOf {
			break
		}
		sum += d.sum
	}
	return sum
}

// shardHistory is a history's operations on one shard, apart for its two independent objects.
// The log (upper and contents) and the holds (since) share no operation, and linearizability is
// local (Herlihy and Wing, 1990): the shard is linearizable exactly if both are.
type shardHistory struct {
	shard string
	log   []*logEntry
	holds []*holdEntry
	// all lists every operation on the shard.
	all []*Op
	// answered counts the operations with a definite answer that says something.
	answered int
}

// shardHistories sorts a history's shard operations by shard. Operations of other kinds are
// left alone. The error says which operation was recorded with types its kind does not take.
func shardHistories(h *History) ([]*shardHistory, error) {
	shards := map[string]*shardHistory{}
	for _, op := range h.ops {
		name, ours, err := shardOf(op)
		if err != nil {
			return nil, err
		}
		if !ours {
			continue
		}
		s := shards[name]
		if s == nil {
			s = &shardHistory{shard: name}
			shards[name] = s
		}
		s.all = append(s.all, op)
		if err := s.add(op); err != nil {
			return nil, err
		}
	}
	var out []*shardHistory
	for _, name := range slices.Sorted(maps.Keys(shards)) {
		out = append(out, shards[name])
	}
	return out, nil
}

// shardOf says which shard an operation is on, if it is a shard operation at all.
func shardOf(op *Op) (shard string, ours bool, err error) {
	mistyped := func(want any) (string, bool, error) {
		return "", true, fmt.Errorf("operation #%d of kind %s has an input of type %T; record it with %T",
			op.ID, op.Kind, op.Input, want)
	}
	switch op.Kind {
	case KindCompareAndAppend:
		if in, ok := op.Input.(CompareAndAppend); ok {
			return in.Shard, true, nil
		}
		return mistyped(CompareAndAppend{})
	case KindFetchUpper:
		if in, ok := op.Input.(FetchUpper); ok {
			return in.Shard, true, nil
		}
		return mistyped(FetchUpper{})
	case KindSnapshot:
		if in, ok := op.Input.(Snapshot); ok {
			return in.Shard, true, nil
		}
		return mistyped(Snapshot{})
	case KindOpenReader:
		if in, ok := op.Input.(OpenReader); ok {
			return in.Shard, true, nil
		}
		return mistyped(OpenReader{})
	case KindDowngradeSince:
		if in, ok := op.Input.(DowngradeSince); ok {
			return in.Shard, true, nil
		}
		return mistyped(DowngradeSince{})
	case KindOpenCritical:
		if in, ok := op.Input.(OpenCritical); ok {
			return in.Shard, true, nil
		}
		return mistyped(OpenCritical{})
	case KindCompareAndDowngradeSince:
		if in, ok := op.Input.(CompareAndDowngradeSince); ok {
			return in.Shard, true, nil
		}
		return mistyped(CompareAndDowngradeSince{})
	}
	return "", false, nil
}

// errOutput says that an operation's output is none its kind and outcome allow.
func errOutput(op *Op) error {
	if op.Output == nil {
		return fmt.Errorf("operation #%d of kind %s has outcome %s without an output; record what it was answered with",
			op.ID, op.Kind, op.Outcome)
	}
	return fmt.Errorf("operation #%d of kind %s has outcome %s with an output of type %T, which the kind does not have",
		op.ID, op.Kind, op.Outcome, op.Output)
}

func (s *shardHistory) add(op *Op) error {
	switch in := op.Input.(type) {
	case CompareAndAppend:
		return s.addAppend(op, in)
	case FetchUpper:
		if op.Outcome != Ok {
			return nil
		}
		out, ok := op.Output.(Upper)
		if !ok {
			return errOutput(op)
		}
		s.addUpper(op, out.Upper, "")
	case Snapshot:
		return s.addSnapshot(op, in)
	case OpenReader:
		return s.addOpenReader(op, in)
	case DowngradeSince:
		return s.addDowngrade(op, in)
	case OpenCritical:
		return s.addOpenCritical(op, in)
	case CompareAndDowngradeSince:
		return s.addCompareAndDowngrade(op, in)
	}
	return nil
}

func (s *shardHistory) addLog(e *logEntry) {
	e.call, e.ret = e.op.Call, e.op.Return
	s.log = append(s.log, e)
	if e.op.Outcome != Unknown {
		s.answered++
	}
}

func (s *shardHistory) addUpper(op *Op, upper Frontier, broken string) {
	s.addLog(&logEntry{op: op, kind: logUpper, upper: upper.normal(), broken: broken})
}

func (s *shardHistory) addAppend(op *Op, in CompareAndAppend) error {
	in.Expected, in.New = in.Expected.normal(), in.New.normal()
	misuse := in.Misuse()
	if op.Outcome == Fail {
		switch out := op.Output.(type) {
		case nil, InvalidUsage:
		case UpperMismatch:
			broken := ""
			if out.Current.normal() == in.Expected {
				broken = "it was refused because the upper was not what it expected, and told that the upper is just that"
			}
			s.addUpper(op, out.Current, broken)
		default:
			return errOutput(op)
		}
		return nil
	}
	if op.Outcome == Ok && op.Output != nil {
		return errOutput(op)
	}
	switch {
	case op.Outcome == Ok && misuse != "":
		s.addUpper(op, in.Expected, "it was acknowledged although "+misuse)
	case in.Expected == in.New || misuse != "":
		// From a frontier to itself nothing changes; if acknowledged, the upper was seen. A
		// request that breaks the bounds never takes effect.
		if op.Outcome == Ok {
			s.addUpper(op, in.Expected, "")
		}
	default:
		s.addLog(&logEntry{
			op: op, kind: logAppend, open: op.Outcome == Unknown,
			from: in.Expected, to: in.New, updates: in.Updates, deltas: deltasOf(in.Updates),
		})
	}
	return nil
}

func (s *shardHistory) addSnapshot(op *Op, in Snapshot) error {
	switch {
	case op.Outcome == Unknown:
		return nil
	case op.Outcome == Fail:
		return s.addSnapshotError(op, in)
	}
	out, ok := op.Output.(Contents)
	if !ok {
		return errOutput(op)
	}
	rows := out.Rows
	if !rowsAreSorted(rows) {
		rows = sortedRows(rows)
	}
	s.addLog(&logEntry{op: op, kind: logSnapshot, asOf: in.AsOf, rows: rows, sum: rowsSum(rows)})
	return nil
}

// toPorcupineTime keeps open operations after everything, and everything below them apart.
func toPorcupineTime(at uint64) int64 {
	if at == Open {
		return math.MaxInt64
	}
	return int64(at)
}
