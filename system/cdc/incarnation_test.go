package cdc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
)

// again removes a changefeed and creates it again at once, from an earlier start and into another sink.
func (c *cluster) again(id model.ChangeFeedID, start model.Ts, into string) {
	c.t.Helper()
	before := c.incarnation(id)
	c.within(time.Minute, func(ctx context.Context) error { return c.admin.Remove(ctx, id) })
	c.within(time.Minute, func(ctx context.Context) error {
		return c.admin.Create(ctx, id, model.ChangeFeedInfo{StartTs: start, SinkURI: into})
	})
	require.Greater(c.t, c.incarnation(id), before)
}

func (c *cluster) incarnation(id model.ChangeFeedID) uint64 {
	var f cdc.Feed
	c.within(time.Minute, func(ctx context.Context) (err error) {
		f, err = c.admin.Feed(ctx, id)
		return err
	})
	return uint64(f.Incarnation)
}

// keep holds history from now on, and returns from when.
func (c *cluster) keep() (from model.Ts) {
	from = c.now()
	c.within(time.Minute, func(ctx context.Context) error {
		kept, err := c.upstream.Safepoint(ctx, "test", from-1, time.Hour)
		if err == nil && kept >= from {
			err = errors.New("too late")
		}
		return err
	})
	return from
}

// A changefeed that is removed and created again between two looks of its owner is another one: it begins at its
// own start, and goes into its own sink, from every capture.
func TestCreatedAgain(t *testing.T) {
	for seed := range uint64(6) {
		_, sometimes := inWorld(t, seed, func(w *sim.World) {
			c := newCluster(t, w, 3, config())
			c.create(5)
			stop := c.write(20 * time.Millisecond)
			w.Sleep(time.Second)
			start := c.keep()
			w.Sleep(2 * time.Second)
			for n := range 4 {
				into := fmt.Sprint("again", n)
				c.again(feed, start, into)
				c.judge.start[into] = start
				w.Sleep(time.Duration(w.NewStream("test", into).Between(0, 1500)) * time.Millisecond)
				if n == 3 {
					stop()
					c.reaches(c.now())
					c.compare(into, c.checkpoint(feed))
					c.balanced()
				}
			}
		})
		require.Positive(t, sometimes["cdc: a changefeed was created again between two looks of its owner"])
	}
}

// A capture that does not hear of it goes on with the one that is gone, and nothing that it says about that one
// counts for the other.
func TestCreatedAgainBehindACapturesBack(t *testing.T) {
	total := map[string]int{}
	for seed := range uint64(6) {
		_, sometimes := inWorld(t, seed, func(w *sim.World) {
			cfg := config()
			cfg.SessionTTL = time.Minute
			c := newCluster(t, w, 3, cfg)
			c.create(5)
			stop := c.write(20 * time.Millisecond)
			w.Sleep(time.Second)
			start := c.keep()
			w.Sleep(2 * time.Second)
			owner := c.ownerNode()
			for n := range 3 {
				var heal []func()
				for _, node := range c.nodes {
					if node != owner {
						heal = append(heal, w.AddRule(sim.Rule{From: []string{node.Name()}, To: []string{"coord"}, Both: true, Drop: true}))
						break
					}
				}
				into := fmt.Sprint("again", n)
				c.again(feed, start, into)
				c.judge.start[into] = start
				w.Sleep(3 * time.Second)
				for _, h := range heal {
					h()
				}
				c.reaches(c.now())
				c.compare(into, c.checkpoint(feed))
			}
			stop()
		})
		for name, n := range sometimes {
			total[name] += n
		}
	}
	require.Positive(t, total["cdc: an owner's message is about another incarnation"])
	require.Positive(t, total["cdc: a processor is of an incarnation that is gone"])
}

// A removal that is heard late removes what it was meant for.
func TestRemovalOfAnother(t *testing.T) {
	inWorld(t, 0, func(w *sim.World) {
		c := newCluster(t, w, 1, config())
		require.NoError(t, c.admin.Remove(background, feed), "there is none")
		c.create(1)
		c.reaches(1)
		late := &lateTxns{Client: c.client}
		admin := cdc.NewAdmin(w.Host(), late, c.upstream)
		late.keep = true
		require.Error(t, admin.Remove(background, feed))
		c.again(feed, c.keep(), "again")
		late.deliver(t)
		c.reaches(c.now())
	})
}
