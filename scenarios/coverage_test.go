package scenarios

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

func TestCoverage(t *testing.T) {
	calm, chaos, other := Campaigned{"a", "calm"}, Campaigned{"a", "chaos"}, Campaigned{"b", "calm"}
	run := func(seed uint64, sometimes map[string]int) *Result { return &Result{Seed: seed, Sometimes: sometimes} }
	var c Coverage
	c.Add(calm, run(1, map[string]int{"p: x": 0, "p: y": 3}))
	c.Add(calm, run(2, map[string]int{"p: x": 0, "p: y": 4}))
	c.Add(calm, run(3, map[string]int{"p: x": 2, "q: z": 0}))
	c.Add(chaos, run(7, map[string]int{"p: x": 0}))
	c.Add(chaos, run(8, map[string]int{"p: x": 1, "bare": 1}))
	c.Add(other, run(40, map[string]int{"p: x": 0, "p: y": 1}))
	require.Equal(t, 6, c.Runs())
	all := c.Situations()
	for i := range all {
		all[i].reachedBy = nil
	}
	require.Equal(t, []Situation{
		{Name: "bare", Hits: 1, Seeds: 1, Runs: 1, Scenario: "a", Profile: "chaos", Needed: 2, First: 8, Scenarios: []string{"a"}},
		{Name: "p: x", Hits: 3, Seeds: 2, Runs: 6, Scenario: "a", Profile: "chaos", Needed: 2, First: 8, Scenarios: []string{"a"}},
		{Name: "p: y", Hits: 8, Seeds: 3, Runs: 3, Scenario: "a", Profile: "calm", Needed: 1, First: 1, Scenarios: []string{"a", "b"}},
		{Name: "q: z", Runs: 1, Scenarios: []string{}},
	}, all)

	c.AddDeclared()
	names := []string{}
	for _, s := range c.Situations() {
		names = append(names, s.Name)
	}
	for _, name := range host.Declared() {
		require.Contains(t, names, name)
	}
	require.Contains(t, names, "p: x")
	require.Equal(t, len(host.Declared())+4, len(names))
	i := slices.Index(names, "bare")
	require.Zero(t, i, "those of no package come first")
}
