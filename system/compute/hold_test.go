package compute

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// What is held is the least of all holds, and never goes back as long as none is taken before it.
func TestHolders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newHolders()
		require.True(t, s.least().IsEmpty(), "nobody needs it")
		holds := []*hold{s.take(persist.At(3))}
		least := s.least()
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			h := rapid.SampledFrom(holds).Draw(t, "hold")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				holds = append(holds, h.clone())
			case 1:
				h.downgrade(persist.At(rapid.Uint64Range(0, 20).Draw(t, "to")))
			case 2:
				h.release()
			case 3:
				if !least.IsEmpty() {
					holds = append(holds, s.take(least))
				}
			}
			want := persist.Empty()
			for _, h := range holds {
				want = want.Meet(h.since)
			}
			require.Equal(t, want, s.least())
			require.False(t, s.least().Before(least))
			least = s.least()
		}
	})
}

func TestReadPolicies(t *testing.T) {
	at := persist.At
	for _, c := range []struct {
		name        string
		policy      ReadPolicy
		write, want protocol.Frontier
	}{
		{"the latest complete time", StepBack(), at(10), at(9)},
		{"nothing is complete", StepBack(), at(0), at(0)},
		{"complete for ever, and kept", StepBack(), persist.Empty(), at(0)},
		{"a lag", LagBy(4, 1), at(10), at(6)},
		{"in steps", LagBy(4, 5), at(12), at(5)},
		{"a lag beyond the beginning", LagBy(40, 1), at(10), at(0)},
		{"a lag behind the end", LagBy(4, 1), persist.Empty(), at(0)},
		{"everything from a time on", ValidFrom(at(5)), at(99), at(5)},
	} {
		require.Equal(t, c.want, c.policy(c.write), c.name)
	}
	require.Equal(t, persist.Empty(), stepBack(persist.Empty()))
}
