package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// plainHolds is a state of the holds' specification written down plainly: with the shard's
// since in it, which may advance at any moment as far as the holds let it, expiring leased
// readers on its way.
type plainHolds struct {
	since   Frontier
	readers string // name=since or name=gone, sorted; a string so that states are comparable
	hold    Hold
	known   bool // the critical hold has been shown
}

func (p plainHolds) readerMap() map[string]string {
	m := map[string]string{}
	for _, part := range strings.Fields(p.readers) {
		name, value, _ := strings.Cut(part, "=")
		m[name] = value
	}
	return m
}

func (p plainHolds) with(name, value string) plainHolds {
	m := p.readerMap()
	m[name] = value
	var parts []string
	for _, n := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, n+"="+m[n])
	}
	p.readers = strings.Join(parts, " ")
	return p
}

const gone = "gone"

func parseFrontier(s string) Frontier {
	var f Frontier
	if err := f.UnmarshalJSON([]byte(s)); err != nil {
		panic(err)
	}
	return f
}

// advances are the states that the shard may have come to by itself.
func (p plainHolds) advances(times []Frontier) []plainHolds {
	out := []plainHolds{p}
	for _, to := range times {
		if !p.since.Less(to) || p.known && p.hold.Since.Less(to) {
			continue
		}
		next := p
		next.since = to
		for name, value := range p.readerMap() {
			if value != gone && parseFrontier(value).Less(to) {
				next = next.with(name, gone)
			}
		}
		out = append(out, next)
	}
	return out
}

func (p plainHolds) step(op *Op) []plainHolds {
	switch in := op.Input.(type) {
	case OpenReader:
		if op.Outcome != Ok {
			return []plainHolds{p}
		}
		since := op.Output.(Since).Since
		value, known := p.readerMap()[in.Reader]
		if known && value != since.String() || since.Less(p.since) {
			return nil
		}
		return []plainHolds{p.with(in.Reader, since.String())}

	case DowngradeSince:
		value, known := p.readerMap()[in.Reader]
		moved := in.Since
		if known && value != gone {
			moved = moved.Join(parseFrontier(value))
		}
		switch {
		case op.Outcome == Fail:
			return []plainHolds{p}
		case op.Outcome == Unknown && known && value != gone:
			return []plainHolds{p, p.with(in.Reader, moved.String())}
		case op.Outcome == Unknown:
			return []plainHolds{p}
		}
		since := op.Output.(Since).Since
		switch {
		case since.Empty && !in.Since.Empty:
			if in.Live {
				return nil
			}
			return []plainHolds{p.with(in.Reader, "[]")}
		case known && value == gone && !since.Empty, known && value != gone && since != moved, since.Less(moved), since.Less(p.since):
			return nil
		}
		return []plainHolds{p.with(in.Reader, since.String())}

	case OpenCritical:
		hold := op.Output.(Hold)
		if p.known && p.hold != hold || hold.Since.Less(p.since) {
			return nil
		}
		p.known, p.hold = true, hold
		return []plainHolds{p}

	case CompareAndDowngradeSince:
		swapped := p
		swapped.hold = Hold{in.New, p.hold.Since.Join(in.Since)}
		possible := p.known && p.hold.Opaque == in.Expected
		if op.Outcome == Unknown {
			if possible {
				return []plainHolds{p, swapped}
			}
			return []plainHolds{p}
		}
		switch out := op.Output.(type) {
		case Since:
			if !p.known {
				swapped.known, swapped.hold = true, Hold{in.New, out.Since}
				possible = !out.Since.Less(in.Since)
			}
			if possible && swapped.hold.Since == out.Since && !out.Since.Less(p.since) {
				return []plainHolds{swapped}
			}
			return nil
		case OpaqueMismatch:
			switch {
			case out.Actual == in.Expected:
				return nil
			case !p.known || p.hold.Opaque == out.Actual:
				return []plainHolds{p}
			case possible && out.Actual == in.New:
				return []plainHolds{swapped}
			}
			return nil
		}

	case Snapshot:
		switch out := op.Output.(type) {
		case LeaseExpired:
			if in.Live {
				return nil
			}
		case SinceError:
			value, known := p.readerMap()[in.Reader]
			own := At(0)
			if known && value != gone {
				own = parseFrontier(value)
			}
			if !out.Since.Beyond(in.AsOf) || known && in.Live && value != gone && !own.Beyond(in.AsOf) ||
				p.since.Less(out.Since) && own.Less(out.Since) {
				return nil
			}
			// What a reader that is gone held is not known to the model any more.
			if known && value == gone && in.Live {
				return nil
			}
		}
	}
	return []plainHolds{p}
}

