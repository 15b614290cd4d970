package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/scenarios"
)

func TestVerify(t *testing.T) {
	got := call(t, words("verify fussy --seeds 1-10 --faults chaos --set divisor=5")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Equal(t, "fussy: 10 seeds run 3 times each: deterministic\n"+
		"(2 failed and 0 could not be judged, which an audit does not mind)\n", got.stdout)
}

func TestVerifyWithPlanFromStandardInput(t *testing.T) {
	const plan = "faults:\n  - kind: node.pause\n    target: [two]\n    from: 1s\n    to: 20s\n"
	got := callWith(t, context.Background(), plan, words("verify calm --seed 3 --faults -")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Equal(t, "calm: 1 seed run 3 times each: deterministic\n", got.stdout)
}

func TestVerifyFindsDependenceOnEarlierRuns(t *testing.T) {
	got := call(t, words("verify moody --seeds 1-5 --child=false --workers 1")...)
	require.Equal(t, 3, got.status, got.stderr)
	require.Regexp(t, `NOT DETERMINISTIC moody seed 1\n  trace_hash was [0-9a-f]{16}, and [0-9a-f]{16} when run again in another order\n`+
		`  first event that differs: \d+\n`, got.stdout)
	require.Regexp(t, `\n    - [0-9a-f]{16} .*mood \d+\\nand sinking\n    \+ [0-9a-f]{16} .*mood \d+\\nand sinking\n`, got.stdout)
	require.Contains(t, got.stdout, "\n  reproduce  simrun repro moody:1\n")
	require.Contains(t, got.stdout, "moody: 5 seeds run 2 times each: 5 not deterministic: 1 2 3 4 5\n")
	require.NotContains(t, got.stdout, "NOT DETERMINISTIC moody seed 4", "three are explained, the others listed")
}

func TestVerifyFindsDependenceOnProcess(t *testing.T) {
	got := call(t, words("verify child --seeds 1-2")...)
	require.Equal(t, 3, got.status, got.stderr)
	require.Contains(t, got.stdout, "NOT DETERMINISTIC child seed 1\n")
	require.Contains(t, got.stdout, "when run in a process with another GOMAXPROCS and GOGC\n")
	other := 1
	if runtime.GOMAXPROCS(0) == 1 {
		other = 2
	}
	require.Regexp(t, fmt.Sprintf(`\n    - .* %d processors\n    \+ .* %d processors\n`, runtime.GOMAXPROCS(0), other), got.stdout)
	got = call(t, words("verify child --seeds 1-2 --child=false")...)
	require.Equal(t, 0, got.status, "within one process it is deterministic")
	require.Equal(t, "child: 2 seeds run 2 times each: deterministic\n", got.stdout)
}

func TestVerifyChildThatCannotBeStarted(t *testing.T) {
	var stdout, stderr strings.Builder
	c := &cli.Command{
		Name: "simrun", Scenarios: fakes(), Executable: filepath.Join(t.TempDir(), "gone"),
		Stdout: &stdout, Stderr: &stderr,
	}
	require.Equal(t, 3, c.Run(context.Background(), words("verify calm --seeds 1-2")))
	require.Contains(t, stderr.String(), "simrun: cannot start the child process: ")
	require.NotContains(t, stdout.String(), "deterministic", "nothing is claimed")
}

func TestVerifyChildThatCrashes(t *testing.T) {
	crashing := write(t, "#!/bin/sh\necho oh no >&2\nexit 7\n")
	require.NoError(t, os.Chmod(crashing, 0o755))
	var stdout, stderr strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: fakes(), Executable: crashing, Stdout: &stdout, Stderr: &stderr}
	require.Equal(t, 3, c.Run(context.Background(), words("verify calm --seeds 1-2")))
	require.Contains(t, stderr.String(), "simrun: the child process: exit status 7: oh no\n")
	require.Empty(t, stdout.String())
}

// An audit says how much it knows, and no more.
func TestVerifyInterrupted(t *testing.T) {
	for want, builds := range map[string]int{
		"hasty: 0 of 20 seeds compared: nothing is known\n":     4, // while they are run for the first time
		"hasty: 3 of 20 seeds compared: no difference so far\n": 24,
	} {
		ctx, s := interrupting(builds)
		var stdout, stderr strings.Builder
		c := &cli.Command{Name: "simrun", Scenarios: []*scenarios.Scenario{s}, Stdout: &stdout, Stderr: &stderr}
		require.Equal(t, 130, c.Run(ctx, words("verify hasty --workers 2")), stderr.String())
		require.NotContains(t, stdout.String(), "deterministic")
		require.Contains(t, stdout.String(), want)
		require.Contains(t, stdout.String(), "interrupted: not all seeds were run as often as they should have been\n")
	}
}
