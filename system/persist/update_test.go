package persist

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func updates() *rapid.Generator[[]Update] {
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) Update {
		return Update{
			Data: rapid.SampledFrom([]string{"", "a", "b", "\xff"}).Draw(t, "data"),
			Time: rapid.Uint64Range(0, 3).Draw(t, "time"),
			Diff: rapid.Int64Range(-2, 2).Draw(t, "diff"),
		}
	}))
}

func TestConsolidate(t *testing.T) {
	type key struct {
		data string
		time uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		all := updates().Draw(t, "updates")
		want := map[key]int64{}
		for _, u := range all {
			want[key{u.Data, u.Time}] += u.Diff
		}
		maps.DeleteFunc(want, func(_ key, diff int64) bool { return diff == 0 })

		got := map[key]int64{}
		consolidated := Consolidate(all)
		for i, u := range consolidated {
			got[key{u.Data, u.Time}] = u.Diff
			if i > 0 {
				before := consolidated[i-1]
				require.True(t, before.Time < u.Time || before.Time == u.Time && before.Data < u.Data, "%v %v", before, u)
			}
		}
		require.Equal(t, want, got)
	})
}

func TestPartEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := updates().Draw(t, "updates")
		p, value := encodePart("k", want)
		require.Equal(t, len(want), p.Updates)
		got, err := decodePart(p, value)
		require.NoError(t, err)
		require.ElementsMatch(t, want, got)

		value[rapid.IntRange(0, len(value)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		_, err = decodePart(p, value)
		require.ErrorIs(t, err, ErrCorrupt)
	})
}

func TestNewBatch(t *testing.T) {
	at := func(times ...uint64) (updates []Update) {
		for _, time := range times {
			updates = append(updates, Update{Data: "x", Time: time, Diff: 1})
		}
		return updates
	}
	for _, c := range []struct {
		name         string
		updates      []Update
		lower, upper Frontier
		want         error
	}{
		{"inside", at(3, 4, 6), At(3), At(7), nil},
		{"inside an open end", at(3, 1<<63), At(3), Empty(), nil},
		{"no updates, no time", nil, At(3), At(3), nil},
		{"before the lower", at(3, 2), At(3), At(7), ErrUpdateNotBeyondLower},
		{"at the upper", at(7), At(3), At(7), ErrUpdateBeyondUpper},
		{"beyond the upper", at(8), At(3), At(7), ErrUpdateBeyondUpper},
		{"bounds the wrong way round", nil, At(7), At(3), ErrInvalidBounds},
		{"no time for updates", at(3), At(3), At(3), ErrEmptyInterval},
		{"closed already", nil, Empty(), Empty(), ErrClosedLower},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, got, err := newBatch(c.updates, c.lower, c.upper)
			if c.want != nil {
				var usage *InvalidUsage
				require.ErrorAs(t, err, &usage)
				require.ErrorIs(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, batch{Lower: c.lower, Upper: c.upper}, b)
			require.Equal(t, c.updates, got)
		})
	}
}

func TestBatchAsOf(t *testing.T) {
	updates := []Update{{Data: "a", Time: 2, Diff: 1}, {Data: "b", Time: 3, Diff: 2}, {Data: "c", Time: 5, Diff: -3}, {Data: "d", Time: 9, Diff: 4}}
	written := batch{Lower: At(3), Upper: At(9)}
	require.Equal(t, []Update{{Data: "b", Time: 4, Diff: 2}}, written.asOf(4, updates, nil), "outside the bounds, or after")
	require.Equal(t, []Update{{Data: "b", Time: 5, Diff: 2}, {Data: "c", Time: 5, Diff: -3}}, written.asOf(5, updates, nil), "at exactly that time")
	compacted := batch{Lower: At(3), Upper: At(9), Since: At(9)}
	require.Len(t, compacted.asOf(20, updates, nil), 4, "compaction may have moved times past the upper")
}
