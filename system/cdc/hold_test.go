package cdc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// A hold on history that an owner asked for, and that gets to the upstream store late, does not pass the start of
// a changefeed that was created since.
func TestLateHoldOnHistory(t *testing.T) {
	for seed := range uint64(4) {
		inWorld(t, seed, func(w *sim.World) {
			c := newCluster(t, w, 0, config())
			late := map[string]*lateHolds{}
			ready := false
			c.upstreamOf = func(h host.Host, store source.Reader) source.Reader {
				late[h.Name()] = &lateHolds{Reader: store}
				return late[h.Name()]
			}
			for _, name := range []string{"cap0", "cap1"} {
				c.nodes = append(c.nodes, w.NewNode(name, func(h host.Host) {
					into := c.intoShards(h)
					c.start(h, config(), func(ctx context.Context, id model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
						if id == "younger" && !ready {
							return nil, errors.New("not yet")
						}
						return into(ctx, id, info)
					})
				}))
			}
			c.create(3)
			stop := c.write(20 * time.Millisecond)
			w.Sleep(2 * time.Second)
			deposed := late[c.ownerNode().Name()]
			deposed.keep = true
			start := c.now()
			c.reaches(start + 1)
			w.Sleep(2 * time.Second)
			if seed%2 == 0 {
				c.within(time.Minute, func(ctx context.Context) error { return c.admin.Resign(ctx) })
			}
			c.within(time.Minute, func(ctx context.Context) error {
				return c.admin.Create(ctx, "younger", model.ChangeFeedInfo{StartTs: start, SinkURI: "younger"})
			})
			deposed.keep = false
			w.Sleep(2 * time.Second) // in which an owner takes up the changefeed
			deposed.deliver(t)
			w.Sleep(time.Second)
			ready = true
			stop()
			at := c.now()
			c.within(2*time.Minute, func(ctx context.Context) error {
				f, err := c.admin.Feed(ctx, "younger")
				require.NoError(t, f.Err())
				if err == nil && f.Status.CheckpointTs < at {
					err = context.DeadlineExceeded
				}
				return err
			})
			c.judge.start["younger"] = start
			c.compare("younger", c.checkpoint("younger"))
		})
	}
}

// What a changefeed that is gone has held is let go of.
func TestHoldOfARemovedChangefeed(t *testing.T) {
	inWorld(t, 0, func(w *sim.World) {
		c := newCluster(t, w, 2, config())
		c.create(1)
		c.within(time.Minute, func(ctx context.Context) error {
			return c.admin.Create(ctx, "other", model.ChangeFeedInfo{SinkURI: "other", State: model.StateStopped})
		})
		w.Sleep(2 * time.Second)
		safepoint := func() model.Ts {
			at, err := c.upstream.Safepoint(background, "test", 0, time.Millisecond)
			require.NoError(t, err)
			return at
		}
		require.Zero(t, safepoint(), "one that is stopped holds history")
		before := c.now()
		require.NoError(t, c.admin.Remove(background, "other"))
		c.within(time.Minute, func(context.Context) error {
			if safepoint() < before {
				return context.DeadlineExceeded
			}
			return nil
		})
	})
}

// A changefeed whose info can't be read, for a while, is not replicated, and not taken for gone.
func TestInfoThatCannotBeRead(t *testing.T) {
	inWorld(t, 0, func(w *sim.World) {
		c := newCluster(t, w, 2, config())
		c.create(3)
		stop := c.write(20 * time.Millisecond)
		w.Sleep(2 * time.Second)
		kv, ok, err := coord.ReadKey(background, c.client, cdc.InfoKey(feed))
		require.NoError(t, err)
		require.True(t, ok)
		_, err = coord.Write(background, c.client, coord.Put(cdc.InfoKey(feed), "{"))
		require.NoError(t, err)
		w.Sleep(2 * time.Second)
		for _, on := range c.judge.live {
			require.Empty(t, on)
		}
		_, err = c.upstream.Safepoint(background, "other", c.now(), time.Second)
		require.NoError(t, err)
		w.Sleep(2 * time.Second)
		_, err = coord.Write(background, c.client, coord.Put(cdc.InfoKey(feed), kv.Value))
		require.NoError(t, err)
		c.reaches(c.now())
		stop()
		c.settled()
	})
}

// Many changefeeds share the queue between two captures, which has room for one message: each gets its turn.
func TestNarrowQueue(t *testing.T) {
	inWorld(t, 0, func(w *sim.World) {
		cfg := config()
		cfg.Peer.Queue = 1
		c := newCluster(t, w, 3, cfg)
		c.create(4)
		ids := []model.ChangeFeedID{"a", "b", "c", "d", "e", "f"}
		for _, id := range ids {
			require.NoError(t, c.admin.Create(background, id, model.ChangeFeedInfo{SinkURI: id}))
		}
		stop := c.write(50 * time.Millisecond)
		w.Sleep(20 * time.Second)
		for range 3 {
			at := c.now()
			for _, id := range ids {
				c.within(30*time.Second, func(ctx context.Context) error {
					f, err := c.admin.Feed(ctx, id)
					if err == nil && f.Status.CheckpointTs < at {
						err = context.DeadlineExceeded
					}
					return err
				})
			}
		}
		stop()
	})
}
