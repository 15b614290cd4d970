package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
)

// lateFeed is the changefeed that is created while everything runs.
const lateFeed = "late"

// createLate creates a changefeed at some time of the faults, which starts with what the source holds
// then, or held some time ago, and in half of the runs comes to an end soon after.
func (c *cdcCluster) createLate(upstream *source.Client) {
	w := c.r.World
	draw := w.NewStream("workload", "late changefeed")
	for c.r.Phase() == PhaseStart {
		w.Sleep(poll)
	}
	w.Sleep(time.Duration(draw.Between(0, int64(8*time.Second))))
	if !c.r.Working() {
		return
	}
	lasts := time.Duration(0)
	if draw.N(2) == 0 {
		lasts = time.Duration(draw.Between(int64(500*time.Millisecond), int64(6*time.Second)))
	}
	early := draw.N(2) == 0
	var info model.ChangeFeedInfo
	c.insist(func(ctx context.Context) (err error) {
		if info.StartTs == 0 {
			if info.StartTs, err = c.start(ctx, upstream, early); err != nil {
				return err
			}
			info.SinkURI = lateFeed
			if lasts > 0 {
				info.TargetTs = model.ComposeTs(model.ExtractPhysical(info.StartTs)+lasts.Milliseconds(), 0)
			}
		}
		switch err = c.admin.Create(ctx, lateFeed, info); {
		case errors.Is(err, cdc.ErrFeedExists):
			return nil // an attempt of unknown outcome made it
		case errors.Is(err, cdc.ErrTooOld):
			info.StartTs, early = 0, false // what held history back did not take effect in time
		}
		return err
	})
	if info.TargetTs != 0 {
		c.targets[lateFeed] = info.TargetTs
	}
	c.feeds = append(c.feeds, lateFeed)
}

// finished tells whether a changefeed is marked as come to its target, by the service's own memory.
func (c *cdcCluster) finished(feed string) bool {
	kv, ok, err := coord.ReadKey(context.Background(), c.kv, cdc.InfoKey(feed))
	if err != nil || !ok {
		return false
	}
	var info model.ChangeFeedInfo
	return json.Unmarshal([]byte(kv.Value), &info) == nil && info.State == model.StateFinished
}

// archivist is the name under which history is held for changefeeds that are to start below the others.
const archivist = "archive"

// archive holds history from now on, and gives up what it held before.
func (c *cdcCluster) archive(upstream *source.Client) {
	ctx, cancel := c.r.World.Host().Clock().WithTimeout(context.Background(), time.Second)
	defer cancel()
	now, err := upstream.Now(ctx)
	if err != nil {
		return
	}
	// One less: who starts there wants what was there at it, too.
	if kept, err := upstream.Safepoint(ctx, archivist, now-1, 10*time.Minute); err == nil && kept < now {
		c.archived = now
	}
}

// start is the ts from which on a new changefeed is to replicate: now, or where the archive begins, if it has
// begun.
func (c *cdcCluster) start(ctx context.Context, upstream *source.Client, early bool) (model.Ts, error) {
	if early && c.archived != 0 {
		return c.archived, nil
	}
	return upstream.Now(ctx)
}

// recreate removes a changefeed and creates it again, with a sink of its own, mostly from below where it was. Soon
// enough, owners and captures see nothing but that it is another.
func (c *cdcCluster) recreate(upstream *source.Client, draw *sim.Stream) {
	feed := c.feeds[draw.N(uint64(len(c.feeds)))]
	if _, ends := c.targets[feed]; ends {
		return
	}
	early, pause := draw.N(4) != 0, time.Duration(0)
	if draw.N(2) == 0 {
		pause = sim.Exp(0, 200*time.Millisecond).Sample(draw.Uint64())
	}
	c.renew(upstream, feed, early, pause)
}

// renew removes a changefeed and, after a pause, creates it again, unless somebody is about that: a call to create it that is
// made again after another operator has removed what it made gives a second life the sink of the first.
func (c *cdcCluster) renew(upstream *source.Client, feed string, early bool, pause time.Duration) {
	if c.renewing[feed] {
		return
	}
	c.renewing[feed] = true
	defer delete(c.renewing, feed)
	c.lives++
	info := model.ChangeFeedInfo{SinkURI: fmt.Sprintf("%s~%d", feed, c.lives)}
	c.insist(func(ctx context.Context) error {
		if err := c.admin.Remove(ctx, feed); err != nil {
			return err
		}
		if _, err := c.admin.Feed(ctx, feed); !errors.Is(err, cdc.ErrNoFeed) {
			return errors.Join(errStillThere, err)
		}
		return nil
	})
	c.r.World.Sleep(pause)
	c.insist(func(ctx context.Context) (err error) {
		if info.StartTs == 0 {
			if info.StartTs, err = c.start(ctx, upstream, early); err != nil {
				return err
			}
		}
		switch err = c.admin.Create(ctx, feed, info); {
		case errors.Is(err, cdc.ErrFeedExists):
			return nil // an attempt of unknown outcome made it
		case errors.Is(err, cdc.ErrTooOld):
			info.StartTs, early = 0, false
		}
		return err
	})
}

