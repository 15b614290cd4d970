package cdc_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
)

// judge watches everything that happens and objects to what must not.
type judge struct {
	t testing.TB
	// truth are the stored checkpoints, registered tells whether a capture's key is there: asked of the
	// coordination service's own memory.
	truth      func() map[model.ChangeFeedID]truth
	registered func(model.CaptureID) bool

	// Upstream.
	commits map[model.Ts]source.Commit
	addTs   map[model.KeySpanID]model.Ts
	dropTs  map[model.KeySpanID]model.Ts

	incarnation map[model.ChangeFeedID]coord.Revision // the highest that was seen: what follows is about that one
	failed      map[model.ChangeFeedID]cdc.FeedFailed
	start       map[model.ChangeFeedID]model.Ts
	checkpoint  map[model.ChangeFeedID]model.Ts
	writes      map[model.ChangeFeedID][]cdc.CheckpointStored // that were done, by revision
	durable     map[string]model.Ts                           // of feed/span: what was flushed
	live        map[string]map[model.CaptureID]bool           // of feed/span: captures with a live pipeline
	alive       map[model.CaptureID]bool                      // captures that have not told of their end
	machine     map[model.CaptureID]string                    // where they are
	epoch       coord.Revision                                // the highest that was elected
	terms       map[string]*term                              // of feed@epoch
	stored      map[model.ChangeFeedID]int                    // how often
	lastSpan    map[string]model.Ts                           // of capture/feed/span: the last flush of that pipeline
	moved       map[model.KeySpanID]map[model.CaptureID]bool  // where spans have been
}

// truth is a changefeed as it is stored.
type truth struct {
	incarnation coord.Revision
	checkpoint  model.Ts
}

// term is a scheduler's life.
type term struct {
	synced   map[model.CaptureID]bool
	captures []model.CaptureID
	wanted   []model.KeySpanID
	pending  map[model.KeySpanID]model.CaptureID // dispatched and not finished
}

func newJudge(t testing.TB) *judge {
	return &judge{
		t: t, commits: map[model.Ts]source.Commit{}, addTs: map[model.KeySpanID]model.Ts{}, dropTs: map[model.KeySpanID]model.Ts{},
		incarnation: map[model.ChangeFeedID]coord.Revision{}, failed: map[model.ChangeFeedID]cdc.FeedFailed{},
		start: map[model.ChangeFeedID]model.Ts{}, checkpoint: map[model.ChangeFeedID]model.Ts{}, writes: map[model.ChangeFeedID][]cdc.CheckpointStored{},
		durable: map[string]model.Ts{}, live: map[string]map[model.CaptureID]bool{}, alive: map[model.CaptureID]bool{},
		machine: map[model.CaptureID]string{}, terms: map[string]*term{}, stored: map[model.ChangeFeedID]int{},
		lastSpan: map[string]model.Ts{}, moved: map[model.KeySpanID]map[model.CaptureID]bool{},
	}
}

func (j *judge) committed(c source.Commit) {
	if old, ok := j.commits[c.Ts]; ok {
		require.Equal(j.t, old, c, "replayed otherwise")
		return
	}
	j.commits[c.Ts] = c
	if c.Added != nil {
		j.addTs[c.Added.ID] = c.Ts
	}
	if c.Dropped != nil {
		j.dropTs[c.Dropped.ID] = c.Ts
	}
	for feed, checkpoint := range j.checkpoint {
		require.Greater(j.t, c.Ts, checkpoint, "a commit below the checkpoint of %s", feed)
	}
}

func (j *judge) spanIDs() []model.KeySpanID { return slices.Sorted(maps.Keys(j.addTs)) }

// contents is what was committed up to a ts.
func (j *judge) contents(asOf model.Ts) map[string]string {
	contents := map[string]string{}
	for _, ts := range slices.Sorted(maps.Keys(j.commits)) {
		if ts > asOf {
			break
		}
		for _, r := range j.commits[ts].Rows {
			delete(contents, r.Key)
			if !r.Deleted {
				contents[r.Key] = r.Value
			}
		}
	}
	return contents
}

