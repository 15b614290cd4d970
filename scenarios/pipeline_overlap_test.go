package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
)

// A mirror that does not hear that it leads no more goes on beside its successor: the tables take what the first of them
// has, and the other finds that.
func TestMirrorsOverlap(t *testing.T) {
	const met = "pipeline: another mirror has appended to the table"
	for _, of := range []string{"reads", "tables"} {
		t.Run(of, func(t *testing.T) {
			plan := &faults.Plan{Faults: []faults.Fault{{
				ID: "owner.overlap/1", Kind: "owner.overlap", Target: []string{"mirror"},
				From: faults.Time(3 * time.Second), To: faults.Time(14 * time.Second),
				Params: map[string]faults.Value{"of": faults.Value(of), "after": "600ms", "hangs": "2s"},
			}}}
			seeds := 0
			for seed := uint64(1); seed <= 5; seed++ {
				result := full().Execute(context.Background(), Options{Seed: seed, Plan: plan})
				require.Equal(t, Pass, result.Verdict, "seed %d", seed)
				if result.Sometimes[met] > 0 {
					seeds++
				}
			}
			require.NotZero(t, seeds, met)
		})
	}
}
