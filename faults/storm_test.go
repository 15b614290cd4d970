package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Storms keep the faults that there are, and the lulls between them are free of all.
func TestStorms(t *testing.T) {
	const length = 15 * time.Second
	chaos, err := FindProfile("chaos")
	require.NoError(t, err)
	steady := chaos
	steady.Lull = 0
	gathered := 0
	for seed := range uint64(300) {
		before, after := Generate(seed, steady, testTopology, length, nil), Generate(seed, chaos, testTopology, length, nil)
		require.Len(t, after.Faults, len(before.Faults))
		require.ElementsMatch(t, ids(before), ids(after), "seed %d", seed)
		if quiet(before, length) < length/10 && quiet(after, length) > length/5 {
			gathered++
		}
		for _, f := range after.Faults {
			require.True(t, f.To == 0 || f.To > f.From, "seed %d: %+v", seed, f)
			require.LessOrEqual(t, time.Duration(f.From), length)
		}
	}
	require.Greater(t, gathered, 100)
	require.Less(t, gathered, 250, "some runs have no lulls")
}

func ids(p *Plan) []string {
	all := make([]string, len(p.Faults))
	for i, f := range p.Faults {
		all[i] = f.ID
	}
	return all
}

// quiet is for how long no fault that begins at a time lasts.
func quiet(p *Plan, length time.Duration) time.Duration {
	const step = 10 * time.Millisecond
	total := time.Duration(0)
	for at := time.Duration(0); at < length; at += step {
		free := true
		for _, f := range p.Faults {
			if f.When == nil && Time(at) >= f.From && Time(at) < f.To {
				free = false
				break
			}
		}
		if free {
			total += step
		}
	}
	return total
}
