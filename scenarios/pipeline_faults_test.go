package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
)

// A zombie's clock is right again when it is none any more: else those of machines that lead often fall behind by more than a
// lease in a long run, and what they hold is taken for given up.
func TestZombiesClockIsSetRight(t *testing.T) {
	var during, after time.Duration
	s := full()
	s.Oracles = nil
	s.Build = func(r *Run) {
		p := addPipeline(r, 1)
		offsets := func() (most time.Duration) {
			for _, n := range p.nodes {
				most = max(most, n.ClockOffset().Abs())
			}
			return most
		}
		r.World.Go("look at clocks", func() {
			for r.Phase() < PhaseFaults {
				r.World.Sleep(100 * time.Millisecond)
			}
			r.World.Sleep(9 * time.Second)
			during = offsets()
			r.World.Sleep(2 * time.Second)
			after = offsets()
		})
	}
	plan := &faults.Plan{Faults: []faults.Fault{{
		ID: "owner.zombie/1", Kind: "owner.zombie", Target: []string{"owner"},
		From: faults.Time(5 * time.Second), To: faults.Time(10 * time.Second), Params: map[string]faults.Value{"slow": "500000"},
	}}}
	s.Execute(context.Background(), Options{Seed: 1, Plan: plan})
	require.Greater(t, during, time.Second)
	require.Less(t, after, time.Millisecond)
}

// An owner whose calls to the stores hang until a key span is given up that it was writing finds its shard closed.
func TestZombieWritesLate(t *testing.T) {
	plan := &faults.Plan{Faults: []faults.Fault{{
		ID: "owner.zombie/1", Kind: "owner.zombie", Target: []string{"owner"},
		From: faults.Time(3 * time.Second), To: faults.Time(24 * time.Second), Params: map[string]faults.Value{"slow": "800000", "stores": "held"},
	}}}
	const late = "pipeline: a capture writes to a dropped key span's shard that was finalised"
	for seed := uint64(1); seed <= 20; seed++ { // in which the others are quick enough
		result := full().Execute(context.Background(), Options{Seed: seed, Plan: plan})
		require.Equal(t, Pass, result.Verdict, "seed %d", seed)
		if result.Sometimes[late] > 0 {
			return
		}
	}
	require.Fail(t, "no run came by the situation: "+late)
}
