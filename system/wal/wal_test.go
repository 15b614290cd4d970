package wal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/wal"
)

var magic = wal.Magic{'t', 'e', 's', 't'}

func inWorld(t testing.TB, seed uint64, body func(w *sim.World, h host.Host)) {
	t.Helper()
	w := sim.New(sim.Config{Seed: seed, MaxTime: time.Hour})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		body(w, w.Host())
	})
	require.NoError(t, w.Run())
}

// open opens the log and returns the records it replayed.
func open(h host.Host) (*wal.Log, []string, error) {
	var got []string
	l, err := wal.Open(h, "dir", "log", magic, func(p []byte) error {
		if string(p) == "poison" {
			return errors.New("makes no sense")
		}
		got = append(got, string(p))
		return nil
	})
	return l, got, err
}

// appended leaves a log with the given records more, and returns its bytes.
func appended(t testing.TB, h host.Host, records ...string) []byte {
	l, _, err := open(h)
	require.NoError(t, err)
	for _, r := range records {
		_, err := l.Append([]byte(r))
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
	content, err := host.ReadFile(h.Disk(), "dir/log")
	require.NoError(t, err)
	return content
}

func TestReplay(t *testing.T) {
	inWorld(t, 0, func(_ *sim.World, h host.Host) {
		want := []string{"one", "", "three", string(make([]byte, 5000))}
		appended(t, h, want...)
		l, got, err := open(h)
		require.NoError(t, err)
		require.Equal(t, want, got)
		_, err = l.Append([]byte("five"))
		require.NoError(t, err)
		_, got, err = open(h)
		require.NoError(t, err)
		require.Equal(t, append(want, "five"), got)
	})
}

func write(t testing.TB, h host.Host, content ...[]byte) {
	f, err := h.Disk().Open("dir/log", host.CreateTruncate)
	require.NoError(t, err)
	_, err = f.WriteAt(slices.Concat(content...), 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// Cut anywhere, a log loses its last records and nothing else, and can be appended to.
func TestTornTail(t *testing.T) {
	inWorld(t, 0, func(_ *sim.World, h host.Host) {
		content := appended(t, h, "one", "two", "three")
		ends := []int{0, wal.Overhead + 3, 2*wal.Overhead + 6, 3*wal.Overhead + 11}
		require.Len(t, content, ends[3])
		for size := range len(content) + 1 {
			whole := 0
			for whole < 3 && ends[whole+1] <= size {
				whole++
			}
			// The rest of the tail is missing, or zeros, or what was there before.
			for _, rest := range []string{"", "\x00\x00\x00\x00\x00\x00\x00\x00", "testtesttesttesttesttest"} {
				write(t, h, content[:size], []byte(rest))
				l, got, err := open(h)
				require.NoError(t, err, "cut at %d", size)
				require.Equal(t, []string{"one", "two", "three"}[:whole], append([]string{}, got...), "cut at %d", size)
				_, err = l.Append([]byte("new"))
				require.NoError(t, err)
				_, again, err := open(h)
				require.NoError(t, err)
				require.Equal(t, append(got, "new"), again)
			}
		}
	})
}

// A flipped bit is never replayed. Where valid records follow, it is reported.
func TestDamage(t *testing.T) {
	inWorld(t, 0, func(_ *sim.World, h host.Host) {
		content := appended(t, h, "one", "two", "three")
		second, last := wal.Overhead+3, 2*wal.Overhead+6
		for bit := range 8 * len(content) {
			damaged := append([]byte(nil), content...)
			damaged[bit/8] ^= 1 << (bit % 8)
			write(t, h, damaged)
			_, got, err := open(h)
			if bit/8 < last {
				require.ErrorIs(t, err, wal.ErrCorrupt, "bit %d", bit)
				continue
			}
			require.NoError(t, err, "bit %d", bit)
			require.Equal(t, []string{"one", "two"}, got)
		}
		write(t, h, content[:second], content[last:])
		_, _, err := open(h)
		require.ErrorIs(t, err, wal.ErrCorrupt, "a record is missing")
		require.ErrorContains(t, err, "no valid record 2 at byte 23, but record 3 follows at byte 23: restore the log from a copy")
	})
}

func TestWhatMakesNoSenseIsReported(t *testing.T) {
	inWorld(t, 0, func(_ *sim.World, h host.Host) {
		appended(t, h, "one", "poison")
		_, _, err := open(h)
		require.ErrorIs(t, err, wal.ErrCorrupt)
		require.ErrorContains(t, err, "record 2: makes no sense")
	})
}

// A log of another service is left as it is, where a torn tail would be cut off.
func TestMagic(t *testing.T) {
	inWorld(t, 0, func(_ *sim.World, h host.Host) {
		content := appended(t, h, "one", "two")
		_, err := wal.Open(h, "dir", "log", wal.Magic{'e', 'l', 's', 'e'}, func([]byte) error { return nil })
		require.ErrorIs(t, err, wal.ErrCorrupt)
		require.ErrorContains(t, err, `a log of magic "test", this one's is "else"`)
		now, err := host.ReadFile(h.Disk(), "dir/log")
		require.NoError(t, err)
		require.Equal(t, content, now)
	})
}

// A record whose length a frame can't hold would be cut off when the log is read.
func TestRecordsThatAreTooLong(t *testing.T) {
	inWorld(t, 1, func(_ *sim.World, h host.Host) {
		log, _, err := open(h)
		require.NoError(t, err)
		undone, err := log.Append([]byte("one"))
		require.NoError(t, err)
		require.False(t, undone)
		long := make([]byte, wal.MaxRecord+1)
		undone, err = log.Append(long)
		require.ErrorIs(t, err, wal.ErrTooLong)
		require.True(t, undone)
		require.ErrorIs(t, log.Rewrite([]byte("new"), long), wal.ErrTooLong)
		require.NoError(t, log.Close())
		_, records, err := open(h)
		require.NoError(t, err)
		require.Equal(t, []string{"one"}, records)
	})
}

func TestRewrite(t *testing.T) {
	inWorld(t, 0, func(_ *sim.World, h host.Host) {
		appended(t, h, "0", "1", "2", "3")
		l, _, err := open(h)
		require.NoError(t, err)
		require.NoError(t, l.Rewrite([]byte("all"), []byte("of it")))
		_, err = l.Append([]byte("more"))
		require.NoError(t, err)
		size := l.Size()
		l, got, err := open(h)
		require.NoError(t, err)
		require.Equal(t, []string{"all", "of it", "more"}, got)
		require.Equal(t, size, l.Size())
		names, err := h.Disk().List("dir")
		require.NoError(t, err)
		require.Equal(t, []string{"log"}, names)

		require.NoError(t, l.Rewrite())
		_, got, err = open(h)
		require.NoError(t, err)
		require.Empty(t, got)
	})
}

// At any moment of appends and rewrites the machine may crash. What was acknowledged is there
// afterwards, in order, and what follows it is at most the one append that was not.
func TestCrashes(t *testing.T) {
	torn := 0
	for seed := range uint64(200) {
		inWorld(t, seed, func(w *sim.World, _ host.Host) {
			var replayed, acknowledged []string
			unanswered, next := "", 0
			n := w.NewNode("n", func(h host.Host) {
				l, got, err := open(h)
				require.NoError(t, err, "seed %d", seed)
				replayed = got
				if len(got) > len(acknowledged) {
					acknowledged = append(acknowledged, unanswered)
				}
				require.Equal(t, acknowledged, got, "seed %d", seed)
				for {
					if next++; next%7 == 0 {
						require.NoError(t, l.Rewrite(asRecords(acknowledged)...))
						continue
					}
					// Larger than a sector, so that it can be torn.
					unanswered = fmt.Sprintf("%d %0600d", next, next)
					_, err := l.Append([]byte(unanswered))
					require.NoError(t, err)
					acknowledged = append(acknowledged, unanswered)
				}
			})
			random := w.NewStream("test", "crashes")
			for range 10 {
				w.Sleep(time.Duration(random.Between(1, 30)) * time.Millisecond)
				n.Crash()
				n.Restart()
			}
			w.Sleep(30 * time.Millisecond)
			require.NotEmpty(t, replayed)
			torn += w.Sometimes()["wal: a torn tail was cut off"]
		})
	}
	require.Positive(t, torn)
}

func asRecords(records []string) [][]byte {
	var all [][]byte
	for _, r := range records {
		all = append(all, []byte(r))
	}
	return all
}

// A record whose append failed is taken back, whatever the disk did with it.
func TestFailedAppendsAreTakenBack(t *testing.T) {
	for seed := range uint64(30) {
		inWorld(t, seed, func(_ *sim.World, real host.Host) {
			disk := &failingDisk{Disk: real.Disk(), h: real}
			h := hostWithDisk{real, disk}
			l, _, err := open(h)
			require.NoError(t, err)
			disk.rate = 4
			var in []string
			failed := 0
			for i := range 200 {
				if i%20 == 10 {
					_ = l.Rewrite(asRecords(in)...) // done or not, the log is the same
				}
				if _, err := l.Append([]byte(fmt.Sprint(i))); err != nil {
					require.ErrorIs(t, err, host.ErrIO)
					failed++
					continue
				}
				in = append(in, fmt.Sprint(i))
			}
			require.Positive(t, failed)
			require.NotEmpty(t, in)
			disk.rate = 0
			_, err = l.Append([]byte("end"))
			require.NoError(t, err)
			_, got, err := open(h)
			require.NoError(t, err)
			require.Equal(t, append(in, "end"), got)
		})
	}
}

// On a disk that fails and a machine that crashes, the log holds what was acknowledged, in order, and
// beyond that only what was left open.
func TestFailingDisk(t *testing.T) {
	failed, torn := 0, 0
	for seed := range uint64(40) {
		inWorld(t, seed, func(w *sim.World, _ host.Host) {
			var acknowledged, pending []string // pending: of unknown outcome, after the acknowledged
			n := w.NewNode("n", func(h host.Host) {
				l, got, err := open(h)
				for err != nil {
					require.NotErrorIs(t, err, wal.ErrCorrupt)
					require.NotErrorIs(t, err, fs.ErrInvalid)
					h.Clock().Sleep(time.Millisecond)
					l, got, err = open(h)
				}
				require.GreaterOrEqual(t, len(got), len(acknowledged))
				if len(got) > len(acknowledged) {
					require.Contains(t, pending, got[len(got)-1])
					acknowledged = append(acknowledged, got[len(got)-1])
				}
				require.Equal(t, acknowledged, append([]string(nil), got...))
				pending = nil
				for i := 0; ; i++ {
					record := fmt.Sprint(h.Incarnation(), "/", i)
					pending = append(pending, record)
					undone, err := l.Append([]byte(record))
					switch {
					case err == nil:
						acknowledged, pending = append(acknowledged, record), nil
					case undone:
						pending = pending[:len(pending)-1]
					}
					if i%5 == 4 {
						if l.Rewrite(asRecords(acknowledged)...) != nil {
							failed++
						}
					}
					h.Clock().Sleep(time.Millisecond)
				}
			})
			calm := n.AddDiskRule(sim.DiskRule{Fail: 60_000})
			random := w.NewStream("test")
			for range 20 {
				w.Sleep(time.Duration(random.Between(1, 30)) * time.Millisecond)
				n.PowerOff()
				n.Restart()
			}
			calm()
			w.Sleep(20 * time.Millisecond)
			require.Greater(t, len(acknowledged), 20)
			torn += w.Sometimes()["wal: a torn tail was cut off"]
		})
	}
	require.Positive(t, failed)
	require.Positive(t, torn)
}

// What a log has replayed stays, even if it was only in the system's memory after a sync that failed.
func TestWhatIsReplayedStays(t *testing.T) {
	inMemory := 0
	for seed := range uint64(200) {
		inWorld(t, seed, func(w *sim.World, _ host.Host) {
			var n *sim.Node
			var replayed []string
			n = w.NewNode("n", func(h host.Host) {
				l, got, err := open(h)
				require.NoError(t, err)
				if h.Incarnation() > 1 {
					require.Equal(t, replayed, got)
					return
				}
				calm := n.AddDiskRule(sim.DiskRule{Fail: 500_000})
				undone, err := l.Append([]byte("x"))
				calm()
				require.NoError(t, l.Close())
				if err != nil && !undone {
					_, replayed, err = open(h)
					require.NoError(t, err)
					inMemory += len(replayed)
				} else if err == nil {
					replayed = []string{"x"}
				}
			})
			w.Sleep(time.Second)
			n.PowerOff()
			n.Restart()
			w.Sleep(time.Second)
		})
	}
	require.Positive(t, inMemory)
}

func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() {
		for life := range 2 {
			replay := func(record []byte) error {
				fmt.Printf("life %d finds %s\n", life, record)
				return nil
			}
			l, err := wal.Open(w.Host(), "", "log", wal.Magic{'e', 'x', '1', '\n'}, replay)
			if err != nil {
				fmt.Println(err)
				return
			}
			_, err = l.Append([]byte("x = 1"))
			fmt.Println("append:", err)
			l.Close()
		}
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// append: <nil>
	// life 1 finds x = 1
	// append: <nil>
}

func BenchmarkAppend(b *testing.B) {
	record := make([]byte, 200)
	inWorld(b, 0, func(_ *sim.World, h host.Host) {
		l, _, err := open(h)
		require.NoError(b, err)
		b.SetBytes(int64(len(record)))
		for b.Loop() {
			if _, err := l.Append(record); err != nil {
				b.Error(err)
			}
		}
	})
}
