package real

import (
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

func TestDiskErrors(t *testing.T) {
	for _, test := range []struct{ from, want error }{
		{&fs.PathError{Op: "write", Path: "/var/lib/x/files/f", Err: syscall.ENOSPC}, host.ErrNoSpace},
		{&os.LinkError{Op: "rename", Old: "/var/a", New: "/var/b", Err: syscall.EDQUOT}, host.ErrNoSpace},
		{syscall.EFBIG, host.ErrNoSpace},
		{&fs.PathError{Op: "sync", Path: "/var/lib/x", Err: syscall.EIO}, host.ErrIO},
		{&fs.PathError{Op: "open", Path: "/var/lib/x", Err: syscall.ENOENT}, fs.ErrNotExist},
		{&fs.PathError{Op: "open", Path: "/var/lib/x", Err: syscall.EACCES}, fs.ErrPermission},
		{os.ErrClosed, fs.ErrClosed},
	} {
		err := diskError("open", "dir/f", test.from)
		require.ErrorIs(t, err, test.want)
		require.NotContains(t, err.Error(), "/var", "places on the machine are not the caller's")
		var path *fs.PathError
		require.ErrorAs(t, err, &path)
		require.Equal(t, "dir/f", path.Path)
	}
}

// Linux has a file that is always full.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if runtime.GOOS != "linux" {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	h, err := New(Config{Name: "a", Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer h.Close()
	f := h.disk.opened("f", full)
	_, err = f.WriteAt([]byte("x"), 0)
	require.ErrorIs(t, err, host.ErrNoSpace)
	require.EqualError(t, err, "write f: host: no space left on device (no space left on device)")
	require.NoError(t, f.Close())
}

// A directory's name is made durable once in a life, and again when it was made anew.
func TestNamesOfDirectoriesAreSynced(t *testing.T) {
	h, err := New(Config{Name: "a", Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer h.Close()
	d := h.disk
	touch := func(name string) {
		f, err := d.Open(name, host.CreateNew)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	touch("a/b/c")
	require.Empty(t, d.durable)
	require.NoError(t, d.SyncDir("a"))
	require.Equal(t, map[string]bool{"a": true}, d.durable)
	require.NoError(t, d.SyncDir("a/b"))
	require.Equal(t, map[string]bool{"a": true, "a/b": true}, d.durable)
	require.NoError(t, d.Remove("a/b/c"))
	touch("a/b") // in place of the directory
	require.Equal(t, map[string]bool{"a": true}, d.durable)
	require.NoError(t, d.SyncDir("a/b"), "a file is no directory")
	require.Equal(t, map[string]bool{"a": true}, d.durable)
}
