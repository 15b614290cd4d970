package cdc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
)

// withoutHolds is an upstream store at which owners can't hold history. Who creates a changefeed can.
type withoutHolds struct{ source.Reader }

func (s withoutHolds) Safepoint(ctx context.Context, name string, ts model.Ts, ttl time.Duration) (model.Ts, error) {
	if strings.HasPrefix(name, "cdc/") && !strings.HasPrefix(name, "cdc/creating/") {
		return 0, errors.New("not reached")
	}
	return s.Reader.Safepoint(ctx, name, ts, ttl)
}

// The history that a changefeed needs is given up, and with it a key span that was dropped: nothing in the list of
// key spans tells of the rows in it that the sink does not have. The owner does not go on without them, though no
// hold that it asked for was refused.
func TestHoldThatIsLostUnnoticed(t *testing.T) {
	for name, c := range map[string]struct {
		upstream func(store source.Reader) source.Reader
		confirms bool
	}{
		"a new owner can't ask for it":                  {upstream: func(s source.Reader) source.Reader { return withoutHolds{s} }},
		"it was confirmed, and the store's clock jumps": {upstream: func(s source.Reader) source.Reader { return s }, confirms: true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 0, func(w *sim.World) {
				cfg := config()
				cfg.SafepointTTL = time.Hour
				cluster := newCluster(t, w, 0, cfg)
				cluster.upstreamOf = func(_ host.Host, store source.Reader) source.Reader { return c.upstream(store) }
				start := func() {
					cluster.nodes = append(cluster.nodes, w.NewNode("cap0", func(h host.Host) { cluster.start(h, cfg, cluster.intoShards(h)) }))
				}
				cluster.addSpan(1)
				require.NoError(t, cluster.admin.Create(background, feed, model.ChangeFeedInfo{SinkURI: feed, StartTs: cluster.now()}))
				heal := func() {}
				if c.confirms {
					start()
					w.Sleep(5 * time.Second)
					cluster.store.Stall(1, true)
					w.Sleep(2 * time.Second)
				}
				missed, err := cluster.upstream.Commit(background, "", []source.Mutation{source.Put("001/a", "1")})
				require.NoError(t, err)
				w.Sleep(time.Second)
				if c.confirms {
					heal = w.AddRule(sim.Rule{From: []string{"cap0"}, To: []string{"source"}, Drop: true})
				}
				_, err = cluster.upstream.DropSpan(background, 1)
				require.NoError(t, err)
				_, err = cluster.upstream.Safepoint(background, "another reader", cluster.now(), 24*time.Hour)
				require.NoError(t, err)
				cluster.source.JumpClock(2 * time.Hour)
				w.Sleep(2 * time.Second)
				cluster.source.JumpClock(-2 * time.Hour)
				spans, err := cluster.upstream.Spans(background)
				require.NoError(t, err)
				require.Empty(t, spans.Spans)
				heal()
				if !c.confirms {
					start()
				}
				failed := cluster.fails(feed, source.ErrGC)
				require.Less(t, failed.Status.CheckpointTs, missed)
			})
		})
	}
}
