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
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
)

func TestReplication(t *testing.T) {
	for seed := range uint64(4) {
		run := func() uint64 {
			hash, _ := inWorld(t, seed, func(w *sim.World) {
				c := newCluster(t, w, 3, config())
				c.create(7)
				stop := c.write(20 * time.Millisecond)
				w.Sleep(10 * time.Second)
				stop()
				c.settled()
				require.Greater(t, c.judge.stored[feed], 10)
			})
			return hash
		}
		require.Equal(t, run(), run(), "the same seed, the same run")
	}
}

// forSeeds runs body on a small quiet cluster with a changefeed of some key spans.
func forSeeds(t *testing.T, captures, spans int, body func(w *sim.World, c *cluster)) {
	for seed := range uint64(4) {
		inWorld(t, seed, func(w *sim.World) {
			c := newCluster(t, w, captures, config())
			c.create(spans)
			stop := c.write(20 * time.Millisecond)
			w.Sleep(2 * time.Second)
			body(w, c)
			stop()
			c.settled()
		})
	}
}

// running are the machines' captures that run each key span, once all do.
func (c *cluster) running() map[model.KeySpanID]model.CaptureID {
	on := map[model.KeySpanID]model.CaptureID{}
	c.within(time.Minute, func(ctx context.Context) error {
		scheduled, err := c.admin.Scheduled(ctx, feed)
		if err != nil {
			return err
		}
		clear(on)
		for id, s := range scheduled {
			for _, span := range s.Running {
				on[span] = id
			}
		}
		if len(on) != len(c.store.SpanIDs()) {
			return errors.New("not all run")
		}
		return nil
	})
	return on
}

func TestMoves(t *testing.T) {
	forSeeds(t, 3, 5, func(w *sim.World, c *cluster) {
		for span := range model.KeySpanID(5) {
			target := c.captures[c.nodes[span%3].Name()].ID()
			for range 3 { // there, and back, and there
				for _, to := range []model.CaptureID{target, c.captures["cap0"].ID()} {
					c.within(time.Minute, func(ctx context.Context) error {
						// A request is ignored while one for the same span is under way.
						if err := c.admin.MoveKeySpan(ctx, feed, span+1, to); err != nil {
							return err
						}
						if on := c.running()[span+1]; on != to {
							return fmt.Errorf("span %d is on %s, not on %s", span+1, on, to)
						}
						return nil
					})
				}
			}
		}
		// What can't be is given up, and stands in nobody's way.
		require.NoError(t, c.admin.MoveKeySpan(background, feed, 99, "cap0"))
		require.NoError(t, c.admin.MoveKeySpan(background, feed, 1, "nobody"))
		require.NoError(t, c.admin.MoveKeySpan(background, "no feed", 1, "nobody"))
	})
}

func TestCaptureComesAndGoes(t *testing.T) {
	forSeeds(t, 3, 6, func(w *sim.World, c *cluster) {
		c.running()
		ctx, cancel := w.Host().Clock().WithTimeout(background, 5*time.Second)
		defer cancel()
		before := w.Now()
		leaving := c.ownerNode()
		c.captures[leaving.Name()].Close(ctx)
		c.within(time.Minute, func(ctx context.Context) error {
			infos, err := c.admin.Captures(ctx)
			if err == nil && len(infos) != 2 {
				err = fmt.Errorf("%d captures", len(infos))
			}
			return err
		})
		require.Less(t, w.Now(), before+config().SessionTTL, "it says that it goes")
		c.running()
		leaving.Crash()
		leaving.Restart()
	})
}

func TestOwnerResigns(t *testing.T) {
	forSeeds(t, 3, 4, func(w *sim.World, c *cluster) {
		last, epoch, err := c.admin.Owner(background)
		require.NoError(t, err)
		for range 5 {
			checkpoint := c.checkpoint(feed)
			c.within(time.Minute, func(ctx context.Context) error { return c.admin.Resign(ctx) })
			c.within(time.Minute, func(ctx context.Context) error {
				owner, e, err := c.admin.Owner(ctx)
				if err == nil && owner == last {
					err = errors.New("still the owner")
				}
				if err == nil {
					require.Greater(t, e, epoch)
					last, epoch = owner, e
				}
				return err
			})
			c.reaches(checkpoint + 1)
			w.Sleep(time.Duration(w.NewStream("test", "resign").Between(1, 500)) * time.Millisecond)
		}
	})
}