// keepMending is the operator who looks after changefeeds that have failed, also before the faults begin: where
// everybody is slow, one may fail by itself.
func (c *cdcCluster) keepMending(upstream *source.Client) {
	draw := c.r.World.NewStream("workload", "mend")
	for c.r.Working() {
		for pause := sim.Exp(0, c.shape.mended).Sample(draw.Uint64()); pause > 0 && c.r.Working(); pause -= patience {
			c.r.World.Sleep(min(pause, patience))
		}
		if c.created {
			c.mend(upstream)
		}
	}
	c.workers--
}

// mend is what an operator does about changefeeds that have failed: those whose history is gone begin anew, the
// others are resumed, whether or not that helps yet.
func (c *cdcCluster) mend(upstream *source.Client) {
	for _, feed := range slices.Clone(c.feeds) {
		c.watch.catchUp()
		cause := c.watch.lives[feed].failure
		switch {
		case cause == nil:
		case errors.Is(cause, source.ErrGC):
			delete(c.targets, feed)
			c.renew(upstream, feed, false, 0)
		default:
			c.insist(func(ctx context.Context) error {
				if err := c.admin.Resume(ctx, feed); !errors.Is(err, cdc.ErrNoFeed) {
					return err
				}
				return nil // it was removed meanwhile
			})
		}
	}
}

var errStillThere = errors.New("the changefeed is there, or may be")

// ensure creates a changefeed that is gone: a removal that went unanswered may have come in twice.
func (c *cdcCluster) ensure(feed string) {
	c.insist(func(ctx context.Context) error {
		_, err := c.admin.Feed(ctx, feed)
		if !errors.Is(err, cdc.ErrNoFeed) {
			return err
		}
		c.lives++
		err = c.admin.Create(ctx, feed, model.ChangeFeedInfo{StartTs: c.watch.lastCommit, SinkURI: fmt.Sprintf("%s~%d", feed, c.lives)})
		return errors.Join(errStillThere, err) // and looks again
	})
}

// load commits so many rows to one key span that who is behind has to read it in several parts.
func (c *cdcCluster) load(upstream *source.Client, draw *sim.Stream) {
	spans := c.upstream.SpanIDs()
	if len(spans) == 0 {
		return
	}
	span := spans[draw.N(uint64(len(spans)))]
	for range 4 {
		c.txns++
		id := fmt.Sprintf("bulk-%d", c.txns)
		var mutations []source.Mutation
		for n := range 200 {
			mutations = append(mutations, source.Put(fmt.Sprintf("%04d/b%d", span, n), id))
		}
		ctx, cancel := c.r.World.Host().Clock().WithTimeout(context.Background(), time.Second)
		if _, err := upstream.Commit(ctx, id, mutations); err == nil {
			c.txnsDone++
		}
		cancel()
	}
}

// interrupt stops a changefeed and resumes it soon after. However the stopping came out, it is resumed:
// that it changes the key again keeps a stop of unknown outcome from coming in later. What is loaded in between
// it is behind by afterwards.
func (c *cdcCluster) interrupt(upstream *source.Client, draw *sim.Stream) {
	w := c.r.World
	feed := c.feeds[draw.N(uint64(len(c.feeds)))]
	ctx, cancel := w.Host().Clock().WithTimeout(context.Background(), time.Second)
	_ = c.admin.SetState(ctx, feed, model.StateStopped)
	cancel()
	w.Sleep(sim.Exp(0, 700*time.Millisecond).Sample(draw.Uint64()))
	if c.shape.bulk > 0 && draw.N(2) == 0 {
		c.load(upstream, draw)
	}
	c.insist(func(ctx context.Context) error {
		err := c.admin.SetState(ctx, feed, model.StateNormal)
		if errors.Is(err, cdc.ErrNoFeed) {
			return nil // it was removed meanwhile
		}
		return err
	})
}

// holdBack is another reader of the source, which holds history back for a while and is not heard of
// again.
func (c *cdcCluster) holdBack(upstream *source.Client, draw *sim.Stream) {
	ctx, cancel := c.r.World.Host().Clock().WithTimeout(context.Background(), time.Second)
	defer cancel()
	now, err := upstream.Now(ctx)
	if err != nil {
		return
	}
	_, _ = upstream.Safepoint(ctx, "other reader", now, time.Duration(draw.Between(int64(100*time.Millisecond), int64(3*time.Second))))
}
