package cdc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/peer"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// onLife runs body with a capture's life that has begun nothing yet, and a function that makes it a processor of
// incarnation 1 of the changefeed "feed".
func onLife(t *testing.T, body func(l *life, made func() *processor)) {
	t.Helper()
	w := sim.New(sim.Config{MaxTime: time.Minute})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		h := w.Host()
		l := &life{
			h: h, cfg: Config{}.withDefaults(), id: "here", allegiance: newAllegiance(h),
			mu: host.NewMutex(h, "life"), processors: map[model.ChangeFeedID]*processor{},
		}
		l.node = peer.NewNode(h, l.id, peer.Config{}, l.receive)
		for _, owner := range []string{"former", "later"} {
			l.node.Add(owner, "nowhere:"+owner)
		}
		body(l, func() *processor {
			p := &processor{h: h, cfg: l.cfg, feed: "feed", incarnation: 1, pipelines: map[model.KeySpanID]*pipeline{}}
			p.agent = newAgent(l, p)
			l.processors["feed"] = p
			return p
		})
	})
	require.NoError(t, w.Run())
}

// at is a pipeline that is so far.
func at(h host.Host, checkpoint, resolved model.Ts) *pipeline {
	return &pipeline{mu: host.NewMutex(h, "pipeline"), checkpoint: checkpoint, resolved: resolved}
}

// A key span counts as added when it is behind neither what the owner was told, received or not, nor what is
// stored, and when what the owner was told is not behind that either.
func TestAdded(t *testing.T) {
	type progress = [2]model.Ts // checkpoint and resolved ts
	const start = 100
	for name, c := range map[string]struct {
		span, other, reported, stored progress
		want                          bool
	}{
		"at what was reported":              {progress{120, 150}, progress{120, 150}, progress{120, 150}, progress{100, 150}, true},
		"ahead of it":                       {progress{130, 170}, progress{120, 150}, progress{120, 150}, progress{120, 150}, true},
		"its checkpoint is behind":          {progress{119, 150}, progress{130, 160}, progress{120, 150}, progress{100, 150}, false},
		"its resolved ts is behind":         {progress{120, 149}, progress{130, 160}, progress{120, 150}, progress{100, 140}, false},
		"reported before the start":         {progress{100, 150}, progress{90, 150}, progress{99, 150}, progress{90, 150}, false},
		"reported before what is stored":    {progress{130, 150}, progress{130, 150}, progress{110, 150}, progress{111, 150}, false},
		"not resolved up to what is stored": {progress{120, 150}, progress{120, 150}, progress{120, 150}, progress{100, 151}, false},
		"others are behind by now":          {progress{120, 150}, progress{100, 100}, progress{120, 150}, progress{100, 150}, true},
	} {
		t.Run(name, func(t *testing.T) {
			onLife(t, func(l *life, made func() *processor) {
				p := made()
				p.pipelines[1], p.pipelines[2] = at(l.h, c.other[0], c.other[1]), at(l.h, c.span[0], c.span[1])
				p.globalCheckpoint, p.globalResolved = c.stored[0], c.stored[1]
				require.Equal(t, c.want, p.added(2, start, report{CheckpointTs: c.reported[0], ResolvedTs: c.reported[1]}))
			})
		})
	}
}