// someTs is the ts of some commit between two ts.
func (j *judge) someTs(w *sim.World, after, before model.Ts) (model.Ts, bool) {
	all := slices.DeleteFunc(slices.Sorted(maps.Keys(j.commits)), func(ts model.Ts) bool { return ts <= after || ts >= before })
	if len(all) == 0 {
		return 0, false
	}
	return all[w.NewStream("test", "ts", fmt.Sprint(len(all))).N(uint64(len(all)))], true
}

func key(feed string, span model.KeySpanID) string { return fmt.Sprintf("%s/%d", feed, span) }

// died is told of a crash.
func (j *judge) died(machine string) {
	for id, m := range j.machine {
		if m == machine && j.alive[id] {
			j.stopped(id)
		}
	}
}

func (j *judge) stopped(id model.CaptureID) {
	delete(j.alive, id)
	for _, captures := range j.live {
		delete(captures, id)
	}
}

func termOf(feed string, incarnation, epoch coord.Revision) string {
	return fmt.Sprint(feed, "#", incarnation, "@", epoch)
}

func (j *judge) term(feed string, incarnation, epoch coord.Revision) *term {
	t := j.terms[termOf(feed, incarnation, epoch)]
	require.NotNil(j.t, t)
	return t
}

// present tells whether a changefeed's incarnation is the latest that was seen. A new one begins without
// anything; what is in its sink is there.
func (j *judge) present(feed model.ChangeFeedID, incarnation coord.Revision) bool {
	require.NotZero(j.t, incarnation)
	if incarnation > j.incarnation[feed] {
		j.incarnation[feed] = incarnation
		delete(j.start, feed)
		delete(j.checkpoint, feed)
		delete(j.writes, feed)
		delete(j.stored, feed)
		maps.DeleteFunc(j.durable, func(k string, _ model.Ts) bool { return strings.HasPrefix(k, feed+"/") })
	}
	return incarnation == j.incarnation[feed]
}

func (j *judge) Observe(e cdc.Event) {
	switch e := e.(type) {
	case cdc.CaptureStarted:
		require.NotContains(j.t, j.machine, e.Capture, "an id is used again")
		j.alive[e.Capture], j.machine[e.Capture] = true, e.Machine
	case cdc.CaptureStopped:
		j.stopped(e.Capture)
	case cdc.OwnerElected:
		require.Greater(j.t, e.Epoch, j.epoch, "epochs grow")
		j.epoch = e.Epoch
	case cdc.SchedulerStarted:
		j.terms[termOf(e.Feed, e.Incarnation, e.Epoch)] = &term{synced: map[model.CaptureID]bool{}, pending: map[model.KeySpanID]model.CaptureID{}}
	case cdc.SchedulerTicked:
		t := j.term(e.Feed, e.Incarnation, e.Epoch)
		t.captures, t.wanted = e.Captures, e.Wanted
		for id := range t.synced {
			if !slices.Contains(e.Captures, id) {
				delete(t.synced, id)
			}
		}
		for span, id := range t.pending {
			if !slices.Contains(e.Captures, id) {
				delete(t.pending, span)
			}
		}
	case cdc.Synced:
		t := j.term(e.Feed, e.Incarnation, e.Epoch)
		if slices.Contains(t.captures, e.Capture) {
			t.synced[e.Capture] = true
		}
		for span, id := range t.pending {
			if id == e.Capture {
				delete(t.pending, span)
			}
		}
		for _, span := range slices.Concat(e.Adding, e.Removing) {
			t.pending[span] = e.Capture
		}
	case cdc.Dispatched:
		t := j.term(e.Feed, e.Incarnation, e.Epoch)
		for _, id := range t.captures {
			require.True(j.t, t.synced[id], "cdc/no-dispatch-before-sync: %s has not synced with owner %d", id, e.Epoch)
		}
		require.NotContains(j.t, t.pending, e.Span, "dispatched twice")
		t.pending[e.Span] = e.Capture
	case cdc.OperationFinished:
		delete(j.term(e.Feed, e.Incarnation, e.Epoch).pending, e.Span)
	case cdc.CheckpointStored:
		j.judgeCheckpoint(e)
	case cdc.SafepointMoved:
		if t, ok := j.truth()[e.Feed]; ok && t.incarnation == e.Incarnation {
			require.Less(j.t, e.Asked, t.checkpoint, "the safepoint is beyond the stored checkpoint of %s", e.Feed)
		}
	case cdc.FeedFailed:
		if j.present(e.Feed, e.Incarnation) {
			j.failed[e.Feed] = e
		}
	case cdc.SpanStarted:
		on := j.live[key(e.Feed, e.Span)]
		if on == nil {
			on = map[model.CaptureID]bool{}
			j.live[key(e.Feed, e.Span)] = on
		}
		require.False(j.t, on[e.Capture], "two pipelines of span %d on %s", e.Span, e.Capture)
		on[e.Capture] = true
		if j.registered(e.Capture) {
			for other := range on {
				if other != e.Capture {
					require.False(j.t, j.registered(other), "cdc/single-replication: span %d is on %s and on %s", e.Span, other, e.Capture)
				}
			}
		}
		j.lastSpan[e.Capture+"/"+key(e.Feed, e.Span)] = e.StartTs
		if !j.present(e.Feed, e.Incarnation) {
			return
		}
		require.LessOrEqual(j.t, e.StartTs, max(j.durable[key(e.Feed, e.Span)], j.addTs[e.Span], j.start[e.Feed]), "span %d starts beyond what is durable", e.Span)
		j.lastSpan[e.Capture+"/"+key(e.Feed, e.Span)] = e.StartTs
		if j.moved[e.Span] == nil {
			j.moved[e.Span] = map[model.CaptureID]bool{}
		}
		j.moved[e.Span][e.Capture] = true
	case cdc.SpanStopped:
		delete(j.live[key(e.Feed, e.Span)], e.Capture)
	case cdc.SpanFlushed:
		k := e.Capture + "/" + key(e.Feed, e.Span)
		require.Equal(j.t, j.lastSpan[k], e.After, "a gap between flushes")
		require.Greater(j.t, e.UpTo, e.After)
		j.lastSpan[k] = e.UpTo
		j.durable[key(e.Feed, e.Span)] = max(j.durable[key(e.Feed, e.Span)], e.UpTo)
		require.True(j.t, slices.IsSortedFunc(e.Rows, source.Compare))
	}
}

