package models

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// sourceSpan is a key span as the source has it.
type sourceSpan struct {
	changes []Change // in the order of their commits
	dropped bool
	end     uint64 // when it was dropped: the timestamp of its last changes
}

// until is the timestamp up to which the span matters to a checkpoint.
func (s *sourceSpan) until(checkpoint uint64) uint64 {
	if s.dropped {
		return min(checkpoint, s.end)
	}
	return checkpoint
}

// wantedSpan is a key span that a feed is to replicate.
type wantedSpan struct {
	from uint64
	// durable is how many of the source's changes, from the first on, need no more looking at:
	// they are in the sink, or before from.
	durable int
	applied map[version]bool
	best    uint64 // the highest progress that a run has reported
}

type version struct {
	key string
	ts  uint64
}

// Committed observes that the source commits a change of a key span. Changes of a span are observed
// in the order of their timestamps.
func (c *Checkpoints) Committed(span uint64, change Change, m Moment) {
	s := c.span(span)
	if n := len(s.changes); n > 0 && s.changes[n-1].CommitTS > change.CommitTS {
		panic(fmt.Sprintf("models: span %d: a commit at %d observed after one at %d; observe them in the order of their timestamps",
			span, change.CommitTS, s.changes[n-1].CommitTS))
	}
	s.changes = append(s.changes, change)
	for _, name := range slices.Sorted(maps.Keys(c.feeds)) {
		f := c.feeds[name]
		w := f.wanted[span]
		if w == nil || !f.stored || f.removed || change.CommitTS <= w.from {
			continue
		}
		c.holds(OracleCheckpointDurable, change.CommitTS > f.checkpoint, m,
			"feed %s: the source commits %v in span %d after a checkpoint of %d was stored", f.name, change, span, f.checkpoint)
	}
}

// Wanted observes that a feed is to replicate a key span's changes later than from.
func (c *Checkpoints) Wanted(feed string, span, from uint64) {
	f := c.feed(feed)
	w := &wantedSpan{from: from, applied: map[version]bool{}, best: from}
	f.wanted[span], f.began[span] = w, from
	c.span(span).skip(w)
}

// Dropped observes that a key span ends at the source: no change of it is later than end. It is to be
// replicated to its end.
func (c *Checkpoints) Dropped(span, end uint64) {
	s := c.span(span)
	s.dropped, s.end = true, end
}

// skip moves past the changes that are durable.
func (s *sourceSpan) skip(w *wantedSpan) {
	for ; w.durable < len(s.changes); w.durable++ {
		change := s.changes[w.durable]
		at := version{change.Key, change.CommitTS}
		if change.CommitTS > w.from && !w.applied[at] {
			return
		}
		delete(w.applied, at)
	}
}

// firstMissing is the first change up to ts that is not in the sink.
func (s *sourceSpan) firstMissing(w *wantedSpan, ts uint64) (Change, bool) {
	for _, change := range s.changes[w.durable:] {
		if change.CommitTS > ts {
			break
		}
		if !w.applied[version{change.Key, change.CommitTS}] && change.CommitTS > w.from {
			return change, false
		}
	}
	return Change{}, true
}

// has tells whether the source committed just this change.
func (s *sourceSpan) has(change Change) bool {
	i, _ := slices.BinarySearchFunc(s.changes, change.CommitTS, func(c Change, ts uint64) int { return cmp.Compare(c.CommitTS, ts) })
	for ; i < len(s.changes) && s.changes[i].CommitTS == change.CommitTS; i++ {
		if s.changes[i] == change {
			return true
		}
	}
	return false
}
