package faults

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is simpler is a fault that plans may have, and another one; and there is an end to it.
func TestSimpler(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := profile(t, rapid.SampledFrom([]string{"default", "chaos", "pipeline"}).Draw(t, "profile"))
		plan := Generate(rapid.Uint64().Draw(t, "seed"), p, testTopology, 20*time.Second, testHandled())
		before := plan.Inline()
		i := rapid.IntRange(0, len(plan.Faults)-1).Draw(t, "fault")
		f := plan.Faults[i]
		for steps := 0; ; steps++ {
			require.Less(t, steps, 100)
			simpler := f.Simpler()
			if len(simpler) == 0 {
				break
			}
			for _, g := range simpler {
				require.NotEqual(t, f, g)
				again, err := ParsePlan((&Plan{Faults: []Fault{g}}).YAML())
				require.NoError(t, err, "%v", g)
				require.NoError(t, again.Check(testTopology, func(string) bool { return true }))
			}
			require.NotEqual(t, before, plan.Replace(i, simpler[0]).Inline())
			f = simpler[rapid.IntRange(0, len(simpler)-1).Draw(t, "step")]
		}
		require.Empty(t, f.Params)
		require.Equal(t, before, plan.Inline(), "the plan itself stays as it is")
	})
}

func TestKeep(t *testing.T) {
	plan := Generate(1, profile(t, "chaos"), testTopology, 20*time.Second, testHandled())
	before := plan.Inline()
	even := plan.Keep(func(i int, _ *Fault) bool { return i%2 == 0 })
	require.Len(t, even.Faults, (len(plan.Faults)+1)/2)
	require.Equal(t, plan.Faults[2], even.Faults[1])
	require.Equal(t, plan.Profile, even.Profile)
	none := plan.Keep(func(int, *Fault) bool { return false })
	require.Equal(t, "profile: chaos\nseed: 1\nfaults: []\n", string(none.YAML()))
	require.Equal(t, before, plan.Inline())
	require.True(t, slices.IsSortedFunc(even.Faults, func(a, b Fault) int { return int(a.From - b.From) }))
}
