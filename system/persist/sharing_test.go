package persist_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// countedBlob counts the Gets of a Blob, and runs before ahead of each.
type countedBlob struct {
	persist.Blob
	gets   int
	before func()
}

func (c *countedBlob) Get(ctx context.Context, key string) ([]byte, bool, error) {
	c.gets++
	if c.before != nil {
		c.before()
	}
	return c.Blob.Get(ctx, key)
}

// countedConsensus counts the Scans of a Consensus.
type countedConsensus struct {
	persist.Consensus
	scans int
}

func (c *countedConsensus) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) ([]persist.Versioned, error) {
	c.scans++
	return c.Consensus.Scan(ctx, key, from, limit)
}

// The listeners of a process look for new versions for each other, and fetch each batch once.
func TestListenersShareLooksAndFetches(t *testing.T) {
	const batches = 20
	follow := func(listeners int) (scans, gets int) {
		inWorld(t, 1, func(w *sim.World) {
			s := inMemory(w)
			cfg := persist.Config{NoMaintenance: true}
			_, writer, _ := opened(t, w, s, cfg)
			blob := &countedBlob{Blob: s.blob(w.Host()), before: func() { w.Sleep(3 * time.Millisecond) }}
			consensus := &countedConsensus{Consensus: s.consensus(w.Host())}
			client := persist.NewClient(w.Host(), blob, consensus, cfg)
			group := host.NewWaitGroup(w.Host(), "listeners")
			for range listeners {
				group.Go(w.Host(), "listen", func() {
					reader, err := client.OpenReader(background, shard)
					require.NoError(t, err)
					l, err := reader.Listen(background, 0)
					require.NoError(t, err)
					var got []persist.Update
					for l.Frontier().Before(at(batches + 1)) {
						e, err := l.Next(background)
						require.NoError(t, err)
						got = append(got, e.Updates...)
					}
					require.Len(t, got, batches)
				})
			}
			require.NoError(t, writer.CompareAndAppend(background, nil, at(0), at(1)))
			for i := range uint64(batches) {
				w.Sleep(time.Second)
				require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", i+1, 1)}, at(i+1), at(i+2)))
			}
			group.Wait()
			scans, gets = consensus.scans, blob.gets
			if listeners > 1 {
				require.Positive(t, w.Sometimes()["persist: a listener used what another had fetched"])
			}
		})
		return scans, gets
	}
	scansOfOne, getsOfOne := follow(1)
	scansOfFive, getsOfFive := follow(5)
	require.Equal(t, batches, getsOfOne)
	require.Equal(t, batches, getsOfFive)
	require.Less(t, scansOfFive, 2*scansOfOne)
}