// An owner that is paused for longer than its session lasts, while a transaction of its is on the way.
func TestPausedOwner(t *testing.T) {
	deposed := 0
	for seed := range uint64(8) {
		_, sometimes := inWorld(t, seed, func(w *sim.World) {
			c := newCluster(t, w, 3, config())
			c.create(5)
			stop := c.write(10 * time.Millisecond)
			w.Sleep(3 * time.Second)
			for i := range 4 {
				n := c.ownerNode()
				require.NotNil(t, n)
				w.Sleep(time.Duration(w.NewStream("test", "pause", fmt.Sprint(i)).Between(1, 400)) * time.Millisecond)
				n.Pause()
				before := c.checkpoint(feed)
				c.reaches(before + 1) // others go on
				w.Sleep(time.Second)
				n.Resume()
				w.Sleep(2 * time.Second)
			}
			stop()
			c.settled()
		})
		deposed += sometimes["coord: a session gave itself up by its own clock"]
	}
	require.Positive(t, deposed)
}

// A changefeed that begins in the middle holds what was there at its start.
func TestStartInTheMiddle(t *testing.T) {
	forSeeds(t, 2, 3, func(w *sim.World, c *cluster) {
		start := c.now()
		c.within(time.Minute, func(ctx context.Context) error {
			return c.admin.Create(ctx, "later", model.ChangeFeedInfo{StartTs: start, SinkURI: "later"})
		})
		w.Sleep(5 * time.Second)
		for c.checkpoint("later") <= start {
			w.Sleep(100 * time.Millisecond)
		}
		c.compare("later", c.checkpoint("later"))
		require.Positive(t, w.Sometimes()["cdc: a key span begins with a snapshot"])
		// And without end, as the first; removing it leaves the other alone.
		require.NoError(t, c.admin.Remove(background, "later"))
	})
}

func TestTarget(t *testing.T) {
	forSeeds(t, 2, 3, func(w *sim.World, c *cluster) {
		target := c.now() + model.ComposeTs(3000, 0)
		c.within(time.Minute, func(ctx context.Context) error {
			return c.admin.Create(ctx, "short", model.ChangeFeedInfo{StartTs: c.now(), TargetTs: target, SinkURI: "short"})
		})
		c.within(time.Minute, func(ctx context.Context) error {
			f, err := c.admin.Feed(ctx, "short")
			if err == nil && f.Info.State != model.StateFinished {
				err = fmt.Errorf("at %d, to %d", f.Status.CheckpointTs, target)
			}
			return err
		})
		require.Equal(t, target, c.checkpoint("short"))
		c.compare("short", target)
	})
}

func TestStopAndResume(t *testing.T) {
	forSeeds(t, 2, 3, func(w *sim.World, c *cluster) {
		c.running()
		require.ErrorIs(t, c.admin.SetState(background, "none", model.StateStopped), cdc.ErrNoFeed)
		require.ErrorIs(t, c.admin.SetState(background, feed, model.StateFailed), cdc.ErrState)
		for range 3 {
			require.NoError(t, c.admin.SetState(background, feed, model.StateStopped))
			w.Sleep(2 * time.Second)
			before := c.checkpoint(feed)
			w.Sleep(3 * time.Second)
			require.Equal(t, before, c.checkpoint(feed))
			for _, on := range c.judge.live {
				require.Empty(t, on, "no pipeline is left")
			}
			require.NoError(t, c.admin.SetState(background, feed, model.StateNormal))
			c.reaches(before + 1)
		}
	})
}

func TestAdminErrors(t *testing.T) {
	forSeeds(t, 2, 1, func(w *sim.World, c *cluster) {
		_, err := c.admin.Feed(background, "none")
		require.ErrorIs(t, err, cdc.ErrNoFeed)
		require.NoError(t, c.admin.Create(background, feed, model.ChangeFeedInfo{SinkURI: feed}), "a call that is repeated")
		require.ErrorIs(t, c.admin.Create(background, feed, model.ChangeFeedInfo{SinkURI: "other"}), cdc.ErrFeedExists)
		c.reaches(c.now())
		w.Sleep(2 * time.Second)
		require.ErrorIs(t, c.admin.Create(background, "old", model.ChangeFeedInfo{StartTs: 2}), cdc.ErrTooOld)
		for _, n := range c.nodes {
			c.judge.died(n.Name())
			n.Crash()
		}
		w.Sleep(10 * time.Second)
		_, _, err = c.admin.Owner(background)
		require.ErrorIs(t, err, cdc.ErrNotOwner)
		require.ErrorIs(t, c.admin.Rebalance(background, feed), cdc.ErrNotOwner)
		for _, n := range c.nodes {
			n.Restart()
		}
	})
}

