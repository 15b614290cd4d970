package persist

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/wal"
)

func frontiers() *rapid.Generator[Frontier] {
	return rapid.OneOf(
		rapid.Just(Empty()),
		rapid.Map(rapid.Uint64Range(0, 5), At),
		rapid.Map(rapid.Uint64(), At),
	)
}

func TestFrontierOrder(t *testing.T) {
	ascending := []Frontier{{}, At(1), At(7), At(math.MaxUint64), Empty()}
	require.Equal(t, At(0), Frontier{})
	for i, f := range ascending {
		for j, g := range ascending {
			require.Equal(t, i < j, f.Before(g), "%v before %v", f, g)
			require.Equal(t, ascending[min(i, j)], f.Meet(g))
			require.Equal(t, ascending[max(i, j)], f.Join(g))
			require.Equal(t, i == j, f == g)
		}
	}
	require.True(t, slices.IsSortedFunc(ascending, Frontier.Compare))
}

func TestFrontierElements(t *testing.T) {
	f := At(7)
	require.Equal(t, []bool{false, true, true}, []bool{f.LessEqual(6), f.LessEqual(7), f.LessEqual(8)})
	require.Equal(t, []bool{false, false, true}, []bool{f.LessThan(6), f.LessThan(7), f.LessThan(8)})
	require.False(t, Empty().LessEqual(math.MaxUint64))
	require.False(t, Empty().LessThan(math.MaxUint64))
	require.Equal(t, []uint64{7}, f.Elements())
	require.Empty(t, Empty().Elements())
	_, ok := Empty().Time()
	require.False(t, ok)
	time, ok := f.Time()
	require.True(t, ok)
	require.Equal(t, uint64(7), time)
}

func TestFrontierIsALattice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, g, h := frontiers().Draw(t, "f"), frontiers().Draw(t, "g"), frontiers().Draw(t, "h")
		require.Equal(t, f.Meet(g), g.Meet(f))
		require.Equal(t, f.Meet(g.Meet(h)), f.Meet(g).Meet(h))
		require.Equal(t, f, f.Meet(f.Join(g)))
		require.Equal(t, f, f.Join(f.Meet(g)))
		require.Equal(t, f.Compare(g), -g.Compare(f))
		// What lies beyond the join lies beyond both, and what lies beyond either beyond the meet.
		at := rapid.Uint64().Draw(t, "t")
		require.Equal(t, f.LessEqual(at) && g.LessEqual(at), f.Join(g).LessEqual(at))
		require.Equal(t, f.LessEqual(at) || g.LessEqual(at), f.Meet(g).LessEqual(at))
	})
}

func TestFrontierEncodings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frontiers().Draw(t, "f")
		text, err := json.Marshal(f)
		require.NoError(t, err)
		back := At(99)
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, f, back)

		back = At(99)
		require.NoError(t, wal.Decode(wal.Encode(f), &back))
		require.Equal(t, f, back)
		if time, ok := f.Time(); ok {
			require.Equal(t, wal.Encode(time), wal.Encode(f))
		}
	})
	for shift := range 64 {
		for _, time := range []uint64{1<<shift - 1, 1 << shift, 23, 24} {
			require.Equal(t, wal.Encode(time), wal.Encode(At(time)))
			var back Frontier
			require.NoError(t, wal.Decode(wal.Encode(time), &back))
			require.Equal(t, At(time), back)
		}
	}
	for _, bad := range []any{"x", -1, true, 1.5, []int{1}} {
		var f Frontier
		require.ErrorContains(t, wal.Decode(wal.Encode(bad), &f), "neither an unsigned integer nor null")
	}
	require.Equal(t, "[17]", At(17).String())
	require.Equal(t, "[]", Empty().String())
	for _, bad := range []string{"", "17", "[", "[17", "17]", "[x]", "[-1]", "[18446744073709551616]", "[[]"} {
		var f Frontier
		require.Error(t, f.UnmarshalText([]byte(bad)), "%q", bad)
	}
}