// A fetch that fails for one listener, whose context ended, fails for no other.
func TestSharedFetchThatFails(t *testing.T) {
	inWorld(t, 4, func(w *sim.World) {
		s := inMemory(w)
		_, writer, _ := opened(t, w, s, persist.Config{})
		require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", 1, 1)}, at(0), at(5)))
		slow := &countedBlob{Blob: stuckBlob{s.blob(w.Host()), w.Host()}}
		client := persist.NewClient(w.Host(), slow, s.consensus(w.Host()), persist.Config{})
		open := func() *persist.Listener {
			reader, err := client.OpenReader(background, shard)
			require.NoError(t, err)
			l, err := reader.Listen(background, 0)
			require.NoError(t, err)
			return l
		}
		hasty, patient := open(), open()
		group := host.NewWaitGroup(w.Host(), "listeners")
		group.Go(w.Host(), "hasty", func() {
			ctx, cancel := w.Host().Clock().WithTimeout(background, time.Second)
			defer cancel()
			_, err := hasty.Next(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
		group.Go(w.Host(), "patient", func() {
			w.Sleep(100 * time.Millisecond)
			e, err := patient.Next(background)
			require.NoError(t, err)
			require.Equal(t, []persist.Update{update("x", 1, 1)}, e.Updates)
		})
		group.Wait()
		require.Equal(t, 2, slow.gets)
		e, err := hasty.Next(background)
		require.NoError(t, err)
		require.Len(t, e.Updates, 1)
	})
}

// stuckBlob answers a Get after two seconds, unless its context ends before.
type stuckBlob struct {
	persist.Blob
	h host.Host
}

func (s stuckBlob) Get(ctx context.Context, key string) ([]byte, bool, error) {
	timer, cancel := s.h.Clock().WithTimeout(ctx, 2*time.Second)
	defer cancel()
	host.Select(s.h, host.OnDone(timer))
	return s.Blob.Get(ctx, key)
}

// A client's readers of a shard ride in one version, as often as their leases need it and no more.
func TestHeartbeatsAreShared(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, 10 * time.Second, 15 * time.Second} {
		inWorld(t, 3, func(w *sim.World) {
			s := inMemory(w)
			client, _, first := opened(t, w, s, persist.Config{ReaderLease: 30 * time.Second, HeartbeatInterval: interval, NoMaintenance: true})
			readers := []*persist.ReadHandle{first}
			for range 4 {
				w.Sleep(700 * time.Millisecond)
				r, err := client.OpenReader(background, shard)
				require.NoError(t, err)
				readers = append(readers, r)
			}
			seqno := func() persist.SeqNo {
				head, err := s.consensus(w.Host()).Head(background, string(shard))
				require.NoError(t, err)
				return head.SeqNo
			}
			before := seqno()
			w.Sleep(10 * time.Minute)
			require.LessOrEqual(t, seqno()-before, persist.SeqNo(10*60/10), "each third of the lease")
			require.GreaterOrEqual(t, seqno()-before, persist.SeqNo(10*60/15-1), "each half of it at least")
			for _, r := range readers {
				_, err := r.DowngradeSince(background, at(0))
				require.NoError(t, err)
			}
			require.Zero(t, w.Sometimes()["persist: a reader's lease expired"])
			require.Positive(t, w.Sometimes()["persist: readers were heard of together"])
		})
	}
}

// A reader that holds versions back which would be collected lets go of them before its lease needs it.
func TestHeartbeatLetsGoOfVersions(t *testing.T) {
	inWorld(t, 1, func(w *sim.World) {
		s := inMemory(w)
		cfg := eager
		cfg.ReaderLease, cfg.HeartbeatInterval = time.Hour, time.Second
		_, writer, _ := opened(t, w, s, cfg)
		settle(t, w, writer)
		versions, err := s.consensus(w.Host()).Scan(background, string(shard), 0, 1000)
		require.NoError(t, err)
		require.Less(t, len(versions), 20)
		require.Greater(t, versions[0].SeqNo, persist.SeqNo(10))
	})
}

// A merge that is so slow that others have merged its batches and collected their blobs finds out.
func TestMergeOfCollectedBatches(t *testing.T) {
	inWorld(t, 1, func(w *sim.World) {
		s := inMemory(w)
		late := false
		slow := &countedBlob{Blob: s.blob(w.Host()), before: func() {
			if late {
				w.Sleep(20 * time.Second)
			}
		}}
		cfg := eager
		cfg.MergeBatches = 4
		first, err := persist.NewClient(w.Host(), slow, s.consensus(w.Host()), cfg).OpenWriter(background, shard)
		require.NoError(t, err)
		late = true
		for i := range uint64(8) {
			require.NoError(t, first.CompareAndAppend(background, []persist.Update{update(fmt.Sprint(i), i, 1)}, at(i), at(i+1)))
		}
		_, other, reader := opened(t, w, s, eager)
		for range 8 {
			upper, err := other.FetchRecentUpper(background)
			require.NoError(t, err)
			i := upperOf(upper)
			require.NoError(t, other.CompareAndAppend(background, []persist.Update{update(fmt.Sprint(i), i, 1)}, at(i), at(i+1)))
			_, err = reader.DowngradeSince(background, at(i))
			require.NoError(t, err)
			w.Sleep(time.Second)
		}
		w.Sleep(time.Minute)
		require.Positive(t, w.Sometimes()["persist: batches to be merged were gone"])
		contents, err := reader.SnapshotAndFetch(background, 15)
		require.NoError(t, err)
		require.Len(t, contents, 16)
	})
}
