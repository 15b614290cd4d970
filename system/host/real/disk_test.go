package real_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/real"
)

// No name leads out of the directory, nor does a symbolic link that somebody has put there.
func TestNothingLeadsOut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	h := newHost(t, func(c *real.Config) { c.Dir = dir })
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "files", "way")))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "files", "link")))
	d := h.Disk()
	for _, name := range []string{"way/secret", "link"} {
		for _, flag := range []host.OpenFlag{host.ReadWrite, host.Create, host.CreateTruncate} {
			_, err := d.Open(name, flag)
			require.Error(t, err)
		}
		require.Error(t, d.Remove(name))
		require.Error(t, d.Rename(name, "mine"))
	}
	f, err := d.Open("mine", host.Create)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Error(t, d.Rename("mine", "way/mine"))
	names, err := d.List("way")
	require.True(t, err != nil || len(names) == 0)
	names, err = d.List("")
	require.NoError(t, err)
	require.Equal(t, []string{"mine"}, names)
	content, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "secret", string(content))
	for _, name := range []string{"life", "lock"} {
		_, err = d.Open("../"+name, host.Create)
		require.ErrorIs(t, err, fs.ErrInvalid)
	}
	_, err = d.Open("mine", host.OpenFlag(9))
	require.ErrorIs(t, err, fs.ErrInvalid)
}

// The files are ordinary ones, for who looks after the machine.
func TestFilesAreOrdinary(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, func(c *real.Config) { c.Dir = dir })
	f, err := h.Disk().Open("a/b/c", host.Create)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("content"), 0)
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(dir, "files", "a", "b", "c"))
	require.NoError(t, err)
	require.Equal(t, "content", string(content))
	require.NoError(t, h.Close())
	_, err = f.WriteAt([]byte("after"), 0)
	require.ErrorIs(t, err, fs.ErrClosed)
}