func plainHoldsVerdict(h *History) porcupine.CheckResult {
	var times []Frontier
	for t := range uint64(64) {
		times = append(times, At(t))
	}
	times = append(times, Closed())
	used := map[Frontier]bool{}
	var ops []porcupine.Operation
	for _, op := range h.ops {
		switch out := op.Output.(type) {
		case SinceError:
			used[out.Since] = true
		}
		if (op.Kind == KindSnapshot && op.Outcome != Fail) || op.Kind == KindFetchUpper || op.Kind == KindCompareAndAppend {
			continue
		}
		call := op.Call
		if in, ok := op.Input.(Snapshot); ok && in.Live {
			call = op.Return // the lease is vouched for until the answer
		}
		ops = append(ops, porcupine.Operation{Input: op, Call: toPorcupineTime(call), Return: toPorcupineTime(op.Return)})
	}
	// Only sinces that somebody is told of can matter.
	times = slices.DeleteFunc(times, func(f Frontier) bool { return !used[f] })
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{plainHolds{}} },
		Step: func(state, input, _ any) []any {
			var next []any
			for _, s := range state.(plainHolds).advances(times) {
				for _, n := range s.step(input.(*Op)) {
					next = append(next, n)
				}
			}
			return next
		},
	}
	return porcupine.CheckOperationsTimeout(model.ToModel(), ops, 0)
}

// mutateHolds changes one answer about a hold, or one interval.
func mutateHolds(h *History, choose chooser) *History {
	out := copyHistory(h)
	var ours []*Op
	for _, op := range out.ops {
		if op.Kind != KindFetchUpper && op.Kind != KindCompareAndAppend && op.Outcome != Unknown && op.Output != nil {
			ours = append(ours, op)
		}
	}
	if len(ours) == 0 {
		return out
	}
	op := ours[choose(len(ours))]
	other := At(uint64(choose(8)))
	switch answer := op.Output.(type) {
	case Since:
		op.Output = Since{other}
	case SinceError:
		op.Output = SinceError{other}
	case Hold:
		op.Output = Hold{answer.Opaque, other}
		if choose.chance(2) {
			op.Output = Hold{uint64(choose(3)), answer.Since}
		}
	case OpaqueMismatch:
		op.Output = OpaqueMismatch{uint64(choose(3))}
	}
	switch choose(5) {
	case 0:
		op.Return = op.Call
	case 1:
		op.Call = op.Return
		out.inOrder()
	case 2:
		if op.Kind == KindDowngradeSince || op.Kind == KindCompareAndDowngradeSince {
			op.Outcome, op.Output, op.Return = Unknown, nil, Open
		}
	}
	return out
}

// listing shows a history in a failure.
func listing(h *History) string {
	var b strings.Builder
	for _, op := range h.ops {
		fmt.Fprintln(&b, op)
	}
	return b.String()
}

// requireHoldsAgreement holds the holds' specification, and what the chain knows of it, against
// the plain one. A refused swap may have taken effect and have been replaced again before its
// answer, which takes two moments; the plain model has but one for each operation, and is the
// stricter.
func requireHoldsAgreement(t require.TestingT, h *History) porcupine.CheckResult {
	shards, err := shardHistories(h)
	require.NoError(t, err)
	want := plainHoldsVerdict(h)
	verdict := porcupine.Ok
	for _, s := range shards {
		got := Linearizable{History: h}.search(holdOperations(s.holds))
		if h.Count(KindCompareAndDowngradeSince, Fail) == 0 || got == porcupine.Illegal {
			require.Equal(t, want, got, "%s", listing(h))
		}
		found, undecided := Linearizable{History: h}.judgeHolds(s)
		require.Empty(t, undecided)
		require.Equal(t, got, legal(found))
		require.NotContains(t, fmt.Sprint(found), "disagree")
		verdict = got
	}
	return verdict
}

func TestHoldsAgreeWithPlainModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := rapidChooser(t)
		h := generate(mixture{
			shards: 1, clients: 2 + choose(2), ops: 2 + choose(14), unknown: []int{0, 30}[choose(2)],
			tagged: true, holds: true, holdsOnly: true,
		}, choose)
		require.Equal(t, porcupine.Ok, requireHoldsAgreement(t, h), "valid by construction")
		for range 1 + choose(2) {
			h = mutateHolds(h, choose)
		}
		requireHoldsAgreement(t, h)
	})
}

func TestSeededHoldsAgreeWithPlainModel(t *testing.T) {
	var good, bad, errors int
	for seed := range uint64(3000) {
		choose := seededChooser(seed)
		h := generate(mixture{
			shards: 1, clients: 2 + choose(2), ops: 4 + choose(12), unknown: []int{0, 30}[choose(2)],
			tagged: true, holds: true, holdsOnly: true,
		}, choose)
		require.Equal(t, porcupine.Ok, requireHoldsAgreement(t, h), "seed %d: valid by construction\n%s", seed, listing(h))
		h = mutateHolds(h, choose)
		if requireHoldsAgreement(t, h) == porcupine.Ok {
			good++
		} else {
			bad++
		}
		for _, op := range h.ops {
			if _, ok := op.Output.(SinceError); ok {
				errors++
			}
		}
	}
	require.Greater(t, good, 300)
	require.Greater(t, bad, 300)
	require.Greater(t, errors, 300)
}
