package persist

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A changed copy is what changing the map would have made of it, and the map stays as it was.
func TestEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.IntRange(0, 5)
		m := rapid.MapOf(keys, rapid.Int()).Draw(t, "entries")
		before := maps.Clone(m)
		k, v := keys.Draw(t, "key"), rapid.Int().Draw(t, "value")

		want := maps.Clone(m)
		want[k] = v
		require.Equal(t, want, with(m, k, v))
		require.Equal(t, map[int]int{k: v}, with(nil, k, v))

		want = maps.Clone(m)
		delete(want, k)
		got := without(m, k)
		require.Equal(t, want, got)
		require.Equal(t, len(want) == len(m), same(m, got))

		low := func(k, _ int) bool { return k < 3 }
		want = maps.Clone(m)
		maps.DeleteFunc(want, low)
		got, gone := withoutAll(m, low)
		require.Equal(t, want, got)
		require.Equal(t, len(m)-len(want), gone)
		require.Equal(t, gone == 0, same(m, got))

		require.Equal(t, before, m)
		require.False(t, same(before, m))
		require.True(t, equalEntries(before, m))
	})
}

func TestFirstWrong(t *testing.T) {
	m := map[int]string{}
	for k := range 100 {
		m[k] = fmt.Sprint(k)
	}
	for range 10 {
		err := firstWrong(m, func(k int, v string) error {
			if k%7 == 3 {
				return fmt.Errorf("%s is wrong", v)
			}
			return nil
		})
		require.EqualError(t, err, "3 is wrong")
	}
	require.NoError(t, firstWrong(m, func(int, string) error { return nil }))
}
