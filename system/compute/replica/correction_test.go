package replica

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// contents are what updates add up to as of a time.
func contents(updates []persist.Update, at uint64) map[string]int64 {
	c := map[string]int64{}
	for _, u := range updates {
		if u.Time <= at {
			if c[u.Data] += u.Diff; c[u.Data] == 0 {
				delete(c, u.Data)
			}
		}
	}
	return c
}

// Two replicas compute the same, at their own pace, and append their corrections to one shard, which holds
// something else at first. From the time at which they begin on, the shard holds what they compute.
func TestCorrectionsConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		update := func(lower, upper uint64) persist.Update {
			return persist.Update{
				Data: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "data"),
				Time: rapid.Uint64Range(lower, upper-1).Draw(t, "time"), Diff: rapid.Int64Range(-2, 2).Draw(t, "diff"),
			}
		}
		const begin, end = 5, 30
		var shard []persist.Update // what is in the shard
		upper := uint64(0)
		if rapid.Bool().Draw(t, "written before") {
			upper = begin
			for range rapid.IntRange(0, 5).Draw(t, "before") {
				shard = append(shard, update(0, begin))
			}
		}
		var computed []persist.Update
		for range rapid.IntRange(0, 30).Draw(t, "computed") {
			computed = append(computed, update(begin, end))
		}
		type writer struct {
			correction
			done, seen uint64 // computed, and followed in the shard
		}
		writers := []*writer{{done: begin}, {done: begin}}
		between := func(all []persist.Update, lower, upper uint64) (some []persist.Update) {
			for _, u := range all {
				if lower <= u.Time && u.Time < upper {
					some = append(some, u)
				}
			}
			return some
		}
		compute := func(w *writer, to uint64) {
			w.desire(slices.Clone(between(computed, w.done, to)))
			w.done = to
		}
		follow := func(w *writer) {
			w.persisted(slices.Clone(between(shard, w.seen, upper)), persist.At(upper))
			w.seen = upper
		}
		appendTo := func(w *writer) {
			if w.seen < w.done {
				if updates := w.before(persist.At(w.done)); w.seen == upper { // or else it comes too late
					shard, upper = append(shard, updates...), w.done
				}
			}
		}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			w := writers[rapid.IntRange(0, 1).Draw(t, "writer")]
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				compute(w, min(end, w.done+rapid.Uint64Range(0, 5).Draw(t, "further")))
			case 1:
				follow(w)
			case 2:
				appendTo(w)
			}
		}
		for _, w := range writers {
			compute(w, end)
			follow(w)
			appendTo(w)
			follow(w)
			require.Empty(t, w.before(persist.Empty()), "nothing is left to correct")
		}
		require.Equal(t, uint64(end), upper)
		for at := uint64(begin); at < end; at++ {
			require.Equal(t, contents(computed, at), contents(shard, at), "as of %d", at)
		}
	})
}

func TestCorrectionOfClosedShard(t *testing.T) {
	var c correction
	c.desire([]persist.Update{{Data: "a", Time: 3, Diff: 1}})
	require.Len(t, c.before(persist.At(4)), 1)
	require.Empty(t, c.before(persist.At(3)), "it is not due yet")
	c.persisted(nil, persist.Empty())
	require.Empty(t, c.before(persist.Empty()), "nothing can be corrected any more")
	require.Equal(t, protocol.Frontier(persist.Empty()), c.upper)
}

// BenchmarkCorrection desires 1,000 rows a time, and finds them written.
func BenchmarkCorrection(b *testing.B) {
	var c correction
	b.ReportAllocs()
	for i := range b.N {
		at := uint64(i)
		rows := make([]persist.Update, 1000)
		for n := range rows {
			rows[n] = persist.Update{Data: string(rune('a' + n%26)), Time: at, Diff: 1}
		}
		c.desire(rows)
		written := c.before(persist.At(at + 1))
		c.persisted(written, persist.At(at+1))
	}
}
