package sim_test

import (
	"bytes"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// onDisk runs steps on a node's disk, with a crash and a restart between them.
func onDisk(t require.TestingT, seed uint64, steps ...func(d host.Disk)) {
	w := sim.New(sim.Config{Seed: seed})
	defer w.Close()
	ran := 0
	n := w.NewNode("n", func(h host.Host) {
		if ran < len(steps) {
			steps[ran](h.Disk())
			ran++
		}
	})
	for range steps {
		require.NoError(t, w.RunFor(time.Minute))
		n.PowerOff()
		n.Restart()
	}
	require.Equal(t, len(steps), ran)
}

func put(t require.TestingT, d host.Disk, name, data string, sync bool) {
	f, err := d.Open(name, host.CreateTruncate)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte(data), 0)
	require.NoError(t, err)
	if sync {
		require.NoError(t, f.Sync())
		require.NoError(t, d.SyncDir(""))
	}
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.Close(), fs.ErrClosed)
}

func TestDiskErrors(t *testing.T) {
	onDisk(t, 1, func(d host.Disk) {
		_, err := d.Open("none", host.ReadWrite)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorIs(t, d.Rename("none", "other"), fs.ErrNotExist)
		require.ErrorIs(t, d.Remove("none"), fs.ErrNotExist)
		_, err = d.Open("../up", host.Create)
		require.ErrorIs(t, err, fs.ErrInvalid)
		put(t, d, "dir/a", "abc", false)
		_, err = d.Open("dir/a", host.CreateNew)
		require.ErrorIs(t, err, fs.ErrExist)
		names, err := d.List("dir")
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, names)
		f, err := d.Open("dir/a", host.ReadWrite)
		require.NoError(t, err)
		p := make([]byte, 5)
		n, err := f.ReadAt(p, 1)
		require.Equal(t, 2, n)
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, f.Truncate(1))
		size, err := f.Size()
		require.NoError(t, err)
		require.EqualValues(t, 1, size)
		require.NoError(t, f.Truncate(3))
		_, err = f.ReadAt(p[:3], 0)
		require.NoError(t, err)
		require.Equal(t, "a\x00\x00", string(p[:3]))
	})
}

// Whatever is synced is there after any crash; what was not synced may be there or not, and both
// must happen.
func TestDiskCrash(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(200) {
		onDisk(t, seed,
			func(d host.Disk) {
				put(t, d, "synced", "old", true)
				f, _ := d.Open("synced", host.ReadWrite)
				_, _ = f.WriteAt([]byte("new"), 0)
				put(t, d, "tmp", "whole", true)
				put(t, d, "unsynced", "data", false)
				require.NoError(t, d.Rename("tmp", "renamed"))
			},
			func(d host.Disk) {
				data, err := host.ReadFile(d, "synced")
				require.NoError(t, err)
				require.Contains(t, []string{"old", "new"}, string(data))
				outcomes["synced:"+string(data)]++
				if _, err := host.ReadFile(d, "unsynced"); err != nil {
					require.ErrorIs(t, err, fs.ErrNotExist)
					outcomes["file lost"]++
				} else {
					outcomes["file kept"]++
				}
				_, errTmp := host.ReadFile(d, "tmp")
				whole, errRenamed := host.ReadFile(d, "renamed")
				require.True(t, (errTmp == nil) != (errRenamed == nil), "a rename is atomic")
				if errRenamed == nil {
					require.Equal(t, "whole", string(whole))
					outcomes["renamed"]++
				} else {
					outcomes["not renamed"]++
				}
			})
	}
	for _, o := range []string{"synced:old", "synced:new", "file lost", "file kept", "renamed", "not renamed"} {
		require.Greater(t, outcomes[o], 10, o)
	}
}

