package simtest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckShrinks(t *testing.T) {
	dir := t.TempDir()
	out, passed := victim(t, dir, "TestShrinks", "-rapid.seed=1")
	require.False(t, passed)
	require.Contains(t, out, "the smallest run found that fails like this has seed 1, strategy fifo and 2 of the faults:")
	plan := between(out, "of the faults:\n", "FAIL frail")
	require.Equal(t, 2, strings.Count(plan, "kind: "), plan)
	require.Equal(t, 2, strings.Count(plan, "kind: node.crash"), plan)
	require.Contains(t, out, "frail/two: two crashed 2 times at")
	require.Contains(t, out, "room=2")

	// rapid keeps it, and repeats it first.
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "rapid", "TestShrinks", "*.fail"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	again, passed := victim(t, dir, "TestShrinks", "-rapid.seed=1")
	require.False(t, passed)
	require.Contains(t, again, "failed after 0 tests")
	require.Equal(t, between(out, "trace hash ", "\n"), between(again, "trace hash ", "\n"))

	// The command has the plan in it, and comes to the same without any file.
	command := between(out, "reproduce  ", "\n")
	flags, plan := between(command+"\n", "-run '^TestShrinks$' ", " -simtest.faults "), between(command+"\n", " -simtest.faults '", "'")
	alone, passed := victim(t, t.TempDir(), "TestShrinks",
		append(strings.Fields(flags), "-simtest.faults", plan, "-simtest.strategy", "fifo")...)
	require.False(t, passed)
	require.Equal(t, between(out, "trace hash ", "\n"), between(alone, "trace hash ", "\n"), "%s\n%s", command, alone)
}

func TestCheckHolds(t *testing.T) {
	out, passed := victim(t, t.TempDir(), "TestHolds", "-test.v")
	require.True(t, passed, out)
	require.Contains(t, out, "OK, passed 100 tests")
}
