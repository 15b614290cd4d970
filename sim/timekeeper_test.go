package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// Skews that overlap add up, within bounds, and leave a clock right however they end: two that together
// are beyond the bounds once left a clock fast for good.
func TestSkewsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := sim.New(sim.Config{Seed: 1})
		defer w.Close()
		n := w.NewNode("a", func(host.Host) {})
		base := rapid.IntRange(-100, 100).Draw(t, "drift")
		n.SetClock(0, base)
		var ends []func()
		var drifts []int
		clock := func() int { // as skews in force have it run
			drift := base
			for _, d := range drifts {
				drift += d
			}
			return max(-900_000, drift)
		}
		w.Go("skew", func() {
			for range rapid.IntRange(1, 12).Draw(t, "steps") {
				if len(ends) > 0 && rapid.Bool().Draw(t, "one ends") {
					i := rapid.IntRange(0, len(ends)-1).Draw(t, "which")
					ends[i]()
					ends, drifts = slices.Delete(ends, i, i+1), slices.Delete(drifts, i, i+1)
				} else {
					drift := rapid.IntRange(-900_000, 800_000).Draw(t, "skew")
					ends, drifts = append(ends, n.SkewClock(drift)), append(drifts, drift)
				}
				require.Equal(t, clock(), n.ClockDrift())
				w.Sleep(time.Duration(rapid.IntRange(0, int(5*time.Second)).Draw(t, "for")))
			}
			n.JumpClock(time.Minute)
			for _, end := range ends {
				end()
			}
			require.Equal(t, base, n.ClockDrift())
			right := time.Minute + w.Now()*time.Duration(base)/1_000_000
			require.InDelta(t, right, n.ClockOffset(), 100, "rounding is all that is left")
		})
		require.NoError(t, w.Run())
	})
}
