package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The command that the README tells to run, for the planted bugs: each of them is found, and the
// tree is as it was.
func TestPlantedBugsAreFound(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "banksim")
	out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(bin, "mutants", "--seeds", "1-100")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	table, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", table, stderr.String())
	patches, err := filepath.Glob("../mutants/*.patch")
	require.NoError(t, err)
	require.NotEmpty(t, patches)
	require.Contains(t, string(table), "caught and replayed")
	require.NotContains(t, string(table), "SURVIVED")
	require.Equal(t, len(patches), strings.Count(stderr.String(), ": hunting "))
}

// A seed of the program comes to the same in another process.
func TestProgramIsDeterministic(t *testing.T) {
	cmd := exec.Command("go", "run", ".", "verify", "bank", "--seeds", "1-2")
	cmd.Env = os.Environ()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "deterministic")
}
