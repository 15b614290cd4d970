package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// An earlier report is there until the new one is whole, and keeps its mode and the links to it.
func TestAside(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "report"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(path, []byte("earlier"), 0o600))
	require.NoError(t, os.Symlink(path, link))
	file, err := openAside("--html", link)
	require.NoError(t, err)
	_, err = file.Write([]byte("new"))
	require.NoError(t, err)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "earlier", string(content))

	require.NoError(t, file.Close())
	content, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(content))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	info, err = os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
	require.Equal(t, []string{"link", "report"}, listed(t, dir), "nothing is left beside it")
}

// A first report is not there before it is whole.
func TestAsideOfNothing(t *testing.T) {
	dir := t.TempDir()
	file, err := openAside("--html", filepath.Join(dir, "report"))
	require.NoError(t, err)
	require.Empty(t, listed(t, dir))
	require.NoError(t, file.Close())
	require.Equal(t, []string{"report"}, listed(t, dir))

	file, err = openAside("--html", os.DevNull)
	require.NoError(t, err)
	require.IsType(t, &os.File{}, file, "what is no file is written to")
	require.NoError(t, file.Close())
	_, err = openAside("--html", dir)
	require.EqualError(t, err, "--html: "+dir+" is a directory: give a file")
}

func listed(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
