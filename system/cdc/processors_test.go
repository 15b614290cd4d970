package cdc_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/host"
)

// lingering is a sink whose key spans are not closed before they may be.
type lingering struct {
	sink.Sink
	h   host.Host
	may *bool
}

type lingeringSpan struct {
	sink.Span
	of lingering
}

func (l lingering) Open(ctx context.Context, id model.KeySpanID, start model.Ts) (sink.Span, bool, error) {
	span, base, err := l.Sink.Open(ctx, id, start)
	return lingeringSpan{span, l}, base, err
}

func (l lingeringSpan) Close() {
	for !*l.of.may {
		l.of.h.Clock().Sleep(10 * time.Millisecond)
	}
	l.Span.Close()
}

// A changefeed whose sink is not to be opened holds up no other one, and its own removal as little.
func TestSinkThatDoesNotOpen(t *testing.T) {
	const hangs = "hangs"
	_, sometimes := inWorld(t, 2, func(w *sim.World) {
		c := newCluster(t, w, 0, config())
		waiting := 0
		c.nodes = append(c.nodes, w.NewNode("cap0", func(h host.Host) {
			into := c.intoShards(h)
			c.start(h, config(), func(ctx context.Context, id model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
				if info.SinkURI == hangs {
					waiting++
					host.Select(h, host.OnDone(ctx))
					waiting--
					return nil, ctx.Err()
				}
				return into(ctx, id, info)
			})
		}))
		c.within(time.Minute, func(ctx context.Context) error {
			return c.admin.Create(ctx, hangs, model.ChangeFeedInfo{SinkURI: hangs})
		})
		c.create(3)
		stop := c.write(20 * time.Millisecond)
		w.Sleep(10 * time.Second)
		stop()
		c.settled()
		for waiting == 0 {
			w.Sleep(10 * time.Millisecond)
		}
		c.within(time.Minute, func(ctx context.Context) error { return c.admin.Remove(ctx, hangs) })
		w.Sleep(time.Second)
		require.Zero(t, waiting, "it is removed, and nobody needs its sink")
	})
	require.Positive(t, sometimes["cdc: a sink takes a while to open"])
}

// A changefeed whose pipelines are slow to end holds up no other one, only its own next processor: what writes
// still must be over before that begins.
func TestSlowToEnd(t *testing.T) {
	const slow = "slow"
	inWorld(t, 2, func(w *sim.World) {
		c := newCluster(t, w, 0, config())
		may := false
		opened := map[string]int{}
		c.nodes = append(c.nodes, w.NewNode("cap0", func(h host.Host) {
			into := c.intoShards(h)
			c.start(h, config(), func(ctx context.Context, id model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
				opened[info.SinkURI]++
				s, err := into(ctx, id, info)
				if err == nil && info.SinkURI == slow {
					s = lingering{s, h, &may}
				}
				return s, err
			})
		}))
		create := func(into string) {
			c.within(time.Minute, func(ctx context.Context) error {
				return c.admin.Create(ctx, slow, model.ChangeFeedInfo{SinkURI: into})
			})
		}
		replicated := func(id model.ChangeFeedID, ts model.Ts) {
			c.within(time.Minute, func(context.Context) error {
				if at := c.checkpoint(id); at < ts {
					return fmt.Errorf("changefeed %s is at %d, not yet at %d", id, at, ts)
				}
				return nil
			})
		}
		c.create(3)
		create(slow)
		stop := c.write(20 * time.Millisecond)
		replicated(slow, c.now())

		c.within(time.Minute, func(ctx context.Context) error { return c.admin.Remove(ctx, slow) })
		create("next")
		w.Sleep(5 * time.Second)
		replicated(feed, c.now())
		require.Zero(t, opened["next"], "what was there before has not ended")

		may = true
		replicated(slow, c.now())
		require.Equal(t, map[string]int{feed: 1, slow: 1, "next": 1}, opened)
		stop()
		c.settled()
	})
}
