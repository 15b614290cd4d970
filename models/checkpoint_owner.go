package models

import (
	"maps"
	"slices"
	"strings"
)

// scheduler is what an owner knows of a feed, and of which captures it goes by: true if synced.
type scheduler struct{ captures map[string]bool }

// Scheduling observes that the owner of an epoch begins to schedule a feed, and knows nothing. Epochs grow
// from owner to owner.
func (c *Checkpoints) Scheduling(feed string, epoch uint64) {
	c.feed(feed).schedulers[epoch] = &scheduler{captures: map[string]bool{}}
}

func (c *Checkpoints) scheduler(feed string, epoch uint64) *scheduler {
	f := c.feed(feed)
	if f.schedulers[epoch] == nil {
		c.Scheduling(feed, epoch)
	}
	return f.schedulers[epoch]
}

// Knows observes the captures that the owner of an epoch goes by from now on.
func (c *Checkpoints) Knows(feed string, epoch uint64, captures []string) {
	s := c.scheduler(feed, epoch)
	known := map[string]bool{}
	for _, name := range captures {
		known[name] = s.captures[name]
	}
	s.captures = known
}

// Synced observes that the owner of an epoch learns what a capture runs.
func (c *Checkpoints) Synced(feed string, epoch uint64, capture string) {
	s := c.scheduler(feed, epoch)
	if _, known := s.captures[capture]; known {
		s.captures[capture] = true
	}
}

// Dispatched observes that the owner of an epoch tells a capture to add or to remove a key span.
func (c *Checkpoints) Dispatched(feed string, epoch, span uint64, capture string, remove bool, m Moment) {
	what := "adds"
	if remove {
		what = "removes"
	}
	s := c.scheduler(feed, epoch)
	var unsynced []string
	for _, name := range slices.Sorted(maps.Keys(s.captures)) {
		if !s.captures[name] {
			unsynced = append(unsynced, name)
		}
	}
	_, known := s.captures[capture]
	c.holds(OracleDispatchAfterSync, known, m, "feed %s: the owner of epoch %d %s span %d on %s, a capture it does not know", feed, epoch, what, span, capture)
	c.holds(OracleDispatchAfterSync, len(unsynced) == 0, m, "feed %s: the owner of epoch %d %s span %d on %s before it knows what %s runs",
		feed, epoch, what, span, capture, strings.Join(unsynced, ", "))
}

// StoredWhile observes that a checkpoint of a feed was stored by the owner of an epoch, while the one of epoch
// owner held the office, 0 if nobody did. Owners may learn late that they have stored one: this may be
// observed at any time.
func (c *Checkpoints) StoredWhile(feed string, epoch, owner, checkpoint uint64, m Moment) {
	c.holds(OracleCheckpointMonotone, epoch == owner, m,
		"feed %s: the owner of epoch %d stores checkpoint %d when it does not own any more: the owner is that of epoch %d, 0 for nobody", feed, epoch, checkpoint, owner)
}

// Stored observes that a checkpoint of a feed was stored, by the owner of an epoch.
func (c *Checkpoints) Stored(feed string, epoch, checkpoint, resolved uint64, m Moment) {
	f := c.feed(feed)
	c.holds(OracleCheckpointMonotone, !f.removed, m,
		"feed %s: the owner of epoch %d stores checkpoint %d after the feed was removed", feed, epoch, checkpoint)
	if f.removed {
		return
	}
	c.holds(OracleCheckpointMonotone, !f.stored || checkpoint >= f.checkpoint, m,
		"feed %s: the checkpoint goes back from %d, stored by the owner of epoch %d, to %d, stored by that of epoch %d",
		feed, f.checkpoint, f.checkpointStoredBy, checkpoint, epoch)
	c.holds(OracleCheckpointMonotone, epoch >= f.checkpointStoredBy, m,
		"feed %s: the owner of epoch %d stores a checkpoint after that of epoch %d has", feed, epoch, f.checkpointStoredBy)
	c.holds(OracleCheckpointLeResolved, checkpoint <= resolved, m,
		"feed %s: the checkpoint %d is stored with a resolved timestamp of %d", feed, checkpoint, resolved)
	for _, span := range slices.Sorted(maps.Keys(f.wanted)) {
		s := c.span(span)
		c.judgeSpan(f, span, epoch, s.until(checkpoint), m)
		if s.dropped && s.end <= checkpoint {
			delete(f.wanted, span)
		}
	}
	f.stored, f.checkpoint, f.checkpointStoredBy = true, max(f.checkpoint, checkpoint), max(f.checkpointStoredBy, epoch)
	f.resolved = max(f.resolved, resolved)
}

// judgeSpan holds a checkpoint that is being stored against one span.
func (c *Checkpoints) judgeSpan(f *replicatedFeed, span, epoch, checkpoint uint64, m Moment) {
	w := f.wanted[span]
	if checkpoint <= w.from {
		return
	}
	missing, ok := c.span(span).firstMissing(w, checkpoint)
	c.holds(OracleCheckpointDurable, ok, m,
		"feed %s: the owner of epoch %d stores checkpoint %d, and %v of span %d is not in the sink", f.name, epoch, checkpoint, missing, span)
	replicated := false
	for _, r := range f.running[span] {
		if !c.captures[r.id.Capture] {
			continue
		}
		replicated = true
		c.holds(OracleCheckpointSources, checkpoint <= r.progress, m,
			"feed %s: the owner of epoch %d stores checkpoint %d, and %v is only at %d", f.name, epoch, checkpoint, r.id, r.progress)
	}
	if !replicated {
		c.holds(OracleCheckpointSources, checkpoint <= w.best, m,
			"feed %s: the owner of epoch %d stores checkpoint %d, and span %d, which no capture replicates, came only to %d",
			f.name, epoch, checkpoint, span, w.best)
	}
}
