package persist_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

func version(n persist.SeqNo, data string) persist.Versioned {
	return persist.Versioned{SeqNo: n, Data: []byte(data)}
}

// What every Consensus does.
func TestConsensusConformance(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			inWorld(t, 4, func(w *sim.World) {
				consensusConformance(t, kind.open(w).consensus(w.Host()))
				consensusUnderContention(t, w, kind.open(w))
			})
		})
	}
}

func consensusConformance(t *testing.T, c persist.Consensus) {
	cas := func(key string, expected persist.SeqNo, next persist.Versioned, want bool) {
		t.Helper()
		committed, err := c.CompareAndSet(background, key, expected, next)
		require.NoError(t, err)
		require.Equal(t, want, committed)
	}
	head := func(key string, want persist.Versioned) {
		t.Helper()
		v, err := c.Head(background, key)
		require.NoError(t, err)
		require.Equal(t, want.SeqNo, v.SeqNo)
		require.Equal(t, string(want.Data), string(v.Data))
	}
	scan := func(key string, from persist.SeqNo, limit int, want ...persist.SeqNo) {
		t.Helper()
		versions, err := c.Scan(background, key, from, limit)
		require.NoError(t, err)
		var got []persist.SeqNo
		for _, v := range versions {
			require.Equal(t, fmt.Sprint("v", v.SeqNo), string(v.Data))
			got = append(got, v.SeqNo)
		}
		require.Equal(t, want, got)
	}
	truncate := func(key string, to persist.SeqNo, want int) {
		t.Helper()
		dropped, err := c.Truncate(background, key, to)
		require.NoError(t, err)
		require.Equal(t, want, dropped)
	}

	head("k", persist.Versioned{})
	scan("k", 0, 10)
	_, err := c.Truncate(background, "k", 1)
	require.ErrorIs(t, err, persist.ErrInvalidSeqNo, "no versions")

	cas("k", 3, version(5, "v5"), false) // expected, but there is none
	cas("k", 0, version(5, "v5"), true)
	head("k", version(5, "v5"))
	cas("k", 0, version(6, "v6"), false) // there is one
	cas("k", 4, version(6, "v6"), false) // expected too low
	cas("k", 6, version(7, "v7"), false) // expected too high
	head("k", version(5, "v5"))
	for _, next := range []persist.SeqNo{4, 5, persist.MaxSeqNo + 1} {
		_, err := c.CompareAndSet(background, "k", 5, version(next, ""))
		require.ErrorIs(t, err, persist.ErrInvalidSeqNo)
		require.NotErrorIs(t, err, persist.ErrIndeterminate)
	}
	cas("k", 5, version(9, "v9"), true) // numbers may skip
	cas("k", 9, version(10, "v10"), true)
	cas("other", 0, version(1, "v1"), true)
	cas("most", 0, version(persist.MaxSeqNo, ""), true)
	head("k", version(10, "v10"))

	scan("k", 0, 10, 5, 9, 10)
	scan("k", 5, 10, 5, 9, 10)
	scan("k", 6, 10, 9, 10)
	scan("k", 6, 1, 9)
	scan("k", 0, 0)
	scan("k", 11, 10)

	truncate("k", 5, 0)
	truncate("k", 9, 1)
	truncate("k", 9, 0)
	truncate("k", 2, 0)
	scan("k", 0, 10, 9, 10)
	truncate("k", 10, 1)
	head("k", version(10, "v10"))
	_, err = c.Truncate(background, "k", 11)
	require.ErrorIs(t, err, persist.ErrInvalidSeqNo, "the latest version stays")
	scan("k", 0, 10, 10)
	cas("k", 10, version(11, "v11"), true)
	scan("k", 0, 10, 10, 11)

	keys, err := c.ListKeys(background)
	require.NoError(t, err)
	require.Equal(t, []string{"k", "most", "other"}, keys)

	cancelled := doneContext{background}
	_, err = c.Head(cancelled, "k")
	require.ErrorIs(t, err, context.Canceled)
	_, err = c.CompareAndSet(cancelled, "k", 11, version(12, "v12"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, persist.ErrDeterminate)
	head("k", version(11, "v11"))
}

// doneContext is a context that was cancelled.
type doneContext struct{ context.Context }

func (doneContext) Done() <-chan struct{} { return closedChan }
func (doneContext) Err() error            { return context.Canceled }

var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Tasks count up together. Each number is handed out once.
func consensusUnderContention(t *testing.T, w *sim.World, s stores) {
	const tasks, each = 5, 10
	taken := map[persist.SeqNo]int{}
	group := host.NewWaitGroup(w.Host(), "counting")
	for i := range tasks {
		group.Go(w.Host(), "count", func() {
			c := s.consensus(w.Host())
			for n := 0; n < each; {
				v, err := c.Head(background, "counter")
				require.NoError(t, err)
				committed, err := c.CompareAndSet(background, "counter", v.SeqNo, version(v.SeqNo+1, ""))
				require.NoError(t, err)
				if committed {
					require.Zero(t, taken[v.SeqNo+1])
					taken[v.SeqNo+1] = i
					n++
				}
			}
		})
	}
	group.Wait()
	v, err := s.consensus(w.Host()).Head(background, "counter")
	require.NoError(t, err)
	require.Equal(t, persist.SeqNo(tasks*each), v.SeqNo)
}

// What every Blob does.
func TestBlobConformance(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			inWorld(t, 4, func(w *sim.World) { blobConformance(t, kind.open(w).blob(w.Host())) })
		})
	}
}

func blobConformance(t *testing.T, b persist.Blob) {
	get := func(key string, want string, found bool) {
		t.Helper()
		value, ok, err := b.Get(background, key)
		require.NoError(t, err)
		require.Equal(t, found, ok)
		require.Equal(t, want, string(value))
	}
	set := func(key, value string) {
		t.Helper()
		require.NoError(t, b.Set(background, key, []byte(value)))
	}
	remove := func(key string, size int64, existed bool) {
		t.Helper()
		gotSize, gotExisted, err := b.Delete(background, key)
		require.NoError(t, err)
		require.Equal(t, existed, gotExisted)
		require.Equal(t, size, gotSize)
	}
	list := func(prefix string, want ...persist.BlobInfo) {
		t.Helper()
		infos, err := b.List(background, prefix)
		require.NoError(t, err)
		require.Equal(t, want, infos)
	}

	get("a", "", false)
	remove("a", 0, false)
	list("")
	set("a", "hello")
	get("a", "hello", true)
	set("a", "hi")
	get("a", "hi", true)
	set("empty", "")
	get("empty", "", true)
	odd := "s/../b %2F\xff.blob"
	set(odd, "odd")
	set("s/1", "1")
	set("s/2", "22")
	get(odd, "odd", true)
	list("s/", persist.BlobInfo{Key: odd, Size: 3}, persist.BlobInfo{Key: "s/1", Size: 1}, persist.BlobInfo{Key: "s/2", Size: 2})
	remove("empty", 0, true)
	get("empty", "", false)
	remove("s/2", 2, true)
	remove("s/2", 0, false)
	list("", persist.BlobInfo{Key: "a", Size: 2}, persist.BlobInfo{Key: odd, Size: 3}, persist.BlobInfo{Key: "s/1", Size: 1})

	err := b.Set(doneContext{background}, "a", nil)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, persist.ErrDeterminate)
	get("a", "hi", true)
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
