package cdc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
)

// An owner has more changefeeds than it could store checkpoints of in the time for one: each gets its turn.
func TestManyChangefeedsAndASlowService(t *testing.T) {
	inWorld(t, 0, func(w *sim.World) {
		c := newCluster(t, w, 1, config())
		c.create(1)
		ids := []model.ChangeFeedID{"a", "b", "c", "d", "e", "g", feed}
		for _, id := range ids[:len(ids)-1] {
			require.NoError(t, c.admin.Create(background, id, model.ChangeFeedInfo{SinkURI: id}))
		}
		w.Sleep(10 * time.Second)
		w.AddRule(sim.Rule{From: []string{"cap0"}, To: []string{"coord"}, Delay: sim.Between(400*time.Millisecond, 401*time.Millisecond)})
		w.Sleep(5 * time.Second)
		at := c.now()
		for _, id := range ids {
			c.within(time.Minute, func(ctx context.Context) error {
				f, err := c.admin.Feed(ctx, id)
				if err == nil && f.Status.CheckpointTs <= at {
					err = context.DeadlineExceeded
				}
				return err
			})
		}
	})
}

// stuck is an upstream store that can be read and, while hang is set, does not answer what changes something.
type stuck struct {
	source.Reader
	h    host.Host
	hang *bool
}

func (s stuck) Safepoint(ctx context.Context, name string, ts model.Ts, ttl time.Duration) (model.Ts, error) {
	if *s.hang {
		host.Select(s.h, host.OnDone(ctx))
		return 0, ctx.Err()
	}
	return s.Reader.Safepoint(ctx, name, ts, ttl)
}

func (s stuck) Release(ctx context.Context, name string) error {
	if *s.hang {
		host.Select(s.h, host.OnDone(ctx))
		return ctx.Err()
	}
	return s.Reader.Release(ctx, name)
}

// Checkpoints move on while no hold on history can be moved.
func TestHoldsThatAreNotAnswered(t *testing.T) {
	inWorld(t, 0, func(w *sim.World) {
		hang := false
		c := newCluster(t, w, 0, config())
		c.upstreamOf = func(h host.Host, store source.Reader) source.Reader { return stuck{store, h, &hang} }
		c.nodes = append(c.nodes, w.NewNode("cap0", func(h host.Host) { c.start(h, config(), c.intoShards(h)) }))
		c.create(1)
		require.NoError(t, c.admin.Create(background, "other", model.ChangeFeedInfo{SinkURI: "other"}))
		w.Sleep(5 * time.Second)
		hang = true
		require.NoError(t, c.admin.Remove(background, "other"), "what it held is to be let go of")
		w.Sleep(5 * time.Second)
		c.reaches(c.now())
		hang = false
		c.reaches(c.now())
		c.compare(feed, c.checkpoint(feed))
	})
}
