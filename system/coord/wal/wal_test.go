package wal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord/wal"
	"github.com/simrun-dev/simrun/system/host"
)

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
	l, err := wal.Open(h, "dir", "log", func(p []byte) error {
		if string(p) == "poison" {
			return errors.New("makes no sense")
		}
		got = append(got, string(p))
		return nil
	})
	return l, got, err
}

func appended(t testing.TB, h host.Host, records ...string) {
	l, _, err := open(h)
	require.NoError(t, err)
	for _, r := range records {
		_, err := l.Append([]byte(r))
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
}

func rewritten(t testing.TB, h host.Host, change func(content []byte) []byte) {
	content, err := host.ReadFile(h.Disk(), "dir/log")
	require.NoError(t, err)
	f, err := h.Disk().Open("dir/log", host.CreateTruncate)
	require.NoError(t, err)
	_, err = f.WriteAt(change(content), 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestReplay(t *testing.T) {
	inWorld(t, 0, func(_ *sim.World, h host.Host) {
		want := []string{"one", "", "three", string(make([]byte, 5000))}
		appended(t, h, want...)
		l, got, err := open(h)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, l.Rewrite([]byte("all"), []byte("of it")))
		_, err = l.Append([]byte("more"))
		require.NoError(t, err)
		size := l.Size()
		l, got, err = open(h)
		require.NoError(t, err)
		require.Equal(t, []string{"all", "of it", "more"}, got)
		require.Equal(t, size, l.Size())
	})
}

// Cut anywhere, a log loses its last records and nothing else, and can be appended to.
func TestTornTail(t *testing.T) {
	for cut := range 3*20 + 11 {
		inWorld(t, 0, func(_ *sim.World, h host.Host) {
			want := []string{"one", "two", "three"}
			appended(t, h, want...)
			rewritten(t, h, func(content []byte) []byte { return content[:len(content)-cut] })
			l, got, err := open(h)
			require.NoError(t, err)
			require.Equal(t, append([]string{}, want[:len(got)]...), append([]string{}, got...))
			require.Equal(t, cut == 0, len(got) == 3)
			_, err = l.Append([]byte("next"))
			require.NoError(t, err)
			_, again, err := open(h)
			require.NoError(t, err)
			require.Equal(t, append(got, "next"), again)
		})
	}
}

func TestDamageIsReported(t *testing.T) {
	inWorld(t, 0, func(_ *sim.World, h host.Host) {
		appended(t, h, "one", "two", "three")
		rewritten(t, h, func(content []byte) []byte { content[25] ^= 1; return content })
		_, _, err := open(h)
		require.ErrorIs(t, err, wal.ErrCorrupt)
		require.ErrorContains(t, err, "no valid record 2 at byte 23, but record 3 follows at byte 46: restore the log from a copy")
	})
	inWorld(t, 0, func(_ *sim.World, h host.Host) {
		appended(t, h, "one", "poison")
		_, _, err := open(h)
		require.ErrorIs(t, err, wal.ErrCorrupt)
		require.ErrorContains(t, err, "record 2: makes no sense")
	})
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
						var records [][]byte
						for _, r := range acknowledged {
							records = append(records, []byte(r))
						}
						if l.Rewrite(records...) != nil {
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
			torn += w.Sometimes()["coord/wal: a torn tail was cut off"]
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
			l, err := wal.Open(w.Host(), "", "log", replay)
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
