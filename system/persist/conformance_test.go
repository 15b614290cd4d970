package persist_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/persist/persisttest"
)

func version(n persist.SeqNo, data string) persist.Versioned {
	return persist.Versioned{SeqNo: n, Data: []byte(data)}
}

// setup makes benches of a kind of stores, one for each of some seeds.
func setup[S any](open func(*sim.World) persisttest.Bench[S]) persisttest.Setup[S] {
	return func(t testing.TB, body func(persisttest.Bench[S])) {
		for seed := range uint64(3) {
			w := sim.New(sim.Config{Seed: seed, MaxTime: 24 * time.Hour, Buggify: seed%2 == 1})
			w.Go("test", func() {
				defer w.Stop()
				body(open(w))
			})
			err := w.Run()
			w.Close()
			require.NoError(t, err, "seed %d", seed)
			if _, ok := t.(*testing.B); ok || t.Failed() {
				return // one is as good as another, or bad enough
			}
		}
	}
}

// The suite of package persisttest, on this package's Consensus stores.
var consensusSetups = map[string]persisttest.Setup[persist.Consensus]{
	"memory": setup(func(w *sim.World) persisttest.Bench[persist.Consensus] {
		c := persist.NewMemConsensus(w.Host())
		return persisttest.Bench[persist.Consensus]{Host: w.Host(), Client: func() persist.Consensus { return c }}
	}),
	"disk": setup(func(w *sim.World) persisttest.Bench[persist.Consensus] {
		open := func() *persist.DiskConsensus {
			c, err := persist.OpenDiskConsensus(w.Host(), "dir")
			if err != nil {
				panic(err)
			}
			return c
		}
		c := open()
		return persisttest.Bench[persist.Consensus]{
			Host:   w.Host(),
			Client: func() persist.Consensus { return c },
			Reopen: func() {
				if err := c.Close(); err != nil {
					panic(err)
				}
				c = open()
			},
		}
	}),
	"served": setup(func(w *sim.World) persisttest.Bench[persist.Consensus] {
		s := served(w)
		return persisttest.Bench[persist.Consensus]{
			Host:   w.Host(),
			Client: func() persist.Consensus { return s.consensus(w.Host()) },
			Reopen: func() { restart(w, s.nodes[1]); w.Sleep(100 * time.Millisecond) },
			Crash:  func() { restart(w, s.nodes[1]) },
		}
	}),
}

// And on its Blob stores.
var blobSetups = map[string]persisttest.Setup[persist.Blob]{
	"memory": setup(func(w *sim.World) persisttest.Bench[persist.Blob] {
		b := persist.NewMemBlob(w.Host())
		return persisttest.Bench[persist.Blob]{Host: w.Host(), Client: func() persist.Blob { return b }}
	}),
	"disk": setup(func(w *sim.World) persisttest.Bench[persist.Blob] {
		open := func() *persist.DiskBlob {
			b, err := persist.OpenDiskBlob(w.Host(), "dir")
			if err != nil {
				panic(err)
			}
			return b
		}
		b := open()
		return persisttest.Bench[persist.Blob]{
			Host:   w.Host(),
			Client: func() persist.Blob { return b },
			Reopen: func() { b = open() },
		}
	}),
	"served": setup(func(w *sim.World) persisttest.Bench[persist.Blob] {
		s := served(w)
		return persisttest.Bench[persist.Blob]{
			Host:   w.Host(),
			Client: func() persist.Blob { return s.blob(w.Host()) },
			Reopen: func() { restart(w, s.nodes[0]); w.Sleep(100 * time.Millisecond) },
			Crash:  func() { restart(w, s.nodes[0]) },
		}
	}),
}

// restart ends a node's life, in one of the ways in which it may end, and begins the next.
func restart(w *sim.World, n *sim.Node) {
	if w.Host().Rand().IntN(2) == 0 {
		n.PowerOff()
	} else {
		n.Crash()
	}
	w.Sleep(time.Duration(w.Host().Rand().IntN(20)) * time.Millisecond)
	n.Restart()
}