// Random writes, syncs and crashes against a plain byte slice: after a crash each byte is the one
// last synced or one written since.
func TestDiskProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		possible := map[int64]map[byte]bool{} // by offset, since the last sync
		latest := []byte{}
		var first func(host.Disk)
		n := rapid.IntRange(1, 20).Draw(t, "ops")
		type op struct {
			sync bool
			off  int
			data []byte
		}
		ops := make([]op, n)
		for i := range ops {
			ops[i] = op{rapid.IntRange(0, 3).Draw(t, "sync") == 0, rapid.IntRange(0, 2000).Draw(t, "off"),
				rapid.SliceOfN(rapid.Byte(), 1, 1500).Draw(t, "data")}
		}
		synced := 0
		first = func(d host.Disk) {
			put(t, d, "f", "", true)
			f, err := d.Open("f", host.ReadWrite)
			require.NoError(t, err)
			for _, o := range ops {
				if o.sync {
					require.NoError(t, f.Sync())
					clear(possible)
					synced = len(latest)
					continue
				}
				_, err := f.WriteAt(o.data, int64(o.off))
				require.NoError(t, err)
				if grow := o.off + len(o.data) - len(latest); grow > 0 {
					latest = append(latest, make([]byte, grow)...)
				}
				for i, b := range o.data {
					at := int64(o.off + i)
					if possible[at] == nil {
						possible[at] = map[byte]bool{latest[at]: true}
						if at >= int64(synced) {
							possible[at][0] = true // a hole
						}
					}
					possible[at][b] = true
				}
				copy(latest[o.off:], o.data)
			}
		}
		onDisk(t, rapid.Uint64().Draw(t, "seed"), first, func(d host.Disk) {
			data, err := host.ReadFile(d, "f")
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(data), synced)
			require.LessOrEqual(t, len(data), len(latest))
			for i, b := range data {
				if p := possible[int64(i)]; p != nil {
					require.True(t, p[b], "byte %d is %d", i, b)
				} else {
					require.True(t, b == latest[i] || b == 0 && i >= synced, "byte %d is %d", i, b)
				}
			}
		})
	})
}

// A node with the rules sees errors; what it does not see is that they corrupt anything synced.
func TestDiskRules(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	var fail, full, slow func()
	n := w.NewNode("n", func(host.Host) {})
	w.Go("test", func() {
		done := host.NewChan[error](w.Host(), "done", 0)
		do := func(fn func(d host.Disk) error) error {
			h := n.Host()
			h.Go("op", func() { done.Send(fn(h.Disk())) })
			err, _ := done.Recv()
			return err
		}
		put := func(name, data string) error {
			return do(func(d host.Disk) error {
				f, err := d.Open(name, host.CreateTruncate)
				if err != nil {
					return err
				}
				if _, err := f.WriteAt([]byte(data), 0); err != nil {
					return err
				}
				if err := f.Sync(); err != nil {
					return err
				}
				return d.SyncDir("")
			})
		}
		require.NoError(t, put("f", "before"))
		full = n.AddDiskRule(sim.DiskRule{Full: true})
		require.ErrorIs(t, put("g", "more"), host.ErrNoSpace)
		require.NoError(t, do(func(d host.Disk) error {
			f, err := d.Open("f", host.ReadWrite)
			require.NoError(t, err)
			_, err = f.WriteAt([]byte("B"), 0) // needs no more room
			return err
		}))
		full()
		require.NoError(t, put("g", "more"))

		slow = n.AddDiskRule(sim.DiskRule{Delay: sim.Fixed(time.Second)})
		before := w.Now()
		require.NoError(t, put("h", "slow"))
		require.GreaterOrEqual(t, w.Now()-before, 4*time.Second)
		slow()

		fail = n.AddDiskRule(sim.DiskRule{Fail: 500_000})
		failed := 0
		for range 100 {
			if err := put("x", "data"); err != nil {
				require.ErrorIs(t, err, host.ErrIO)
				failed++
			}
		}
		require.Greater(t, failed, 50)
		fail()
		require.NoError(t, put("x", "data"))
	})
	require.NoError(t, w.Run())
}

// What a failed sync leaves behind is seen by reads, and may be gone after a crash although a later
// sync succeeded.
func TestFailedSyncIsNotMendedByTheNext(t *testing.T) {
	lost, kept := 0, 0
	for seed := range uint64(100) {
		w := sim.New(sim.Config{Seed: seed})
		n := w.NewNode("n", func(host.Host) {})
		w.Go("test", func() {
			done := host.NewChan[struct{}](w.Host(), "done", 0)
			h := n.Host()
			h.Go("op", func() {
				put(t, h.Disk(), "f", "old", true)
				f, err := h.Disk().Open("f", host.ReadWrite)
				require.NoError(t, err)
				_, err = f.WriteAt([]byte("new"), 0)
				require.NoError(t, err)
				remove := n.AddDiskRule(sim.DiskRule{Fail: 1_000_000})
				require.ErrorIs(t, f.Sync(), host.ErrIO)
				remove()
				require.NoError(t, f.Sync())
				data, err := host.ReadFile(h.Disk(), "f")
				require.NoError(t, err)
				require.Equal(t, "new", string(data))
				done.Send(struct{}{})
			})
			done.Recv()
			n.PowerOff()
			switch string(n.DiskFile("f")) {
			case "old":
				lost++
			case "new":
				kept++
			}
		})
		require.NoError(t, w.Run())
		w.Close()
	}
	require.Equal(t, 100, lost+kept)
	require.Greater(t, lost, 20)
	require.Greater(t, kept, 20)
}

