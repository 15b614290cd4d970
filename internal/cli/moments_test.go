package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/scenarios"
)

var noteCall = regexp.MustCompile(`\.Note\("([^"/]+)`)

// Each key that the systems note can be waited for.
func TestKnownNotes(t *testing.T) {
	known, found := knownNotes(), 0
	for _, root := range []string{"../../system", "../../scenarios"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "hosttest") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, call := range noteCall.FindAllStringSubmatch(string(source), -1) {
				if strings.Contains(call[1], ".") {
					found++
					require.Contains(t, known, call[1], path)
				}
			}
			return err
		}))
	}
	require.GreaterOrEqual(t, found, len(otherNotes))
}

func TestCheckMoments(t *testing.T) {
	builtin := scenarios.Builtin()[0]
	waits := func(note string) *faults.Plan {
		return &faults.Plan{Faults: []faults.Fault{{ID: "x", Kind: "node.crash", When: &faults.When{Note: note}}}}
	}
	require.NoError(t, checkMoments(builtin, waits("cdc.owner")))
	require.NoError(t, checkMoments(builtin, waits("cdc.checkpoint/f")))
	require.NoError(t, checkMoments(builtin, waits("persist: a rollup was added")))
	require.EqualError(t, checkMoments(builtin, waits("cdc.onwer")), `x waits for "cdc.onwer", which nothing notes; did you mean "cdc.owner"?`)
	require.ErrorContains(t, checkMoments(builtin, waits("no.such")), `x waits for "no.such", which nothing notes; simrun list --faults`)
	require.NoError(t, checkMoments(&scenarios.Scenario{Name: "mine"}, waits("mine.step")), "nobody knows what it notes")
}
