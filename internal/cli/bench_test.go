package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim/simbench"
)

func TestBenchPrintsJSONLines(t *testing.T) {
	r := call(t, "bench", "--quick", "--scenario", "calm")
	require.Equal(t, 0, r.status, r.stderr)
	names := map[string]bool{}
	for line := range strings.Lines(r.stdout) {
		var m simbench.Measurement
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		names[m.Name] = true
	}
	for _, name := range []string{"task_switches_per_s", "messages_per_s", "worker_scaling", "hash_overhead", "record_overhead", "pipeline_seeds_per_s", "pipeline_sim_seconds_per_s"} {
		require.True(t, names[name], name)
	}
}
