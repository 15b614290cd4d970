package models

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// listen records that a listener as of 0 of shard s got a batch.
func (r *recording) listen(listener string, from, to uint64, updates ...Update) {
	t := r.begin(9, KindListen, Listen{Shard: "s", Listener: listener, From: At(from)})
	r.end(t, Ok, ListenBatch{Updates: updates, Progress: At(to)})
}

func TestListens(t *testing.T) {
	a, b, c := Update{"a", 1, 1}, Update{"b", 2, 1}, Update{"c", 5, 2}
	for name, test := range map[string]struct {
		listen func(r *recording)
		want   string // "" if there is no objection
	}{
		"as appended":       {func(r *recording) { r.listen("l", 1, 4, a, b); r.listen("l", 4, 9, c) }, ""},
		"in other batches":  {func(r *recording) { r.listen("l", 1, 2, a); r.listen("l", 2, 9, c, b) }, ""},
		"in halves":         {func(r *recording) { r.listen("l", 1, 9, a, b, Update{"c", 5, 1}, Update{"c", 5, 1}) }, ""},
		"with what cancels": {func(r *recording) { r.listen("l", 1, 4, a, b, Update{"x", 2, 1}, Update{"x", 2, -1}) }, ""},
		"left out":          {func(r *recording) { r.listen("l", 1, 4, a) }, `leaves out "b" at time 2, which was acknowledged: #1`},
		"twice": {func(r *recording) {
			r.listen("l", 1, 4, a, b)
			r.listen("l", 4, 9, b, c)
		}, `yields "b" at time 2, which is outside of its bounds`},
		"doubled":           {func(r *recording) { r.listen("l", 1, 4, a, b, b) }, `yields "b" at time 2 2 times; appended were 1`},
		"refused":           {func(r *recording) { r.listen("l", 1, 4, a, b, Update{"no", 3, 1}) }, `yields "no" at time 3, which was refused: #3`},
		"invented":          {func(r *recording) { r.listen("l", 1, 4, a, b, Update{"new", 3, 1}) }, `yields "new" at time 3, which nobody appended`},
		"at another time":   {func(r *recording) { r.listen("l", 1, 4, Update{"a", 2, 1}, b) }, `leaves out "a" at time 1`},
		"later than bounds": {func(r *recording) { r.listen("l", 1, 4, a, b, c) }, `yields "c" at time 5, which is outside`},
		"no progress":       {func(r *recording) { r.listen("l", 1, 1) }, `made no progress: it was at [1] before`},
		"a gap":             {func(r *recording) { r.listen("l", 1, 4, a, b); r.listen("l", 5, 9, c) }, `does not begin where the listener's last batch ended, at [4]`},
		"a late start":      {func(r *recording) { r.listen("l", 2, 4, b) }, `does not begin right after 0`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecording()
			r.append(1, 0, 4, Ok, nil, a, b)
			r.append(1, 4, 9, Ok, nil, c)
			r.append(2, 0, 4, Fail, UpperMismatch{At(9)}, Update{"no", 3, 1})
			test.listen(r)
			requireListens(t, r.History, test.want)
		})
	}
}

func requireListens(t *testing.T, h *History, want string) {
	t.Helper()
	j := Listens{History: h}.Judge()
	if want == "" {
		require.Equal(t, VerdictPass, j.Verdict, j.Violations)
		return
	}
	require.Equal(t, VerdictFail, j.Verdict)
	require.Contains(t, j.Violations[0].Message, want)
}

func TestListensToUnknownAppends(t *testing.T) {
	x, y := Update{"x", 1, 1}, Update{"y", 6, 1}
	for name, test := range map[string]struct {
		listen func(r *recording)
		want   string
	}{
		"not in":          {func(r *recording) { r.listen("l", 1, 9) }, ""},
		"in":              {func(r *recording) { r.listen("l", 1, 9, x, y) }, ""},
		"in, two batches": {func(r *recording) { r.listen("l", 1, 4, x); r.listen("l", 4, 9, y) }, ""},
		"half":            {func(r *recording) { r.listen("l", 1, 9, x) }, "tears apart #1"},
		"half, later":     {func(r *recording) { r.listen("l", 1, 4, x); r.listen("l", 4, 9) }, "tears apart #1"},
		"one has it":      {func(r *recording) { r.listen("l", 1, 9, x, y); r.listen("m", 1, 9) }, "tears apart #1"},
		"too often":       {func(r *recording) { r.listen("l", 1, 9, x, x, y) }, `yields "x" at time 1 2 times; appended were 0, or 1 if #1`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecording()
			r.append(1, 0, 9, Unknown, nil, x, y)
			test.listen(r)
			requireListens(t, r.History, test.want)
		})
	}
}