func (j *judge) judgeCheckpoint(e cdc.CheckpointStored) {
	require.LessOrEqual(j.t, e.CheckpointTs, e.ResolvedTs, "cdc/checkpoint-le-resolved")
	if !j.present(e.Feed, e.Incarnation) {
		require.Less(j.t, e.Revision, j.incarnation[e.Feed], "a checkpoint of a changefeed that was removed")
		return
	}
	if j.stored[e.Feed] == 0 && j.start[e.Feed] == 0 {
		j.start[e.Feed] = e.CheckpointTs // where it begins: up to here nothing has to be replicated
	}
	if e.Outcome != cdc.Refused {
		for _, span := range j.spanIDs() {
			if add := j.addTs[span]; add >= e.CheckpointTs {
				continue
			}
			required := e.CheckpointTs
			if drop := j.dropTs[span]; drop != 0 {
				required = min(required, drop)
			}
			require.GreaterOrEqual(j.t, max(j.durable[key(e.Feed, span)], j.start[e.Feed]), required, "cdc/checkpoint-durable: %s, span %d", e.Feed, span)
		}
	}
	if e.Outcome != cdc.Done {
		return
	}
	// An owner may be told late: what counts is the order of revisions.
	writes := j.writes[e.Feed]
	i, _ := slices.BinarySearchFunc(writes, e.Revision, func(w cdc.CheckpointStored, r coord.Revision) int { return cmp.Compare(w.Revision, r) })
	writes = slices.Insert(writes, i, e)
	for k := max(i, 1); k < min(i+2, len(writes)); k++ {
		require.GreaterOrEqual(j.t, writes[k].CheckpointTs, writes[k-1].CheckpointTs, "cdc/checkpoint-monotone")
		require.GreaterOrEqual(j.t, writes[k].Epoch, writes[k-1].Epoch, "a deposed owner stored a checkpoint")
	}
	j.writes[e.Feed] = writes
	j.checkpoint[e.Feed] = max(j.checkpoint[e.Feed], e.CheckpointTs)
	j.stored[e.Feed]++
}
