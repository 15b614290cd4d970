package models

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// fates says of each append that was open what evidence made of it: "in by N" with the position
// by which it took effect, "out", or "open".
func fates(t *testing.T, r *recording) map[int]string {
	log := r.log(t)
	out := map[int]string{}
	for _, e := range log {
		if e.open {
			out[e.op.ID] = "out"
		}
	}
	for _, e := range closeByEvidence(log) {
		if _, ok := out[e.op.ID]; !ok {
			continue
		}
		out[e.op.ID] = "open"
		if !e.open {
			out[e.op.ID] = fmt.Sprintf("in by %d", e.ret)
		}
	}
	return out
}

func TestEvidence(t *testing.T) {
	a, b := Update{"a", 0, 1}, Update{"b", 3, 1}
	for _, c := range []struct {
		name   string
		record func(r *recording)
		want   map[int]string
	}{
		{"nobody noticed", func(r *recording) {
			r.append(1, 0, 5, Unknown, nil, a)
			r.upper(2, At(0))
		}, map[int]string{1: "open"}},

		{"read back, by the earliest snapshot that had to show it", func(r *recording) {
			r.append(1, 0, 5, Unknown, nil, a)
			r.snapshot(2, 4, Row{"a", 1}) // returns at 4
			r.snapshot(2, 0, Row{"a", 1})
		}, map[int]string{1: "in by 4"}},

		{"a row that comes and goes is bounded by the snapshot that showed it alone", func(r *recording) {
			r.append(1, 0, 5, Unknown, nil, a, Update{"a", 2, -1})
			r.snapshot(2, 4)
			r.snapshot(2, 1, Row{"a", 1}) // returns at 6
		}, map[int]string{1: "in by 6"}},

		{"not read back", func(r *recording) {
			r.append(1, 0, 5, Unknown, nil, a)
			r.append(2, 0, 4, Ok, nil)
			r.snapshot(2, 0)
		}, map[int]string{1: "out"}},

		{"a snapshot of an earlier time shows nothing of it", func(r *recording) {
			r.append(1, 0, 5, Unknown, nil, b)
			r.snapshot(2, 2)
		}, map[int]string{1: "open"}},

		{"rows that two appends have prove nothing", func(r *recording) {
			r.append(1, 0, 5, Unknown, nil, a)
			r.append(2, 0, 4, Unknown, nil, a)
			r.snapshot(2, 3, Row{"a", 1})
		}, map[int]string{1: "open", 2: "open"}},

		{"its upper was used by an acknowledged append", func(r *recording) {
			r.append(1, 0, 5, Unknown, nil)
			r.append(2, 0, 4, Ok, nil)
		}, map[int]string{1: "out"}},

		{"it starts inside an acknowledged append", func(r *recording) {
			r.append(1, 3, 5, Unknown, nil)
			r.append(2, 0, 4, Ok, nil)
		}, map[int]string{1: "out"}},

		{"an upper inside it was seen", func(r *recording) {
			r.append(1, 0, 5, Unknown, nil)
			r.append(3, 0, 3, Unknown, nil)
			r.upper(2, At(3)) // returns at 6
		}, map[int]string{1: "out", 2: "in by 6"}},

		{"only it leads to an upper that was seen, and so on before it", func(r *recording) {
			r.append(1, 0, 2, Unknown, nil)
			r.append(2, 2, 5, Unknown, nil)
			r.append(3, 2, 4, Unknown, nil)
			r.append(4, 9, 9, Fail, UpperMismatch{At(5)}) // returns at 8
		}, map[int]string{1: "in by 8", 2: "in by 8", 3: "out"}},

		{"two lead to the upper that was seen", func(r *recording) {
			r.append(1, 0, 5, Unknown, nil)
			r.append(2, 3, 5, Unknown, nil)
			r.upper(2, At(5))
		}, map[int]string{1: "open", 2: "open"}},

		{"of those that nobody can tell apart the first called stays", func(r *recording) {
			r.append(1, 0, 5, Unknown, nil)
			r.append(2, 0, 5, Unknown, nil, b)
			r.append(3, 0, 6, Unknown, nil)
		}, map[int]string{1: "open", 2: "out", 3: "open"}},

		{"an upper seen before its call does not turn its interval round", func(r *recording) {
			r.upper(2, At(5))
			r.append(1, 0, 5, Unknown, nil)
		}, map[int]string{2: "in by 3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRecording()
			c.record(r)
			require.Equal(t, c.want, fates(t, r))
			requireAgreement(t, r.History)
		})
	}
}

// TestEvidenceLeavesLittleOpen: that is what it is for.
func TestEvidenceLeavesLittleOpen(t *testing.T) {
	h := generate(mixture{shards: 1, clients: 5, ops: 2000, unknown: 20, tagged: true}, seededChooser(5))
	shards, err := shardHistories(h)
	require.NoError(t, err)
	isOpen := func(e *logEntry) bool { return e.open }
	before := len(slices.DeleteFunc(slices.Clone(shards[0].log), func(e *logEntry) bool { return !isOpen(e) }))
	after := len(slices.DeleteFunc(closeByEvidence(shards[0].log), func(e *logEntry) bool { return !isOpen(e) }))
	require.Greater(t, before, 100)
	require.Less(t, after, before/20)
}
