package rerun

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/scenarios"
)

func TestParseSeeds(t *testing.T) {
	for text, want := range map[string]string{
		"7": "7", "0": "0", "1-50": "1-50", "5-5": "5", "0x10": "16", "0xff-0x1FF": "255-511",
		"77,1-50": "1-50,77", "1-5,3-9": "1-9", "1-5,6-9": "1-9", "1-9,3-5": "1-9", "3,3": "3",
		"007": "7", "18446744073709551615": "18446744073709551615", "5-18446744073709551615,7": "5-18446744073709551615",
	} {
		seeds, err := ParseSeeds(text)
		require.NoError(t, err, text)
		require.Equal(t, want, seeds.String(), text)
	}
}

// A list stands for the union of its ranges, each seed once, in order.
func TestParseSeedsIsUnion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64Range(0, 40)
		var parts scenarios.Seeds
		union := map[uint64]bool{}
		for range rapid.IntRange(1, 5).Draw(rt, "ranges") {
			a, b := seed.Draw(rt, "a"), seed.Draw(rt, "b")
			r := scenarios.SeedRange{First: min(a, b), Last: max(a, b)}
			parts = append(parts, r)
			for s := r.First; s <= r.Last; s++ {
				union[s] = true
			}
		}
		seeds, err := ParseSeeds(parts.String())
		require.NoError(rt, err)
		var got []uint64
		for i := range seeds.Len() {
			got = append(got, seeds.At(i))
		}
		require.Len(rt, got, len(union))
		require.True(rt, slices.IsSorted(got))
		for _, s := range got {
			require.True(rt, union[s])
		}
	})
}
