package persist

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// onHost runs body as a task of a world without nodes.
func onHost(t *testing.T, seed uint64, body func(h host.Host)) {
	t.Helper()
	onWorld(t, seed, func(w *sim.World) { body(w.Host()) })
}

// onWorld is onHost for tests that make nodes.
func onWorld(t *testing.T, seed uint64, body func(w *sim.World)) {
	t.Helper()
	w := sim.New(sim.Config{Seed: seed})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		body(w)
	})
	require.NoError(t, w.Run())
}

// open opens the log "log" and returns the payloads it replayed.
func open(h host.Host) (*recordLog, []string, error) {
	var got []string
	l, err := openRecordLog(h, "", "log", func(p []byte) error {
		if string(p) == "poison" {
			return errors.New("makes no sense")
		}
		got = append(got, string(p))
		return nil
	})
	return l, got, err
}

// withLog leaves a log with the given payloads and returns its bytes.
func withLog(t *testing.T, h host.Host, payloads ...string) []byte {
	l, _, err := open(h)
	require.NoError(t, err)
	for _, p := range payloads {
		_, err := l.append([]byte(p))
		require.NoError(t, err)
	}
	require.NoError(t, l.close())
	content, err := host.ReadFile(h.Disk(), "log")
	require.NoError(t, err)
	return content
}

