package cdc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
)

// broken is a sink that fails with an error, of which cause is nil while it is whole.
type broken struct {
	sink.Sink
	cause *error
}

type brokenSpan struct {
	sink.Span
	cause *error
}

func (b broken) Open(ctx context.Context, id model.KeySpanID, start model.Ts) (sink.Span, bool, error) {
	span, base, err := b.Sink.Open(ctx, id, start)
	return brokenSpan{span, b.cause}, base, err
}

func (b brokenSpan) Write(ctx context.Context, rows []source.Row, upTo model.Ts) (int, error) {
	if *b.cause != nil {
		return 0, *b.cause
	}
	return b.Span.Write(ctx, rows, upTo)
}

// What making a processor anew does not mend fails the changefeed: it stops, says why, and goes on when it is
// resumed.
func TestLastingFailure(t *testing.T) {
	for seed, cause := range []error{sink.ErrClosed, sink.ErrGap, source.ErrGC} {
		inWorld(t, uint64(seed), func(w *sim.World) {
			c := newCluster(t, w, 0, config())
			var failing error
			opened := 0
			for _, name := range []string{"cap0", "cap1", "cap2"} {
				c.nodes = append(c.nodes, w.NewNode(name, func(h host.Host) {
					into := c.intoShards(h)
					c.start(h, config(), func(ctx context.Context, id model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
						opened++
						s, err := into(ctx, id, info)
						return broken{s, &failing}, err
					})
				}))
			}
			c.create(4)
			stop := c.write(20 * time.Millisecond)
			w.Sleep(2 * time.Second)
			for range 2 {
				before := c.incarnation(feed)
				failing = cause
				f := c.fails(feed, cause)
				require.Equal(t, before, uint64(f.Incarnation))
				require.NotEmpty(t, f.Info.Error.Addr)
				var failed *cdc.FailedError
				require.ErrorAs(t, f.Err(), &failed)
				require.Contains(t, failed.Error(), cause.Error())
				require.NotErrorIs(t, f.Err(), cdc.ErrNoFeed)
				require.Equal(t, f.Info.Error.Code, c.judge.failed[feed].Cause.Code)

				w.Sleep(3 * time.Second)
				for _, on := range c.judge.live {
					require.Empty(t, on, "no pipeline is left")
				}
				was, checkpoint := opened, c.checkpoint(feed)
				w.Sleep(20 * time.Second)
				require.Equal(t, was, opened, "nobody tries again")
				require.Equal(t, checkpoint, c.checkpoint(feed))

				failing = nil
				require.NoError(t, c.admin.Resume(background, feed))
				resumed, err := c.admin.Feed(background, feed)
				require.NoError(t, err)
				require.NoError(t, resumed.Err())
				c.reaches(c.now())
			}
			stop()
			c.settled()
		})
	}
}

// A sink that can't even be opened, and never will.
func TestSinkThatCannotBeOpened(t *testing.T) {
	inWorld(t, 0, func(w *sim.World) {
		c := newCluster(t, w, 0, config())
		c.nodes = append(c.nodes, w.NewNode("cap0", func(h host.Host) {
			c.start(h, config(), func(context.Context, model.ChangeFeedID, model.ChangeFeedInfo) (sink.Sink, error) {
				return nil, sink.ErrClosed
			})
		}))
		c.create(1)
		c.fails(feed, sink.ErrClosed)
	})
}

// addBroken adds a capture whose sink fails as long as failing is set.
func (c *cluster) addBroken(cfg cdc.Config, failing *error) {
	c.nodes = append(c.nodes, c.w.NewNode("cap0", func(h host.Host) {
		into := c.intoShards(h)
		c.start(h, cfg, func(ctx context.Context, id model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
			s, err := into(ctx, id, info)
			return broken{s, failing}, err
		})
	}))
}

// A failure that an owner hears of after the changefeed was stopped and resumed is not about the changefeed as it
// is now.
func TestFailureOfBefore(t *testing.T) {
	_, sometimes := inWorld(t, 0, func(w *sim.World) {
		cfg := config()
		cfg.SessionTTL = 20 * time.Second
		c := newCluster(t, w, 0, cfg)
		var failing error
		c.addBroken(cfg, &failing)
		c.create(2)
		stop := c.write(20 * time.Millisecond)
		w.Sleep(2 * time.Second)
		// What the capture tells the coordination service gets there after the stop.
		slow := w.AddRule(sim.Rule{From: []string{"cap0"}, To: []string{"coord"}, Delay: sim.Between(time.Second, time.Second+1)})
		failing = sink.ErrClosed
		for w.Sometimes()["cdc: a capture can't go on with a changefeed"] == 0 {
			w.Sleep(time.Millisecond)
		}
		failing = nil
		require.NoError(t, c.admin.SetState(background, feed, model.StateStopped))
		require.NoError(t, c.admin.SetState(background, feed, model.StateNormal))
		slow()
		c.reaches(c.now())
		require.Empty(t, c.judge.failed)
		stop()
		c.settled()
	})
	require.Positive(t, sometimes["cdc: a failure is of no more interest"])
}

// A failure of before the changefeed was stopped and resumed that its capture itself notices only afterwards is not about
// the changefeed as it is now either: whoever resumed it had removed the cause.
func TestFailureNoticedLate(t *testing.T) {
	_, sometimes := inWorld(t, 0, func(w *sim.World) {
		cfg := config()
		cfg.ProcessorInterval = 2 * time.Second
		c := newCluster(t, w, 0, cfg)
		var failing error
		c.addBroken(cfg, &failing)
		c.create(2)
		stop := c.write(20 * time.Millisecond)
		c.reaches(c.now())
		failing = sink.ErrClosed
		for w.Sometimes()["cdc: a write to the sink failed"] == 0 {
			w.Sleep(time.Millisecond)
		}
		failing = nil
		require.Zero(t, w.Sometimes()["cdc: a capture can't go on with a changefeed"])
		require.NoError(t, c.admin.SetState(background, feed, model.StateStopped))
		require.NoError(t, c.admin.SetState(background, feed, model.StateNormal))
		require.Zero(t, w.Sometimes()["cdc: a capture can't go on with a changefeed"])
		c.reaches(c.now())
		require.Empty(t, c.judge.failed)
		stop()
		c.settled()
	})
	require.Positive(t, sometimes["cdc: a failure is of no more interest"])
}
