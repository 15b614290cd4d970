package models

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// worst is the worst there is for the search: many clients at once write one of a few
// values, nobody ever looks, and at the end somebody reads what cannot be. Every subset of the
// operations under way leads to some value, and all must be ruled out.
func worst(clients, rounds int) *History {
	var ops []*Op
	at := uint64(1)
	for r := range rounds {
		for c := range clients {
			// Rounds overlap, so that there is never a moment when nothing is under way.
			ops = append(ops, did(c, at+uint64(c), at+uint64(clients+c)-1, KindWrite, Put{"", Int(int64((r*7 + c*3) % 11))}, nil))
		}
		at += uint64(clients)
	}
	at += uint64(clients)
	ops = append(ops, did(0, at, at+1, KindRead, Get{}, Found{"0"}), did(0, at+2, at+3, KindRead, Get{}, Found{"1"}))
	return historyOf(ops...)
}

func TestWorstHistoryEndsAtLimit(t *testing.T) {
	for _, bounds := range []Bounds{{Steps: 20_000}, {Steps: 1}, {Done: closedChannel()}} {
		j := Registers(worst(40, 20)).(Bounded).Bound(bounds).Judge()
		require.Equal(t, VerdictUnknown, j.Verdict)
		require.Equal(t, Limit, j.Violations[0].Oracle)
		require.Contains(t, j.Violations[0].Message, "could not judge 802 operations")
	}
	j := Registers(worst(6, 20)).Judge()
	require.Equal(t, VerdictFail, j.Verdict, "with fewer clients it is judged")
}

func closedChannel() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// More operations at a time than the search has room for go to Porcupine.
func TestWiderThanTheSearch(t *testing.T) {
	var ops []*Op
	for c := range maxSlots + 10 {
		ops = append(ops, did(c, uint64(c+1), 10_000+uint64(c), KindAppend, Append{"", Text(fmt.Sprintf("%03d", c))}, nil))
	}
	var text strings.Builder
	for c := range maxSlots + 10 {
		fmt.Fprintf(&text, "%03d", c)
	}
	ops = append(ops, did(0, 20_000, 20_001, KindGet, Get{}, Found{Text(text.String())}))
	require.Equal(t, VerdictPass, KV(historyOf(ops...)).Judge().Verdict)
	ops[len(ops)-1].Output = Found{Text("000" + text.String())}
	j := KV(historyOf(ops...)).(Bounded).Bound(Bounds{Steps: 10_000}).Judge()
	require.NotEqual(t, VerdictPass, j.Verdict)
	ops = ops[:len(ops)-1]
	j = KV(historyOf(ops...)).(Bounded).Bound(Bounds{Steps: 10}).Judge()
	require.Equal(t, VerdictUnknown, j.Verdict)
}

// Open operations whose value nobody saw don't cost anything, however many there are.
func TestManyUnknownOutcomes(t *testing.T) {
	var ops []*Op
	at := uint64(1)
	for n := range 2000 {
		ops = append(ops, lost(n, at, KindWrite, Put{"", Text("lost")}), lost(n, at+1, KindCAS, CompareAndSet{"", Text("lost"), Text("gone")}))
		ops = append(ops, did(-1, at+2, at+3, KindWrite, Put{"", Int(int64(n % 5))}, nil), did(-2, at+4, at+5, KindRead, Get{}, Found{Int(int64(n % 5))}))
		at += 6
	}
	h := historyOf(ops...)
	p := prepareCell(ops, &Spec[cell]{})
	require.Len(t, p.ops, 4000, "what nobody saw is gone")
	require.Equal(t, VerdictPass, CASRegisters(h).(Bounded).Bound(Bounds{Steps: 20_000}).Judge().Verdict)
	// Once somebody sees the last one's value, all that can have led to it matter again.
	ops[len(ops)-1].Output = Found{Text("gone")}
	p = prepareCell(ops, &Spec[cell]{})
	require.Greater(t, len(p.ops), 4000)
}

// A violation behind a long history is told by its last operations alone.
func TestWindowOfLongHistory(t *testing.T) {
	m := machines[2]
	h := m.play(seededChooser(3), 5, 3000, 1, 0)
	last := h.Ops()[h.Len()-1].Call + 1000
	ops := append(h.Ops(),
		did(90, last, last+1, KindPut, Put{"b", `"x"`}, nil),
		did(91, last+2, last+3, KindGet, Get{"b"}, Found{`"y"`}))
	for i, op := range ops {
		op.ID = i + 1
	}
	j := KV(&History{ops: ops}).Judge()
	require.Equal(t, VerdictFail, j.Verdict)
	require.Contains(t, j.Violations[0].Message, "client 91 get(b) = ok \"y\"")
	require.Contains(t, j.Violations[0].Message, "client 90 put(b, \"x\") = ok")
	require.Contains(t, j.Violations[0].Message, ", 2 of the object's ")
}

func TestPictures(t *testing.T) {
	draw := func(h *History) string {
		var page bytes.Buffer
		require.NoError(t, KV(h).(Visualizer).Visualize(&page))
		return page.String()
	}
	small := draw(readHistory(t, "kv", "testdata/recorded/kv-bad.edn"))
	require.Contains(t, small, `#5 client 0 get(a) = ok \"1\"`)
	require.Contains(t, small, "<html")

	// A long one is drawn around its violation.
	h := machines[2].play(seededChooser(3), 5, 2*pictureLimit, 1, 0)
	last := h.Ops()[h.Len()-1].Call + 1000
	ops := append(h.Ops(), did(91, last+2, last+3, KindGet, Get{"b"}, Found{`"nowhere"`}))
	for i, op := range ops {
		op.ID = i + 1
	}
	large := draw(&History{ops: ops})
	require.Contains(t, large, "nowhere")
	require.Less(t, strings.Count(large, "client"), 4*pictureLimit)
}
