package models

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func frontiers() *rapid.Generator[Frontier] {
	return rapid.Custom(func(t *rapid.T) Frontier {
		if rapid.IntRange(0, 4).Draw(t, "empty") == 0 {
			return Closed()
		}
		return At(rapid.Uint64().Draw(t, "t"))
	})
}

func TestFrontiersAreTotallyOrdered(t *testing.T) {
	require.Equal(t, Frontier{}, At(0))
	require.True(t, At(math.MaxUint64).Less(Closed()))
	require.False(t, Closed().Less(Closed()))
	require.Equal(t, Closed(), Frontier{T: 7, Empty: true}.normal())
	require.Zero(t, Frontier{T: 7, Empty: true}.Compare(Closed()))
	rapid.Check(t, func(t *rapid.T) {
		f, g, h := frontiers().Draw(t, "f"), frontiers().Draw(t, "g"), frontiers().Draw(t, "h")
		require.Equal(t, -g.Compare(f), f.Compare(g))
		require.Equal(t, f == g, f.Compare(g) == 0)
		if f.Less(g) && g.Less(h) {
			require.True(t, f.Less(h))
		}
		join := f.Join(g)
		require.True(t, join == f || join == g)
		require.False(t, join.Less(f) || join.Less(g))
		if !f.Empty {
			require.Equal(t, f.Less(g), g.Beyond(f.T))
		}
		text, err := json.Marshal(f)
		require.NoError(t, err)
		var back Frontier
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, f, back)
	})
}

func someUpdates() *rapid.Generator[[]Update] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Update {
		return Update{
			Data: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "data"),
			TS:   rapid.Uint64Range(0, 6).Draw(t, "ts"),
			Diff: rapid.Int64Range(-2, 2).Draw(t, "diff"),
		}
	}), 0, 12)
}

// TestContentsAndTheirHash: the hash of contents does not depend on how they came about, and is
// different for different contents.
func TestContentsAndTheirHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		updates, asOf := someUpdates().Draw(t, "updates"), rapid.Uint64Range(0, 7).Draw(t, "as of")
		want := map[string]int64{}
		var raw []Row
		for _, u := range updates {
			if u.TS <= asOf {
				want[u.Data] += u.Diff
				raw = append(raw, Row{u.Data, u.Diff})
			}
		}
		got := ContentsAt(updates, asOf)
		require.True(t, rowsAreSorted(got))
		for _, data := range []string{"", "a", "b", "c", "never"} {
			require.Equal(t, want[data], countOf(got, data))
			require.Equal(t, want[data], countOf(sortedRows(raw), data))
		}
		for _, r := range got {
			require.NotZero(t, r.Diff)
		}
		require.Equal(t, got, Consolidate(got))
		require.Equal(t, rowsSum(raw), rowsSum(got))

		others := ContentsAt(someUpdates().Draw(t, "others"), asOf)
		require.Equal(t, compareRows(got, others).empty(), rowsSum(got) == rowsSum(others))
	})
}

// TestLogAnswersAnyTime: the chain of times gives the same as summing up.
func TestLogAnswersAnyTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := emptyLog
		var updates []Update
		ts := uint64(0)
		for range rapid.IntRange(0, 200).Draw(t, "appends") {
			ts += rapid.Uint64Range(1, 3).Draw(t, "gap")
			updates = append(updates, Update{"row", ts, 1})
			for _, d := range deltasOf(updates[len(updates)-1:]) {
				log = log.with(d)
			}
		}
		for range 20 {
			asOf := rapid.Uint64Range(0, ts+2).Draw(t, "as of")
			require.Equal(t, rowsSum(ContentsAt(updates, asOf)), log.sumAt(asOf))
		}
	})
}

func TestRowDifference(t *testing.T) {
	wanted := []Row{{"a", 1}, {"b", 2}, {"c", 1}}
	gap := compareRows(wanted, []Row{{"a", 1}, {"b", 1}, {"d", 2}})
	require.Equal(t, []Row{{"b", 1}, {"c", 1}}, gap.missing)
	require.Equal(t, []Row{{"d", 2}}, gap.extra)
	require.Equal(t, `2 missing: "b", "c"; 1 too many: "d" x2`, gap.describe(nil))
	require.Equal(t, `1 missing: "c" (who?)`, compareRows(wanted, wanted[:2]).describe(func(string) string { return "who?" }))
	require.True(t, compareRows(wanted, wanted).empty())
	var many []Row
	for _, data := range []string{"f", "e", "d", "c", "b", "a"} {
		many = append(many, Row{data, 1})
	}
	require.Equal(t, `6 missing: "a", "b", "c", "d", ...`, compareRows(many, nil).describe(nil))
}

func TestMisuse(t *testing.T) {
	for want, in := range map[string]CompareAndAppend{
		"":                              {New: At(5), Updates: []Update{{"a", 0, 1}, {"a", 4, 1}}},
		"its expected upper is []":      {Expected: Closed(), New: Closed()},
		"its new upper lies before":     {Expected: At(5), New: At(4)},
		`its update of "a" at time 5`:   {New: At(5), Updates: []Update{{"a", 5, 1}}},
		`its update of "a" at time 2`:   {Expected: At(3), New: Closed(), Updates: []Update{{"a", 2, 1}}},
		`its update of "a" at time 3 l`: {Expected: At(3), New: At(3), Updates: []Update{{"a", 3, 1}}},
	} {
		if want == "" {
			require.Empty(t, in.Misuse())
		} else {
			require.Contains(t, in.Misuse(), want)
		}
	}
}
