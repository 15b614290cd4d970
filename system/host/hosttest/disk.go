package hosttest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

// put makes a file with that content, and syncs it, though not its name.
func put(t *testing.T, d host.Disk, name, content string) {
	f, err := d.Open(name, host.CreateTruncate)
	require.NoError(t, err)
	write(t, f, content, 0)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
}

func write(t *testing.T, f host.File, content string, off int64) {
	n, err := f.WriteAt([]byte(content), off)
	require.NoError(t, err)
	require.Equal(t, len(content), n)
}

func requireContent(t *testing.T, d host.Disk, name, content string) {
	p, err := host.ReadFile(d, name)
	require.NoError(t, err)
	require.Equal(t, content, string(p))
}

func requireList(t *testing.T, d host.Disk, dir string, names ...string) {
	got, err := d.List(dir)
	require.NoError(t, err)
	if len(names) == 0 {
		require.Empty(t, got)
		return
	}
	require.Equal(t, names, got)
}

func requireNone(t *testing.T, d host.Disk, name string) {
	_, err := d.Open(name, host.ReadWrite)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// requirePathError is what all errors of a disk are.
func requirePathError(t *testing.T, err error, name string, want error) {
	require.ErrorIs(t, err, want)
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	require.Equal(t, name, path.Path)
	require.NotEmpty(t, path.Op)
}

var diskTests = []test{
	{"open", alone(func(t *testing.T, h host.Host) {
		d := h.Disk()
		_, err := d.Open("f", host.ReadWrite)
		requirePathError(t, err, "f", fs.ErrNotExist)
		f, err := d.Open("f", host.Create)
		require.NoError(t, err)
		write(t, f, "abc", 0)
		require.NoError(t, f.Close())
		for _, flag := range []host.OpenFlag{host.ReadWrite, host.Create} {
			f, err = d.Open("f", flag)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			requireContent(t, d, "f", "abc")
		}
		_, err = d.Open("f", host.CreateNew)
		requirePathError(t, err, "f", fs.ErrExist)
		f, err = d.Open("f", host.CreateTruncate)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		requireContent(t, d, "f", "")
		f, err = d.Open("new", host.CreateNew)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		f, err = d.Open("newer", host.CreateTruncate)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		requireList(t, d, "", "f", "new", "newer")
	})},
	{"read and write", alone(func(t *testing.T, h host.Host) {
		f, err := h.Disk().Open("f", host.Create)
		require.NoError(t, err)
		size := func() int64 {
			n, err := f.Size()
			require.NoError(t, err)
			return n
		}
		read := func(length int, off int64) string {
			p := make([]byte, length)
			n, err := f.ReadAt(p, off)
			if n < length {
				require.Equal(t, io.EOF, err, "bare, as readers expect it")
			}
			return string(p[:n])
		}
		require.Zero(t, size())
		require.Equal(t, "", read(5, 0))
		write(t, f, "0123456789", 0)
		require.Equal(t, "0123456789", read(10, 0))
		require.Equal(t, "345", read(3, 3))
		require.Equal(t, "89", read(5, 8))
		require.Equal(t, "", read(5, 10))
		require.Equal(t, "", read(5, 1000))
		write(t, f, "xyz", 4)
		require.Equal(t, "0123xyz789", read(10, 0))
		write(t, f, "end", 12)
		require.EqualValues(t, 15, size())
		require.Equal(t, "789\x00\x00end", read(100, 7))
		write(t, f, "", 100)
		require.EqualValues(t, 15, size(), "writing nothing changes nothing")
		long := string(payload(5, 100_000))
		write(t, f, long, 5000)
		require.EqualValues(t, 105_000, size())
		require.Equal(t, long, read(100_000, 5000))
		require.Equal(t, strings.Repeat("\x00", 4000), read(4000, 500))
		p := []byte("mine")
		write(t, f, string(p), 0)
		copy(p, "your")
		require.Equal(t, "mine", read(4, 0))
		require.NoError(t, f.Sync())
	})},
	{"truncate", alone(func(t *testing.T, h host.Host) {
		d := h.Disk()
		f, err := d.Open("f", host.Create)
		require.NoError(t, err)
		write(t, f, "0123456789", 0)
		require.NoError(t, f.Truncate(4))
		requireContent(t, d, "f", "0123")
		require.NoError(t, f.Truncate(6))
		requireContent(t, d, "f", "0123\x00\x00")
		require.NoError(t, f.Truncate(0))
		requireContent(t, d, "f", "")
		require.NoError(t, f.Truncate(3))
		write(t, f, "x", 1)
		requireContent(t, d, "f", "\x00x\x00")
	})},
	{"wrong use of a file", alone(func(t *testing.T, h host.Host) {
		f, err := h.Disk().Open("dir/f", host.Create)
		require.NoError(t, err)
		_, err = f.ReadAt(make([]byte, 1), -1)
		requirePathError(t, err, "dir/f", fs.ErrInvalid)
		_, err = f.WriteAt(make([]byte, 1), -1)
		requirePathError(t, err, "dir/f", fs.ErrInvalid)
		requirePathError(t, f.Truncate(-1), "dir/f", fs.ErrInvalid)
		require.NoError(t, f.Close())
		_, err = f.ReadAt(make([]byte, 1), 0)
		requirePathError(t, err, "dir/f", fs.ErrClosed)
		_, err = f.WriteAt(make([]byte, 1), 0)
		requirePathError(t, err, "dir/f", fs.ErrClosed)
		_, err = f.Size()
		requirePathError(t, err, "dir/f", fs.ErrClosed)
		requirePathError(t, f.Truncate(0), "dir/f", fs.ErrClosed)
		requirePathError(t, f.Sync(), "dir/f", fs.ErrClosed)
		requirePathError(t, f.Close(), "dir/f", fs.ErrClosed)
	})},
	{"rename", alone(func(t *testing.T, h host.Host) {
		d := h.Disk()
		requirePathError(t, d.Rename("none", "other"), "none", fs.ErrNotExist)
		put(t, d, "a", "of a")
		put(t, d, "dir/b", "of b")
		open, err := d.Open("dir/b", host.ReadWrite)
		require.NoError(t, err)
		require.NoError(t, d.Rename("a", "c"))
		requireNone(t, d, "a")
		requireContent(t, d, "c", "of a")
		require.NoError(t, d.Rename("c", "dir/b"), "over another, in another directory")
		requireNone(t, d, "c")
		requireContent(t, d, "dir/b", "of a")
		p := make([]byte, 4)
		_, err = open.ReadAt(p, 0)
		require.NoError(t, err)
		require.Equal(t, "of b", string(p), "the replaced file stays what it was to who has it open")
		require.NoError(t, d.Rename("dir/b", "new/dir/ectory/b"), "directories come into being")
		requireContent(t, d, "new/dir/ectory/b", "of a")
		requireList(t, d, "dir")
		require.NoError(t, d.Rename("new/dir/ectory/b", "new/dir/ectory/b"), "to itself")
		requireContent(t, d, "new/dir/ectory/b", "of a")
		require.NoError(t, open.Close())

		f, err := d.Open("open", host.Create)
		require.NoError(t, err)
		require.NoError(t, d.Rename("open", "renamed"))
		write(t, f, "still the same", 0)
		require.NoError(t, f.Close())
		requireContent(t, d, "renamed", "still the same")
	})},
	{"remove", alone(func(t *testing.T, h host.Host) {
		d := h.Disk()
		requirePathError(t, d.Remove("none"), "none", fs.ErrNotExist)
		put(t, d, "f", "abc")
		f, err := d.Open("f", host.ReadWrite)
		require.NoError(t, err)
		require.NoError(t, d.Remove("f"))
		requireNone(t, d, "f")
		requirePathError(t, d.Remove("f"), "f", fs.ErrNotExist)
		put(t, d, "f", "another")
		p := make([]byte, 3)
		_, err = f.ReadAt(p, 0)
		require.NoError(t, err)
		require.Equal(t, "abc", string(p), "it is there for who has it open")
		write(t, f, "xyz", 0)
		require.NoError(t, f.Close())
		requireContent(t, d, "f", "another")
	})},
	{"list", alone(func(t *testing.T, h host.Host) {
		d := h.Disk()
		requireList(t, d, "")
		requireList(t, d, "nowhere")
		for _, name := range []string{"b", "a", "dir/2", "dir/10", "dir/sub/x", "c", "other/deep/y"} {
			put(t, d, name, name)
		}
		requireList(t, d, "", "a", "b", "c")
		requireList(t, d, "dir", "10", "2")
		requireList(t, d, "dir/sub", "x")
		requireList(t, d, "other")
		requireList(t, d, "other/deep", "y")
		requireList(t, d, "a")
		require.NoError(t, d.Remove("dir/2"))
		requireList(t, d, "dir", "10")
		require.NoError(t, d.SyncDir("dir"))
		require.NoError(t, d.SyncDir(""))
		require.NoError(t, d.SyncDir("nowhere"), "there is nothing to lose")
	})},
	{"names", alone(func(t *testing.T, h host.Host) {
		d := h.Disk()
		put(t, d, "x", "x")
		longest := strings.Repeat("x", host.MaxElement)
		for _, name := range []string{"", ".", "..", "/", "/x", "x/", "./x", "../x", "a/../x", "a//x", "a/./x", "x/..", "a\x00b", "a\xffb", longest + "x", "dir/" + longest + "x/x"} {
			_, err := d.Open(name, host.Create)
			requirePathError(t, err, name, fs.ErrInvalid)
			requirePathError(t, d.Rename("x", name), name, fs.ErrInvalid)
			requirePathError(t, d.Rename(name, "y"), name, fs.ErrInvalid)
			requirePathError(t, d.Remove(name), name, fs.ErrInvalid)
			if name != "" {
				_, err = d.List(name)
				requirePathError(t, err, name, fs.ErrInvalid)
				requirePathError(t, d.SyncDir(name), name, fs.ErrInvalid)
			}
		}
		requireList(t, d, "", "x")
		good := []string{longest, "a b", "...", ".hidden", "a\\b", "Ä", "a:b", "%2e%2e", "incarnation", "lock", "-"}
		for _, name := range good {
			put(t, d, "good/"+name, name)
		}
		for _, name := range good {
			requireContent(t, d, "good/"+name, name)
		}
		deep := strings.Repeat("d/", 50) + "f"
		put(t, d, deep, "deep")
		requireContent(t, d, deep, "deep")
	})},
	{"a name is a file's or a directory's", alone(func(t *testing.T, h host.Host) {
		d := h.Disk()
		put(t, d, "file", "f")
		put(t, d, "dir/sub/file", "f")
		for _, flag := range []host.OpenFlag{host.Create, host.CreateNew, host.CreateTruncate} {
			_, err := d.Open("file/x", flag)
			requirePathError(t, err, "file/x", fs.ErrExist)
			_, err = d.Open("dir", flag)
			requirePathError(t, err, "dir", fs.ErrExist)
		}
		for _, dir := range []string{"dir", "dir/sub"} {
			requireNone(t, d, dir)
			requirePathError(t, d.Rename("file", dir), dir, fs.ErrExist)
			requirePathError(t, d.Rename(dir, "other"), dir, fs.ErrNotExist)
			requirePathError(t, d.Remove(dir), dir, fs.ErrNotExist)
		}
		requireNone(t, d, "file/x")
		requirePathError(t, d.Remove("file/x"), "file/x", fs.ErrNotExist)
		requirePathError(t, d.Rename("file/x", "other"), "file/x", fs.ErrNotExist)
		requirePathError(t, d.Rename("dir/sub/file", "file/x/y"), "file/x/y", fs.ErrExist)
		requirePathError(t, d.Rename("file", "file/x"), "file/x", fs.ErrExist)
		requireList(t, d, "file")
		requireContent(t, d, "file", "f")
		requireContent(t, d, "dir/sub/file", "f")
		// Without files there is no directory any more.
		require.NoError(t, d.Remove("dir/sub/file"))
		require.NoError(t, d.Rename("file", "dir"))
		requireContent(t, d, "dir", "f")
		put(t, d, "deep/er/file", "f")
		require.NoError(t, d.Rename("deep/er/file", "elsewhere"))
		put(t, d, "deep", "f")
		require.NoError(t, d.Remove("deep"))
		put(t, d, "deep/er", "f")
		requireList(t, d, "", "dir", "elsewhere")
		requireList(t, d, "deep", "er")
	})},
	{"several tasks", alone(func(t *testing.T, h host.Host) {
		const tasks, each = 5, 10
		d, done := h.Disk(), host.NewWaitGroup(h, "tasks")
		shared, err := d.Open("shared", host.Create)
		require.NoError(t, err)
		for i := range tasks {
			done.Go(h, "task", func() {
				for n := range each {
					name := fmt.Sprintf("dir%d/%d", n, i)
					put(t, d, name+".tmp", name)
					require.NoError(t, d.Rename(name+".tmp", name))
					require.NoError(t, d.SyncDir(fmt.Sprint("dir", n)))
					write(t, shared, name[:5], int64(5*(i*each+n)))
				}
			})
		}
		done.Wait()
		for i := range tasks {
			for n := range each {
				name := fmt.Sprintf("dir%d/%d", n, i)
				requireContent(t, d, name, name)
				p := make([]byte, 5)
				_, err := shared.ReadAt(p, int64(5*(i*each+n)))
				require.NoError(t, err)
				require.Equal(t, name[:5], string(p))
			}
		}
	})},
}

var durabilityTests = []test{
	{"what was synced outlives the process", func(t *testing.T, c Cluster) {
		content := string(payload(9, 20_000))
		c.Start(0, "first life", func(h host.Host) {
			d := h.Disk()
			put(t, d, "a", content)
			put(t, d, "dir/b", "b")
			require.NoError(t, d.SyncDir(""))
			require.NoError(t, d.SyncDir("dir"))
			f, err := d.Open("a", host.ReadWrite)
			require.NoError(t, err)
			write(t, f, "changed", 5000)
			require.NoError(t, f.Truncate(10_000))
			require.NoError(t, f.Sync())
		})()
		changed := content[:5000] + "changed" + content[5007:10_000]
		for range 2 {
			c.Restart(0)
			c.Start(0, "next life", func(h host.Host) {
				requireContent(t, h.Disk(), "a", changed)
				requireContent(t, h.Disk(), "dir/b", "b")
				requireList(t, h.Disk(), "", "a")
			})()
		}
		c.Start(1, "another machine", func(h host.Host) { requireList(t, h.Disk(), "") })()
	}},
	{"a file is replaced whole", func(t *testing.T, c Cluster) {
		for n := range 4 {
			c.Start(0, "replace", func(h host.Host) {
				d := h.Disk()
				put(t, d, "tmp/new", fmt.Sprint("version ", n))
				require.NoError(t, d.Rename("tmp/new", "dir/current"))
				require.NoError(t, d.SyncDir("dir"))
				require.NoError(t, d.SyncDir("tmp"))
			})()
			c.Restart(0)
			c.Start(0, "read", func(h host.Host) {
				requireContent(t, h.Disk(), "dir/current", fmt.Sprint("version ", n))
				requireList(t, h.Disk(), "dir", "current")
				requireList(t, h.Disk(), "tmp")
			})()
		}
	}},
	{"removed is removed", func(t *testing.T, c Cluster) {
		c.Start(0, "first life", func(h host.Host) {
			d := h.Disk()
			for _, name := range []string{"a", "b", "c"} {
				put(t, d, name, name)
			}
			require.NoError(t, d.SyncDir(""))
			require.NoError(t, d.Remove("b"))
			require.NoError(t, d.SyncDir(""))
		})()
		c.Restart(0)
		c.Start(0, "next life", func(h host.Host) { requireList(t, h.Disk(), "", "a", "c") })()
	}},
	// What was not synced may be there or not, but what the rest is does not depend on it.
	{"what was not synced harms nothing else", func(t *testing.T, c Cluster) {
		synced := payload(4, 3000)
		for range 5 {
			c.Start(0, "life", func(h host.Host) {
				d := h.Disk()
				f, err := d.Open("log", host.Create)
				require.NoError(t, err)
				require.NoError(t, f.Truncate(int64(len(synced))))
				write(t, f, string(synced), 0)
				require.NoError(t, f.Sync())
				require.NoError(t, d.SyncDir(""))
				write(t, f, string(payload(8, 2000)), int64(len(synced)))
				g, err := d.Open("unsynced", host.CreateTruncate)
				require.NoError(t, err)
				write(t, g, "x", 0)
			})()
			c.Restart(0)
			c.Start(0, "next life", func(h host.Host) {
				p, err := host.ReadFile(h.Disk(), "log")
				require.NoError(t, err)
				require.True(t, bytes.HasPrefix(p, synced))
				if p, err := host.ReadFile(h.Disk(), "unsynced"); err != nil {
					require.ErrorIs(t, err, fs.ErrNotExist)
				} else {
					require.Contains(t, []string{"", "x", "\x00"}, string(p))
				}
			})()
		}
	}},
}