func TestListensWithNothingHeard(t *testing.T) {
	r := newRecording()
	r.append(1, 0, 9, Ok, nil)
	r.end(r.begin(9, KindListen, Listen{Shard: "s", Listener: "l", From: At(1)}), Fail, LeaseExpired{})
	require.Equal(t, VerdictUnknown, Listens{History: r.History}.Judge().Verdict)
	r.end(r.begin(9, KindListen, Listen{Shard: "s", Listener: "l", From: At(1)}), Ok, Upper{})
	require.Equal(t, VerdictFail, Listens{History: r.History}.Judge().Verdict, "an answer of another kind")
}

// Whatever the batches and bounds, a listener that yields what the log holds is right, and one
// that loses, repeats or moves any one update is wrong.
func TestListensProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRecording()
		var log []Update
		var owner []int // of each update of log: its append
		unknown := map[int]bool{}
		upper := uint64(0)
		for i := range rapid.IntRange(1, 8).Draw(t, "appends") {
			next := upper + rapid.Uint64Range(1, 5).Draw(t, "width")
			var updates []Update
			for j := range rapid.IntRange(0, 3).Draw(t, "rows") {
				updates = append(updates, Update{fmt.Sprint(i, "-", j), rapid.Uint64Range(upper, next-1).Draw(t, "ts"), rapid.SampledFrom([]int64{1, -1, 2}).Draw(t, "diff")})
			}
			outcome := rapid.SampledFrom([]Outcome{Ok, Ok, Unknown}).Draw(t, "outcome")
			r.append(1, upper, next, outcome, nil, updates...)
			if outcome == Ok || rapid.Bool().Draw(t, "took effect") {
				log = append(log, updates...)
				owner = append(owner, slices.Repeat([]int{i}, len(updates))...)
			}
			unknown[i] = outcome == Unknown
			upper = next
		}
		asOf := rapid.Uint64Range(0, upper-1).Draw(t, "as of")
		wrong := rapid.Bool().Draw(t, "wrong")
		var heard []int // of the appends whose updates are heard, once for each
		for i, u := range log {
			if u.TS > asOf {
				heard = append(heard, owner[i])
			}
		}
		spoiled := -1
		how := rapid.SampledFrom([]string{"lost", "repeated", "negated"}).Draw(t, "how")
		if wrong = wrong && len(heard) > 0; wrong {
			spoiled = rapid.IntRange(0, len(heard)-1).Draw(t, "spoiled")
			of := heard[spoiled]
			if how == "lost" && unknown[of] && len(heard) == 1+len(slices.DeleteFunc(slices.Clone(heard), func(i int) bool { return i == of })) {
				wrong = false // all that was heard of an append that need not have happened
			}
		}
		for from := asOf + 1; from < upper; {
			to := rapid.Uint64Range(from+1, upper).Draw(t, "to")
			var updates []Update
			n := -1
			for _, u := range log {
				if u.TS > asOf {
					n++
				}
				if u.TS < from || u.TS >= to {
					continue
				}
				if n == spoiled {
					switch how {
					case "lost":
						continue
					case "repeated":
						updates = append(updates, u)
					case "negated":
						u.Diff = -u.Diff
					}
				}
				updates = append(updates, u)
			}
			tok := r.begin(9, KindListen, Listen{Shard: "s", Listener: "l", AsOf: asOf, From: At(from)})
			r.end(tok, Ok, ListenBatch{Updates: updates, Progress: At(to)})
			from = to
		}
		j := Listens{History: r.History}.Judge()
		if asOf+1 >= upper {
			require.Equal(t, VerdictUnknown, j.Verdict)
		} else if wrong {
			require.Equal(t, VerdictFail, j.Verdict)
		} else {
			require.Equal(t, VerdictPass, j.Verdict, j.Violations)
		}
	})
}
