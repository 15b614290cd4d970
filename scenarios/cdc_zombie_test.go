package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
)

// A zombie whose machine's clock is skewed before and afterwards leaves it right: the end of the skew once took away a
// drift that the zombie's end had taken away already.
func TestZombieWithinASkew(t *testing.T) {
	s := owner()
	build := s.Build
	s.Oracles = nil
	var during int
	after := map[string]time.Duration{}
	s.Build = func(r *Run) {
		build(r)
		r.World.Go("look at clocks", func() {
			for r.Phase() < PhaseFaults {
				r.World.Sleep(10 * time.Millisecond)
			}
			began := r.World.Now()
			look := func(at time.Duration, each func(name string, offset time.Duration, drift int)) {
				r.World.Sleep(began + at - r.World.Now())
				for _, name := range []string{"capture-1", "capture-2", "capture-3"} {
					n := r.World.Node(name)
					each(name, n.ClockOffset(), n.ClockDrift())
				}
			}
			look(6*time.Second, func(_ string, _ time.Duration, drift int) { during = min(during, drift) })
			look(10*time.Second, func(name string, offset time.Duration, drift int) {
				after[name] = offset
				require.Zero(t, drift, name)
			})
		})
	}
	plan := &faults.Plan{}
	for _, name := range []string{"capture-1", "capture-2", "capture-3"} {
		plan.Faults = append(plan.Faults, faults.Fault{
			ID: "clock.skew/" + name, Kind: "clock.skew", Target: []string{name},
			From: faults.Time(3 * time.Second), To: faults.Time(9 * time.Second), Params: map[string]faults.Value{"drift": "200000"},
		})
	}
	plan.Faults = append(plan.Faults, faults.Fault{
		ID: "owner.zombie/1", Kind: "owner.zombie", Target: []string{"owner"},
		From: faults.Time(5 * time.Second), To: faults.Time(8 * time.Second), Params: map[string]faults.Value{"slow": "600000"},
	})
	s.Execute(context.Background(), Options{Seed: 1, Plan: plan})
	require.Equal(t, -400_000, during, "of the owner")
	require.Len(t, after, 3)
	for name, offset := range after {
		require.InDelta(t, 0, offset, 100, name)
	}
}