// Without key spans the checkpoint goes on, and what is added later misses nothing.
func TestNoKeySpans(t *testing.T) {
	forSeeds(t, 2, 0, func(w *sim.World, c *cluster) {
		c.reaches(c.now())
		c.addSpan(1)
		w.Sleep(time.Second)
		c.addSpan(2)
		w.Sleep(time.Second)
		for id := range model.KeySpanID(2) {
			c.within(time.Minute, func(ctx context.Context) error { _, err := c.upstream.DropSpan(ctx, id+1); return err })
			w.Sleep(time.Second)
		}
		c.reaches(c.now())
		c.compare(feed, c.checkpoint(feed))
	})
}

// While an upstream key span is stalled the checkpoint stands where that span is.
func TestStalledKeySpan(t *testing.T) {
	forSeeds(t, 2, 4, func(w *sim.World, c *cluster) {
		c.running()
		c.store.Stall(2, true)
		w.Sleep(5 * time.Second)
		before := c.checkpoint(feed)
		w.Sleep(3 * time.Second)
		require.Equal(t, before, c.checkpoint(feed))
		c.store.Stall(2, false)
		c.reaches(c.now())
	})
}

// A sink in memory, to which rows may be written again.
func TestMapSink(t *testing.T) {
	for seed := range uint64(4) {
		inWorld(t, seed, func(w *sim.World) {
			rows := sink.NewMap(w.Host())
			cfg := config()
			c := newCluster(t, w, 0, cfg)
			for i := range 3 {
				c.nodes = append(c.nodes, w.NewNode(fmt.Sprint("cap", i), func(h host.Host) {
					c.start(h, cfg, func(context.Context, model.ChangeFeedID, model.ChangeFeedInfo) (sink.Sink, error) { return rows, nil })
				}))
			}
			c.create(4)
			stop := c.write(20 * time.Millisecond)
			for i := range 6 {
				w.Sleep(2 * time.Second)
				n := c.nodes[i%3]
				c.judge.died(n.Name())
				n.Crash()
				n.Restart()
			}
			stop()
			at := c.now()
			c.reaches(at)
			got := map[string]string{}
			for _, r := range rows.Rows() {
				got[r.Key] = r.Value
			}
			require.Equal(t, c.judge.contents(at), got)
			for ts, commit := range c.judge.commits {
				for _, r := range commit.Rows {
					require.True(t, rows.Has(r.Key, ts), "%v is missing", r)
				}
			}
		})
	}
}

// A changefeed whose history was given up upstream can't go on: it fails, visibly, until it is made anew.
func TestHistoryIsGone(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		cfg := config()
		cfg.SafepointTTL = 3 * time.Second
		c := newCluster(t, w, 2, cfg)
		c.create(2)
		stop := c.write(20 * time.Millisecond)
		w.Sleep(3 * time.Second)
		require.NoError(t, c.admin.SetState(background, feed, model.StateStopped))
		// Nobody holds history for it: its service is silent, and another's is ahead.
		for _, n := range c.nodes {
			c.judge.died(n.Name())
			n.Crash()
		}
		w.Sleep(10 * time.Second)
		_, err := c.upstream.Safepoint(background, "other", c.now(), time.Hour)
		require.NoError(t, err)
		require.NoError(t, c.admin.SetState(background, feed, model.StateNormal))
		for _, n := range c.nodes {
			n.Restart()
		}
		before := c.checkpoint(feed)
		c.fails(feed, source.ErrGC)
		require.NoError(t, c.admin.Resume(background, feed), "which does not help")
		w.Sleep(20 * time.Second)
		require.Equal(t, before, c.checkpoint(feed), "it does not go on as if nothing were missing")
		c.fails(feed, source.ErrGC)
		require.Positive(t, w.Sometimes()["cdc: the history that a changefeed needs is not held any more"])
		require.NoError(t, c.admin.Remove(background, feed))
		c.within(time.Minute, func(ctx context.Context) error {
			return c.admin.Create(ctx, "anew", model.ChangeFeedInfo{StartTs: c.now(), SinkURI: "anew"})
		})
		stop()
		at := c.now()
		for c.checkpoint("anew") < at {
			w.Sleep(100 * time.Millisecond)
		}
		c.compare("anew", c.checkpoint("anew"))
	})
}

// A sink that is slower than the source: rows wait, and not too many of them.
func TestSlowSink(t *testing.T) {
	waited := 0
	for seed := range uint64(3) {
		_, sometimes := inWorld(t, seed, func(w *sim.World) {
			cfg := config()
			cfg.MaxBuffered = 5
			cfg.FlushInterval = time.Second
			c := newCluster(t, w, 2, cfg)
			c.create(2)
			stop := c.write(2 * time.Millisecond)
			w.Sleep(5 * time.Second)
			stop()
			c.settled()
		})
		waited += sometimes["cdc: a puller waits for the sink"]
	}
	require.Positive(t, waited)
}

