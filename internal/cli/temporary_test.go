package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What killed processes have left is removed; what belongs to living ones, or is new, is not.
func TestSweep(t *testing.T) {
	ended := exec.Command(os.Args[0], "-test.run=^$")
	require.NoError(t, ended.Run())
	dir := t.TempDir()
	dead := fmt.Sprintf("simrun-mutants-%d-x", ended.Process.Pid)
	living := fmt.Sprintf("simrun-mutants-%d-x", os.Getpid())
	for _, name := range []string{dead, living, "simrun-mutants-of-mine"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	sweep(dir, time.Now())
	require.Len(t, listed(t, dir), 3, "it may be in use elsewhere")
	sweep(dir, time.Now().Add(2*leftOver))
	require.ElementsMatch(t, []string{living, "simrun-mutants-of-mine"}, listed(t, dir))
}