func write(t *testing.T, h host.Host, name string, content []byte) {
	f, err := h.Disk().Open(name, host.CreateTruncate)
	require.NoError(t, err)
	_, err = f.WriteAt(content, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestLogReplaysWhatWasAppended(t *testing.T) {
	onHost(t, 0, func(h host.Host) {
		want := []string{"one", "", "three", string(make([]byte, 5000))}
		withLog(t, h, want...)
		l, got, err := open(h)
		require.NoError(t, err)
		require.Equal(t, want, got)
		_, err = l.append([]byte("five"))
		require.NoError(t, err)
		_, got, err = open(h)
		require.NoError(t, err)
		require.Equal(t, append(want, "five"), got)
	})
}

// Cut anywhere, a log loses its last frames and nothing else, and can be appended to.
func TestLogTornTail(t *testing.T) {
	onHost(t, 0, func(h host.Host) {
		content := withLog(t, h, "one", "two", "three")
		ends := []int{0, frameHeader + 3, 2*frameHeader + 6, 3*frameHeader + 11}
		require.Len(t, content, ends[3])
		for size := range len(content) + 1 {
			whole := 0
			for whole < 3 && ends[whole+1] <= size {
				whole++
			}
			// The rest of the tail is missing, or zeros, or what was there before.
			for _, rest := range []string{"", "\x00\x00\x00\x00\x00\x00\x00\x00", "srl1srl1srl1srl1srl1srl1"} {
				write(t, h, "log", append(append([]byte(nil), content[:size]...), rest...))
				l, got, err := open(h)
				require.NoError(t, err, "cut at %d", size)
				require.Equal(t, []string{"one", "two", "three"}[:whole], append([]string{}, got...), "cut at %d", size)
				_, err = l.append([]byte("new"))
				require.NoError(t, err)
				_, again, err := open(h)
				require.NoError(t, err)
				require.Equal(t, append(got, "new"), again)
			}
		}
	})
}

// A flipped bit is never replayed. Where valid frames follow, it is reported.
func TestLogCorruption(t *testing.T) {
	onHost(t, 0, func(h host.Host) {
		content := withLog(t, h, "one", "two", "three")
		last := 2*frameHeader + 6
		for bit := range 8 * len(content) {
			damaged := append([]byte(nil), content...)
			damaged[bit/8] ^= 1 << (bit % 8)
			write(t, h, "log", damaged)
			_, got, err := open(h)
			if bit/8 < last {
				require.ErrorIs(t, err, ErrCorrupt, "bit %d", bit)
				continue
			}
			require.NoError(t, err, "bit %d", bit)
			require.Equal(t, []string{"one", "two"}, got)
		}
		write(t, h, "log", append(append([]byte(nil), content[:frameHeader+3]...), content[last:]...))
		_, _, err := open(h)
		require.ErrorIs(t, err, ErrCorrupt, "a frame is missing")
		require.ErrorContains(t, err, "frame 3 follows")

		write(t, h, "log", buildFrame(1, []byte("poison")))
		_, _, err = open(h)
		require.ErrorIs(t, err, ErrCorrupt, "valid, but it makes no sense")
	})
}

func TestLogRewrite(t *testing.T) {
	onHost(t, 0, func(h host.Host) {
		l, _, err := open(h)
		require.NoError(t, err)
		for i := range 10 {
			_, err := l.append([]byte(fmt.Sprint(i)))
			require.NoError(t, err)
		}
		require.NoError(t, l.rewrite([][]byte{[]byte("all"), []byte("of it")}))
		_, err = l.append([]byte("more"))
		require.NoError(t, err)
		_, got, err := open(h)
		require.NoError(t, err)
		require.Equal(t, []string{"all", "of it", "more"}, got)
		names, err := h.Disk().List("")
		require.NoError(t, err)
		require.Equal(t, []string{"log"}, names)

		require.NoError(t, l.rewrite(nil))
		_, got, err = open(h)
		require.NoError(t, err)
		require.Empty(t, got)
	})
}

// At any moment of appends and rewrites the machine may crash. What was acknowledged is there
// afterwards, in order, and what follows it is at most the one append that was not.
func TestLogCrashes(t *testing.T) {
	torn := 0
	for seed := range uint64(200) {
		w := sim.New(sim.Config{Seed: seed})
		var replayed, acknowledged []string
		unanswered, next := "", 0
		n := w.NewNode("n", func(h host.Host) {
			l, got, err := open(h)
			require.NoError(t, err, "seed %d", seed)
			replayed = got
			if l == nil {
				return
			}
			if len(got) > len(acknowledged) {
				acknowledged = append(acknowledged, unanswered)
			}
			require.Equal(t, acknowledged, got, "seed %d", seed)
			for {
				if next++; next%7 == 0 {
					var payloads [][]byte
					for _, p := range acknowledged {
						payloads = append(payloads, []byte(p))
					}
					require.NoError(t, l.rewrite(payloads))
					continue
				}
				// Larger than a sector, so that it can be torn.
				unanswered = fmt.Sprintf("%d %0600d", next, next)
				_, err := l.append([]byte(unanswered))
				require.NoError(t, err)
				acknowledged = append(acknowledged, unanswered)
			}
		})
		w.Go("crashes", func() {
			random := w.NewStream("test", "crashes")
			for range 10 {
				w.Sleep(millisecondsOf(random.Between(1, 30)))
				n.Crash()
				n.Restart()
			}
			w.Sleep(millisecondsOf(30))
		})
		require.NoError(t, w.Run(), "seed %d", seed)
		require.NotEmpty(t, replayed)
		torn += w.Sometimes()["persist: a torn tail was cut off a log"]
		w.Close()
	}
	require.Positive(t, torn)
}

func TestLogOnAFailingDisk(t *testing.T) {
	for seed := range uint64(30) {
		onHost(t, seed, func(real host.Host) {
			disk := &failingDisk{Disk: real.Disk(), h: real}
			h := hostWithDisk{real, disk}
			l, _, err := open(h)
			require.NoError(t, err)
			disk.rate = 4
			var in []string
			failed := 0
			for i := range 200 {
				p := fmt.Sprint(i)
				if i%20 == 10 {
					var payloads [][]byte
					for _, p := range in {
						payloads = append(payloads, []byte(p))
					}
					_ = l.rewrite(payloads) // done or not, the log is the same
				}
				if _, err := l.append([]byte(p)); err != nil {
					require.ErrorIs(t, err, host.ErrIO)
					failed++
					continue
				}
				in = append(in, p)
			}
			require.Positive(t, failed)
			require.NotEmpty(t, in)
			disk.rate = 0
			_, err = l.append([]byte("end"))
			require.NoError(t, err)
			_, got, err := open(h)
			require.NoError(t, err)
			require.Equal(t, append(in, "end"), got)
		})
	}
}

// What a log has replayed stays, even if it was only in the system's memory after a sync that failed.
func TestLogWhatIsReplayedStays(t *testing.T) {
	inMemory := 0
	for seed := range uint64(200) {
		onWorld(t, seed, func(w *sim.World) {
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
				undone, err := l.append([]byte("x"))
				calm()
				require.NoError(t, l.close())
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
