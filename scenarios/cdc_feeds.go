package scenarios

import (
	"context"
	"encoding/json"
	"errors"
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
// then, and in half of the runs comes to an end soon after.
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
	var info model.ChangeFeedInfo
	c.insist(func(ctx context.Context) (err error) {
		if info.StartTs == 0 {
			if info.StartTs, err = upstream.Now(ctx); err != nil {
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
			info.StartTs = 0 // what held history back did not take effect in time
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

// interrupt stops a changefeed and resumes it soon after. However the stopping came out, it is resumed:
// that it changes the key again keeps a stop of unknown outcome from coming in later.
func (c *cdcCluster) interrupt(draw *sim.Stream) {
	w := c.r.World
	feed := c.feeds[draw.N(uint64(len(c.feeds)))]
	ctx, cancel := w.Host().Clock().WithTimeout(context.Background(), time.Second)
	_ = c.admin.SetState(ctx, feed, model.StateStopped)
	cancel()
	w.Sleep(sim.Exp(0, 700*time.Millisecond).Sample(draw.Uint64()))
	c.insist(func(ctx context.Context) error { return c.admin.SetState(ctx, feed, model.StateNormal) })
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
