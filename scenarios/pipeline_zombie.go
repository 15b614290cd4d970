package scenarios

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord"
)

// makeZombie cuts who leads off from the coordination service, with a clock so slow that it does not notice.
func (s *pipelineCluster) makeZombie(f *faults.Fault) (func(), bool) {
	leader, _ := s.leader(f.Target[0])
	n := s.leaderNode(f.Target[0])
	if n == nil {
		return nil, false
	}
	cut := func() (end func()) {
		held := f.Text("messages") == "held"
		heal := s.r.World.AddRule(sim.Rule{Key: f.ID, From: []string{n.Name()}, To: []string{coordNode}, Both: true, Drop: !held, Hold: held})
		right := n.SkewClock(-f.Int("slow"))
		return func() { heal(); right() }
	}
	if f.Text("stores") == "held" && f.Target[0] == "owner" {
		return s.holdWrites(n, leader, cut), true
	}
	return cut(), true
}

// holdWrites has an owner's calls to the stores hang, and a key span that it replicates be dropped; with writes on their way it
// is cut off, and loses its lease. Others write all of the key span, it is mirrored, and its shard is given up: then the owner's
// calls go on, and it may not know yet that it is none. It returns what ends all of that.
func (s *pipelineCluster) holdWrites(n *sim.Node, leader coord.Leader, cut func() func()) (end func()) {
	stores := s.c.flaky[n.Name()]
	over, hang, heal := false, true, func() {}
	release := func() {
		if hang {
			hang = false
			stores.blobDown--
			stores.consensusDown--
		}
	}
	stores.blobDown++
	stores.consensusDown++
	s.r.World.Go("write late to a dropped key span", func() {
		span, found := s.replicates(leader.Value)
		found = found && s.drop(span)
		s.r.World.Sleep(2 * s.cfg.Interval) // by then it has heard of more to write, which it does not when it is cut off
		if over {
			return
		}
		heal = cut()
		s.revoke(leader)
		for found && hang && s.r.Working() {
			s.r.World.Sleep(poll)
			if s.forgotten(span) {
				release()
			}
		}
	})
	return func() {
		over = true
		release()
		heal()
	}
}

// replicates is a key span of items that a capture replicates, as the owner knows.
func (s *pipelineCluster) replicates(capture model.CaptureID) (span model.KeySpanID, found bool) {
	ctx, cancel := s.r.World.Host().Clock().WithTimeout(context.Background(), s.slow(time.Second))
	defer cancel()
	scheduled, err := s.admin.Scheduled(ctx, pipelineFeed)
	if err != nil {
		return 0, false
	}
	for _, id := range scheduled[capture].Running {
		if id != labelsSpan {
			return id, true
		}
	}
	return 0, false
}

// drop drops a key span, of which others are left.
func (s *pipelineCluster) drop(span model.KeySpanID) (dropped bool) {
	if !s.serving[sourceNode] || len(s.upstream.SpanIDs()) <= 2 {
		return false
	}
	ctx, cancel := s.r.World.Host().Clock().WithTimeout(context.Background(), s.slow(time.Second))
	defer cancel()
	_, err := s.writes.DropSpan(ctx, span)
	return err == nil
}

// forgotten tells whether the source, as it is now, remembers nothing of a key span: then nobody needs its shard.
func (s *pipelineCluster) forgotten(span model.KeySpanID) bool {
	if !s.serving[sourceNode] {
		return false
	}
	spans, err := s.upstream.Spans(context.Background())
	_, known := spans.Find(span)
	return err == nil && !known
}
