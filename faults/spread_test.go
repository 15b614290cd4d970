package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// In a long phase there are about as many faults as in one of minutes, over all of it; in short ones they are what they
// were.
func TestFaultsSpread(t *testing.T) {
	p, err := FindProfile("default")
	require.NoError(t, err)
	require.Equal(t, p, p.spread(usualLength))
	topology := &Topology{Machines: []Machine{{Name: "a", Role: "r", Disk: true}, {Name: "b", Role: "r"}}}
	week := 7 * 24 * time.Hour
	for seed := range uint64(10) {
		short, long := Generate(seed, p, topology, usualLength, nil), Generate(seed, p.Slower(60), topology, week, nil)
		require.InDelta(t, len(short.Faults), len(long.Faults), 1+float64(len(short.Faults))/10)
		late := 0
		for _, f := range long.Faults {
			if f.When == nil {
				require.LessOrEqual(t, time.Duration(f.To-f.From), 60*p.For[1])
			}
			if time.Duration(f.From) > week/2 {
				late++
			}
		}
		require.Greater(t, late, len(long.Faults)/4)
	}
}
