package scenarios

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
)

// A fault that ends while another of its kind is in force at the same place leaves that one in force, as the plan says.
func TestAFaultEndsNoOther(t *testing.T) {
	plan, err := faults.ParsePlan([]byte("faults: [{kind: flow.lost_reply, target: [flow-1], from: 1s, to: 3s, params: {share: 20%, late: 100ms}}, " +
		"{kind: flow.lost_reply, target: [flow-1], from: 2s, to: 4s, params: {share: 30%, late: 200ms}}]"))
	require.NoError(t, err)
	var lost int
	var late time.Duration
	first := loseCalls(&lost, &late, &plan.Faults[0])
	second := loseCalls(&lost, &late, &plan.Faults[1])
	require.Equal(t, 500_000, lost)
	first()
	require.Equal(t, 300_000, lost)
	require.Equal(t, 200*time.Millisecond, late)
	second()
	require.Zero(t, lost)
}