func TestConsensusConformance(t *testing.T) {
	for name, setup := range consensusSetups {
		t.Run(name, func(t *testing.T) { persisttest.RunConsensus(t, setup) })
	}
}

func TestBlobConformance(t *testing.T) {
	for name, setup := range blobSetups {
		t.Run(name, func(t *testing.T) { persisttest.RunBlob(t, setup) })
	}
}

func BenchmarkConsensus(b *testing.B) {
	for name, setup := range consensusSetups {
		b.Run(name, func(b *testing.B) { persisttest.BenchmarkConsensus(b, setup) })
	}
}

func BenchmarkBlob(b *testing.B) {
	for name, setup := range blobSetups {
		b.Run(name, func(b *testing.B) { persisttest.BenchmarkBlob(b, setup) })
	}
}

// Versions are acknowledged and read while the server crashes. What was acknowledged stays,
// what surely failed is not there, and nobody reads what is lost afterwards.
func TestConsensusSurvivesCrashes(t *testing.T) {
	unknown := 0
	inWorld(t, 20, func(w *sim.World) {
		s := served(w)
		c := s.consensus(w.Host())
		defer crashing(w, s.nodes)()
		var seen persist.SeqNo // acknowledged or read
		outcomes := map[persist.SeqNo]string{}
		done := false
		for range 3 { // who read while the writer waits for its answer
			w.Go("watch", func() {
				c := s.consensus(w.Host())
				for !done {
					before := seen
					if v, err := c.Head(background, "k"); err == nil {
						require.GreaterOrEqual(t, v.SeqNo, before, "a version that was seen is gone")
						seen = max(seen, v.SeqNo)
					}
					w.Sleep(200 * time.Microsecond)
				}
			})
		}
		for i := range 300 {
			before := seen
			v, err := c.Head(background, "k")
			if err != nil {
				continue
			}
			require.GreaterOrEqual(t, v.SeqNo, before, "a version that was seen is gone")
			seen = max(seen, v.SeqNo)
			next := version(v.SeqNo+1, fmt.Sprint("try ", i))
			committed, err := c.CompareAndSet(background, "k", v.SeqNo, next)
			switch {
			case err == nil && committed:
				seen = max(seen, next.SeqNo)
				outcomes[next.SeqNo] = string(next.Data)
			case err == nil, errors.Is(err, persist.ErrDeterminate):
			default:
				require.ErrorIs(t, err, persist.ErrIndeterminate)
				unknown++
			}
		}
		done = true
		versions, err := c.Scan(background, "k", 0, 1000)
		for err != nil {
			versions, err = c.Scan(background, "k", 0, 1000)
		}
		require.Greater(t, len(versions), 50)
		for i, v := range versions {
			require.Equal(t, persist.SeqNo(i+1), v.SeqNo)
			if data, ok := outcomes[v.SeqNo]; ok {
				require.Equal(t, data, string(v.Data))
				delete(outcomes, v.SeqNo)
			}
		}
		require.Empty(t, outcomes, "acknowledged versions are missing")
	})
	require.Positive(t, unknown)
}

func TestBlobSurvivesCrashes(t *testing.T) {
	inWorld(t, 20, func(w *sim.World) {
		s := served(w)
		b := s.blob(w.Host())
		defer crashing(w, s.nodes)()
		present := map[string]bool{} // as acknowledged; absent: not known
		acknowledged := 0
		for i := range 300 {
			key := fmt.Sprint("k", i%20)
			switch i % 3 {
			case 0:
				if b.Set(background, key, []byte(key)) == nil {
					present[key] = true
					acknowledged++
				} else {
					delete(present, key)
				}
			case 1:
				if _, _, err := b.Delete(background, key); err == nil {
					present[key] = false
				} else {
					delete(present, key)
				}
			case 2:
				value, found, err := b.Get(background, key)
				if err != nil {
					continue
				}
				if want, known := present[key]; known {
					require.Equal(t, want, found, key)
				}
				if found {
					require.Equal(t, key, string(value))
				}
				// What was read stays so.
				present[key] = found
			}
		}
		require.Greater(t, acknowledged, 10)
	})
}
