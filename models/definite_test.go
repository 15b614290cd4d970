package models

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStrictSince(t *testing.T) {
	record := func(callAfter bool) *History {
		r := newRecording()
		r.append(1, 0, 9, Ok, nil)
		snapshot := func() Token { return r.begin(2, KindSnapshot, Snapshot{Shard: "s", AsOf: 2}) }
		var served Token
		if !callAfter {
			served = snapshot()
		}
		r.end(r.begin(3, KindSnapshot, Snapshot{Shard: "s", AsOf: 2}), Fail, SinceError{At(5)})
		if callAfter {
			served = snapshot()
		}
		r.end(served, Ok, Contents{})
		return r.History
	}
	require.Equal(t, VerdictPass, Definite{History: record(true)}.Judge().Verdict, "cached state may serve it")
	require.Equal(t, VerdictPass, Definite{History: record(false), StrictSince: true}.Judge().Verdict, "concurrent")
	j := Definite{History: record(true), StrictSince: true}.Judge()
	require.Equal(t, VerdictFail, j.Verdict)
	require.Contains(t, j.Violations[0].Message, "was served although the since was at [5] or later")
}

func TestSnapshotsAreComparedAcrossTheWholeRun(t *testing.T) {
	r := newRecording()
	r.append(1, 0, 9, Ok, nil, Update{"a", 0, 1})
	r.snapshot(2, 3, Row{"a", 1})
	for range 50 {
		r.snapshot(3, 4, Row{"a", 1})
	}
	require.Equal(t, VerdictPass, Definite{History: r.History}.Judge().Verdict)
	r.snapshot(2, 3)
	j := Definite{History: r.History}.Judge()
	require.Equal(t, VerdictFail, j.Verdict)
	require.Len(t, j.Violations, 1)
	require.Contains(t, j.Violations[0].Message, `two snapshots as of 3 differ: compared with #2 client 2`)
	require.Contains(t, j.Violations[0].Message, `1 missing: "a"`)
}

func TestSnapshotsMustBeConsolidated(t *testing.T) {
	for want, rows := range map[string][]Row{
		`row "b" comes with a count of 0`: {{"a", 1}, {"b", 0}},
		`row "a" comes more than once`:    {{"a", 1}, {"b", 1}, {"a", 1}},
	} {
		r := newRecording()
		r.append(1, 0, 9, Ok, nil)
		r.snapshot(2, 3, rows...)
		j := Definite{History: r.History}.Judge()
		require.Equal(t, VerdictFail, j.Verdict)
		require.Contains(t, j.Violations[0].Message, want)
	}
}

func TestRegressionsAreInRealTime(t *testing.T) {
	r := newRecording()
	slow := r.begin(1, KindFetchUpper, FetchUpper{"s"})
	r.append(2, 0, 9, Ok, nil)
	r.end(slow, Ok, Upper{At(0)})
	require.Equal(t, VerdictPass, Definite{History: r.History}.Judge().Verdict, "called before the append returned")

	// A call at the position of a return is concurrent with it.
	h := NewHistory()
	a := h.Begin(1, KindCompareAndAppend, CompareAndAppend{Shard: "s", New: At(9)}, 1, 0)
	h.End(a, Ok, nil, 2, 0)
	b := h.Begin(2, KindFetchUpper, FetchUpper{"s"}, 2, 0)
	h.End(b, Ok, Upper{At(0)}, 3, 0)
	require.Equal(t, VerdictPass, Definite{History: h}.Judge().Verdict)
	require.Equal(t, VerdictPass, Linearizable{History: h}.Judge().Verdict)
	c := h.Begin(2, KindFetchUpper, FetchUpper{"s"}, 3, 0)
	h.End(c, Ok, Upper{At(0)}, 4, 0)
	require.Equal(t, VerdictFail, Definite{History: h}.Judge().Verdict)
	require.Equal(t, VerdictFail, Linearizable{History: h}.Judge().Verdict)
}

// TestSnapshotShowsUpper: one as of the last time there is needs a closed shard.
func TestSnapshotShowsUpper(t *testing.T) {
	r := newRecording()
	r.end(r.begin(1, KindCompareAndAppend, CompareAndAppend{Shard: "s", New: Closed()}), Unknown, nil)
	r.snapshot(2, math.MaxUint64)
	r.upper(2, Closed())
	require.Equal(t, VerdictPass, Definite{History: r.History}.Judge().Verdict)
	r.upper(2, At(math.MaxUint64))
	j := Definite{History: r.History}.Judge()
	require.Equal(t, VerdictFail, j.Verdict)
	require.Contains(t, j.Violations[0].Message, "the upper went back: it was at [] or later")
}