// What is on its way to the owner counts like what it has acknowledged: it gets there before the news of the
// added key span.
func TestReportOnItsWayCounts(t *testing.T) {
	onLife(t, func(l *life, made func() *processor) {
		p := made()
		a := p.agent
		require.True(t, l.allegiance.follow("later", 5))
		p.pipelines[1] = at(l.h, 100, 200)
		p.globalCheckpoint, p.globalResolved = 100, 200
		view := &picture{}
		require.NoError(t, a.tick(view))
		require.NotNil(t, a.reported, "it told how far it is")

		a.operations[2] = &operation{dispatch: dispatch{Span: 2, StartTs: 100}, begun: true}
		p.pipelines[1], p.pipelines[2] = at(l.h, 150, 200), at(l.h, 100, 200)
		a.reported = &sentReport{report{CheckpointTs: 150, ResolvedTs: 200}, a.reported.number}
		require.Zero(t, l.node.Acked("later"))
		require.NoError(t, a.tick(view))
		require.Contains(t, a.operations, model.KeySpanID(2), "the checkpoint could move to 150")

		p.pipelines[2] = at(l.h, 150, 200)
		require.NoError(t, a.tick(view))
		require.NotContains(t, a.operations, model.KeySpanID(2))
	})
}

// Before it has told how far it is since it told what it has, nothing counts as added.
func TestNothingIsAddedBeforeAReport(t *testing.T) {
	onLife(t, func(l *life, made func() *processor) {
		p := made()
		a := p.agent
		require.True(t, l.allegiance.follow("former", 5))
		p.pipelines[1] = at(l.h, 100, 200)
		require.NoError(t, a.tick(&picture{}))
		a.operations[1] = &operation{dispatch: dispatch{Span: 1, StartTs: 100}, begun: true}
		require.NoError(t, a.tick(&picture{led: true, leader: coord.Leader{Value: "later", Revision: 6}}))
		require.Contains(t, a.operations, model.KeySpanID(1), "the new owner has heard nothing yet")
		l.h.Clock().Sleep(l.cfg.ReportInterval)
		require.NoError(t, a.tick(&picture{})) // and now it is told
		require.NoError(t, a.tick(&picture{}))
		require.Empty(t, a.operations)
	})
}

// An owner that one processor has heard of is known to the next, and to that of another changefeed.
func TestAllegianceOutlivesProcessors(t *testing.T) {
	onLife(t, func(l *life, made func() *processor) {
		dispatched := func(epoch coord.Revision) message {
			return message{Feed: "feed", Incarnation: 1, Epoch: epoch, Dispatch: &dispatch{Span: 7, StartTs: 1}}
		}
		made()
		l.receive("later", message{Feed: "feed", Incarnation: 1, Epoch: 9, Announce: &announce{}})
		p := made() // anew
		l.receive("former", dispatched(5))
		require.Empty(t, p.agent.pending)
		owner, epoch, _, _ := p.agent.learn(&picture{led: true, leader: coord.Leader{Value: "former", Revision: 5}})
		require.Equal(t, "later", owner)
		require.Equal(t, coord.Revision(9), epoch)

		l.receive("later", dispatched(9))
		require.Len(t, p.agent.pending, 1)
		l.receive("former", dispatched(5))
		require.Len(t, p.agent.pending, 1)

		// What is about no processor says who owns all the same.
		l.receive("latest", message{Feed: "other", Incarnation: 2, Epoch: 12, Announce: &announce{}})
		l.receive("later", dispatched(9))
		require.Len(t, p.agent.pending, 1)
		owner, epoch, _, _ = p.agent.learn(&picture{})
		require.Equal(t, "latest", owner)
		require.Equal(t, coord.Revision(12), epoch)
		require.Empty(t, p.agent.pending, "what the one before dispatched is forgotten")
	})
}

// Messages about another incarnation of a changefeed are not for the processor of this one.
func TestMessagesOfAnotherIncarnation(t *testing.T) {
	onLife(t, func(l *life, made func() *processor) {
		p := made()
		for _, incarnation := range []coord.Revision{2, 0} {
			asked := p.agent.asked
			l.receive("later", message{Feed: "feed", Incarnation: incarnation, Epoch: 9, Announce: &announce{}})
			l.receive("later", message{Feed: "feed", Incarnation: incarnation, Epoch: 9, Dispatch: &dispatch{Span: 1}})
			require.Equal(t, asked, p.agent.asked)
			require.Empty(t, p.agent.pending)
		}
	})
}