// One key span is written by two processes, of which one does not know yet: rows are there once.
func TestRowsOfTheDead(t *testing.T) {
	forSeeds(t, 2, 2, func(w *sim.World, c *cluster) {
		c.running()
		for i := range 4 {
			n := c.nodes[i%2]
			// It goes on reading and writing, and is not heard of where captures are listed.
			heal := w.AddRule(sim.Rule{From: []string{n.Name()}, To: []string{"coord"}, Both: true, Drop: true})
			w.Sleep(3 * time.Second)
			heal()
			w.Sleep(2 * time.Second)
		}
		require.Positive(t, w.Sometimes()["cdc/sink: a key span is opened that is further than its start"])
	})
}

// moody is a sink whose writes fail now and then.
type moody struct {
	sink.Sink
	h host.Host
}

type moodySpan struct {
	sink.Span
	h host.Host
}

func (m moody) Open(ctx context.Context, id model.KeySpanID, start model.Ts) (sink.Span, bool, error) {
	span, base, err := m.Sink.Open(ctx, id, start)
	if m.h.Rand().IntN(10) == 0 {
		err = errors.New("not in the mood")
	}
	return moodySpan{span, m.h}, base, err
}

func (m moodySpan) Write(ctx context.Context, rows []source.Row, upTo model.Ts) (int, error) {
	if m.h.Rand().IntN(40) == 0 {
		return 0, errors.New("not in the mood")
	}
	return m.Span.Write(ctx, rows, upTo)
}

// Processors fail and are made anew, without their captures or the owner.
func TestFailingSink(t *testing.T) {
	total := map[string]int{}
	for seed := range uint64(6) {
		_, sometimes := inWorld(t, seed, func(w *sim.World) {
			rows, calm := sink.NewMap(w.Host()), false
			c := newCluster(t, w, 0, config())
			for i := range 2 {
				c.nodes = append(c.nodes, w.NewNode(fmt.Sprint("cap", i), func(h host.Host) {
					c.start(h, config(), func(context.Context, model.ChangeFeedID, model.ChangeFeedInfo) (sink.Sink, error) {
						switch {
						case calm:
							return rows, nil
						case h.Rand().IntN(5) == 0:
							return nil, errors.New("not in the mood")
						}
						return moody{rows, h}, nil
					})
				}))
			}
			c.create(4)
			stop := c.write(20 * time.Millisecond)
			w.Sleep(20 * time.Second)
			calm = true
			for _, n := range c.nodes {
				c.judge.died(n.Name())
				n.Crash()
				n.Restart()
			}
			stop()
			at := c.now()
			c.reaches(at)
			got := map[string]string{}
			for _, r := range rows.Rows() {
				got[r.Key] = r.Value
			}
			require.Equal(t, c.judge.contents(at), got)
		})
		for name, n := range sometimes {
			total[name] += n
		}
	}
	require.Positive(t, total["cdc: a write to the sink failed"])
	require.Positive(t, total["cdc: a processor failed and is made anew"])
	require.Positive(t, total["cdc: a capture syncs again"])
}

// A capture that hears nothing of the coordination service for so long that the history is compacted, and
// keeps its session all the same, reads everything anew.
func TestViewIsReadAnew(t *testing.T) {
	inWorld(t, 0, func(w *sim.World) {
		cfg := config()
		cfg.SessionTTL = 2 * time.Minute
		c := newCluster(t, w, 3, cfg)
		c.create(3)
		stop := c.write(20 * time.Millisecond)
		w.Sleep(2 * time.Second)
		for _, n := range c.nodes {
			if n != c.ownerNode() {
				w.Go("cut off", func() {
					heal := w.AddRule(sim.Rule{From: []string{n.Name()}, To: []string{"coord"}, Both: true, Drop: true})
					w.Sleep(40 * time.Second)
					heal()
				})
			}
		}
		// Changefeeds that come and go make history.
		for i := range 120 {
			c.within(time.Minute, func(ctx context.Context) error {
				return c.admin.Create(ctx, fmt.Sprint("other", i), model.ChangeFeedInfo{StartTs: c.now(), State: model.StateStopped})
			})
			c.within(time.Minute, func(ctx context.Context) error { return c.admin.Remove(ctx, fmt.Sprint("other", i)) })
		}
		w.Sleep(time.Minute)
		stop()
		c.settled()
		require.Positive(t, w.Sometimes()["cdc: a view had to be read anew"])
	})
}
