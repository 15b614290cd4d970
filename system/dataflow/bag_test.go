package dataflow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBag compares with a map, over blocks that fill, split and empty.
func TestBag(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var b bag
	want := map[string]int64{}
	for step := range 30_000 {
		key := fmt.Sprint(random.IntN(1000))
		diff := int64(random.IntN(5) - 2)
		if step > 20_000 { // let it run empty
			diff = -want[key]
		}
		require.Equal(t, want[key], b.add(key, "", diff))
		if want[key] += diff; want[key] == 0 {
			delete(want, key)
		}
		if step%1000 == 999 {
			checkBag(t, &b, want)
		}
	}
	for key := range want {
		b.add(key, "", -want[key])
	}
	checkBag(t, &b, nil)
	require.Empty(t, b.blocks)
}

func checkBag(t *testing.T, b *bag, want map[string]int64) {
	got := map[string]int64{}
	var keys []string
	negative, bytes := 0, 0
	b.all(func(e *bagEntry) bool {
		got[e.key] = e.count
		keys = append(keys, e.key)
		if e.count < 0 {
			negative++
		}
		bytes += len(e.key)
		return true
	})
	require.Len(t, got, len(want))
	for key, n := range want {
		require.Equal(t, n, got[key])
		require.Equal(t, n, b.count(key))
	}
	require.True(t, slices.IsSorted(keys))
	require.Equal(t, []int{len(want), negative, bytes}, []int{b.len, b.negative, b.bytes})
	if len(keys) > 0 {
		require.Equal(t, keys[0], b.first().key)
		require.Equal(t, keys[len(keys)-1], b.last().key)
	}
}
