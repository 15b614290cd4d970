package atomicfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that cannot be put into place leaves nothing beside it, and the earlier one as it was.
func TestWriteOntoDirectory(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "inside"), 0o755))
	require.Error(t, Write(path, []byte("new")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.DirExists(t, filepath.Join(path, "inside"))
}

func TestWriteKeepsMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report")
	require.NoError(t, Write(path, []byte("first")))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode())
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, Write(path, []byte("second")))
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	contents, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "second", string(contents))
}
