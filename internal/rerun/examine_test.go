package rerun

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/scenarios"
)

func TestFaultsInForce(t *testing.T) {
	plan, err := faults.ParsePlan([]byte(`faults:
  - {id: a, kind: node.pause, target: [x], from: 1s, to: 2s}
  - {id: ab, kind: node.pause, target: [y], from: 1s, to: 2s}
  - {id: once, kind: persist.upper_mismatch, target: [s1], from: 1s}
`))
	require.NoError(t, err)
	instant := instantFaults(plan)
	require.Equal(t, map[string]bool{"once": true}, instant)

	var e Examination
	for _, step := range []struct {
		note string
		want []string
	}{
		{"phase faults", nil},
		{"begin a on x", []string{"a on x"}},
		{"nothing to do for b on y", []string{"a on x"}},
		{"begin ab on y", []string{"a on x", "ab on y"}},
		{"begin once on s1", []string{"a on x", "ab on y"}},
		{"end a", []string{"ab on y"}},
		{"end once", []string{"ab on y"}},
		{"end ab", []string{}},
	} {
		e.fault(step.note, instant)
		require.Equal(t, step.want, e.InForce, step.note)
	}
}

func TestDescribe(t *testing.T) {
	plan, err := faults.ParsePlan([]byte(`faults:
  - {id: a, kind: node.pause, target: [x], from: 1s, to: 2.5s}
  - {id: once, kind: persist.upper_mismatch, target: [s1], from: 3s, params: {rows: 2}}
`))
	require.NoError(t, err)
	require.Equal(t, "1s to 2.5s               a on x", describe(&plan.Faults[0]))
	require.Equal(t, "3s                       once on s1 rows=2", describe(&plan.Faults[1]))
}

func TestExamineLeavesLongRunsAlone(t *testing.T) {
	require.Nil(t, Examine(context.Background(), nil, scenarios.Options{}, scenarios.Result{Events: RecordLimit + 1}, Watcher{}))
}
