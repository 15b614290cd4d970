package scenarios

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
)

// What fails changefeeds comes about, by its cause, and an operator has them go on: nothing is missing in the end.
func TestChangefeedsFailAndAreMended(t *testing.T) {
	for name, test := range map[string]struct {
		plan     string
		settings map[string]string
		seen     []string
	}{
		"a sink that refuses": {
			plan: "faults: [{kind: sink.refuse, target: [feed], from: 2s, to: 6s, params: {how: closed}}, " +
				"{kind: sink.refuse, target: [feed], from: 9s, to: 11s, params: {how: gap}}, " +
				"{kind: owner.change, target: [owner], from: 9500ms, params: {how: crashes}}]",
			settings: map[string]string{"captures": "3"},
			seen:     []string{"cdc: a changefeed has failed", "cdc: a capture can't go on with a changefeed", "cdc: a failure is of no more interest"},
		},
		"a hold on history that nobody renews": {
			plan:     "faults: [{kind: node.crash, target: [capture-1], from: 2s, to: 7s}]",
			settings: map[string]string{"captures": "1", "safepoint-ttl": "1s"},
			seen:     []string{"cdc: a changefeed has failed", "cdc: the history that a changefeed needs is not held any more", situationLapsed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := faults.ParsePlan([]byte(test.plan))
			require.NoError(t, err)
			seen := map[string]uint64{}
			for seed := range uint64(20) {
				res := owner().Execute(context.Background(), Options{Seed: seed, Plan: plan, Settings: test.settings})
				require.Equal(t, Pass, res.Verdict, "seed %d: %v", seed, res.Failures)
				for name, n := range res.Sometimes {
					seen[name] += uint64(n)
				}
			}
			for _, name := range test.seen {
				require.Positive(t, seen[name], name)
			}
		})
	}
}