func TestUnsyncedModes(t *testing.T) {
	for mode, want := range map[sim.Unsynced][]string{
		sim.UnsyncedLost: {"old"}, sim.UnsyncedKept: {"new"}, sim.UnsyncedTorn: {"old", "new"}, // one sector: there or not
	} {
		seen := map[string]bool{}
		for seed := range uint64(40) {
			w := sim.New(sim.Config{Seed: seed})
			n := w.NewNode("n", func(h host.Host) {
				put(t, h.Disk(), "f", "old", true)
				f, err := h.Disk().Open("f", host.ReadWrite)
				require.NoError(t, err)
				_, err = f.WriteAt([]byte("new"), 0)
				require.NoError(t, err)
			})
			require.NoError(t, w.RunFor(time.Second))
			n.SetUnsynced(mode)
			n.PowerOff()
			seen[string(n.DiskFile("f"))] = true
			w.Close()
		}
		require.Len(t, seen, len(want), "%d", mode)
		for _, s := range want {
			require.True(t, seen[s], "%d %s", mode, s)
		}
	}
}

func TestDamage(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	n := w.NewNode("n", func(h host.Host) {
		put(t, h.Disk(), "f", string(make([]byte, 2000)), true)
		f, err := h.Disk().Open("f", host.ReadWrite)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte{1}, 0)
		require.NoError(t, err)
		require.NoError(t, f.Sync())
	})
	s := w.NewStream("damage")
	_, ok := n.CorruptDisk(s)
	require.False(t, ok, "nothing is durable yet")
	require.NoError(t, w.RunFor(time.Second))
	name, ok := n.CorruptDisk(s)
	require.True(t, ok)
	require.Equal(t, "f", name)
	ones := 0
	for _, b := range n.DiskFile("f") {
		if b != 0 {
			ones++
		}
	}
	require.InDelta(t, 2, ones, 1, "a bit was flipped beside the one byte that was set")
	before := n.DiskFile("f")
	moved := false
	for range 20 {
		n.MisdirectDisk(s)
		moved = moved || !bytes.Equal(before, n.DiskFile("f"))
	}
	require.True(t, moved, "a sector lies where another was")
	n.PowerOff()
	n.Wipe()
	n.Restart()
	require.Nil(t, n.DiskFile("f"))
	require.Panics(t, n.Wipe, "of a node that is up")
}

// The next process reads what a killed one had not synced. It is not durable for that, not even after a
// sync that succeeds when one of the dead process had failed.
func TestKillKeepsWhatWasNotSynced(t *testing.T) {
	for _, failedSync := range []bool{false, true} {
		found := map[string]int{}
		for seed := range uint64(60) {
			w := sim.New(sim.Config{Seed: seed})
			lives, read := 0, ""
			var fail func()
			n := w.NewNode("n", func(h host.Host) {
				lives++
				if lives > 1 {
					data, err := host.ReadFile(h.Disk(), "f")
					require.NoError(t, err)
					read = string(data)
					if failedSync {
						f, err := h.Disk().Open("f", host.ReadWrite)
						require.NoError(t, err)
						require.NoError(t, f.Sync())
					}
					return
				}
				put(t, h.Disk(), "f", "old", true)
				f, err := h.Disk().Open("f", host.ReadWrite)
				require.NoError(t, err)
				_, err = f.WriteAt([]byte("new"), 0)
				require.NoError(t, err)
				if failedSync {
					fail()
					require.ErrorIs(t, f.Sync(), host.ErrIO)
				}
			})
			var mend func()
			fail = func() { mend = n.AddDiskRule(sim.DiskRule{Fail: 1_000_000}) }
			require.NoError(t, w.RunFor(time.Second))
			if failedSync {
				mend()
			}
			n.Kill()
			require.False(t, n.Up())
			n.Restart()
			require.NoError(t, w.RunFor(time.Second))
			require.Equal(t, "new", read)
			n.Crash()
			found[string(n.DiskFile("f"))]++
			w.Close()
		}
		require.Len(t, found, 2, "%v", found)
		require.Greater(t, found["old"], 10)
		require.Greater(t, found["new"], 10)
	}
}
