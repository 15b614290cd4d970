package models

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// spanRun is one run of a key span on a capture.
type spanRun struct {
	id       RunID
	epoch    uint64 // of the owner that dispatched it
	order    uint64 // the runs of all feeds and spans, in the order of their starts
	progress uint64
	written  map[string]uint64 // the newest version written, by key
	since    Moment
	stopped  bool // it has said so, and writes no more
}

// after tells whether a run was dispatched after another one: by a later owner, or later by the same.
func (r *spanRun) after(other *spanRun) bool {
	return cmp.Or(cmp.Compare(r.epoch, other.epoch), cmp.Compare(r.order, other.order)) > 0
}

// Registered observes that a capture is part of the system, Unregistered that it no longer is: its
// lease is gone, whether or not it knows. Ids are not used again.
func (c *Checkpoints) Registered(capture string) { c.captures[capture] = true }

// Unregistered is described at [Checkpoints.Registered].
func (c *Checkpoints) Unregistered(capture string) { c.captures[capture] = false }

// Crashed observes that a capture's process is gone, and its runs with it. What they
// sent before may still arrive at the sink.
func (c *Checkpoints) Crashed(capture string) {
	for _, f := range c.feeds {
		for span, runs := range f.running {
			f.running[span] = slices.DeleteFunc(runs, func(r *spanRun) bool { return r.id.Capture == capture })
		}
	}
}

// Started observes that a run begins, dispatched by the owner of an epoch, to replicate what was committed
// later than from.
func (c *Checkpoints) Started(id RunID, epoch, from uint64, m Moment) {
	f := c.feed(id.Feed)
	var other *spanRun
	for _, r := range f.running[id.Span] {
		if r.id.Capture != id.Capture && c.captures[r.id.Capture] && c.captures[id.Capture] {
			other = r
		}
	}
	if c.captures[id.Capture] {
		c.holds(OracleSingleReplication, other == nil, m, "%v starts while %v goes on, since %v", id, other.name(), other.when())
	}
	c.starts++
	f.run(&spanRun{id: id, epoch: epoch, order: c.starts, progress: from, written: map[string]uint64{}, since: m})
	if c.captures[id.Capture] && f.stored {
		c.holds(OracleCheckpointSources, from >= f.checkpoint, m, "%v starts from %d, below the stored checkpoint %d", id, from, f.checkpoint)
	}
	if w := f.wanted[id.Span]; w != nil {
		missing, ok := c.span(id.Span).firstMissing(w, from)
		c.holds(OracleCheckpointSources, ok, m, "%v starts from %d, and %v is not in the sink", id, from, missing)
	}
}

func (r *spanRun) name() string {
	if r == nil {
		return ""
	}
	return r.id.String()
}

func (r *spanRun) when() time.Duration {
	if r == nil {
		return 0
	}
	return time.Duration(r.since.NS)
}

// run adds a run to those that go on, whose order is fixed.
func (f *replicatedFeed) run(r *spanRun) {
	f.runs[r.id] = r
	runs := append(f.running[r.id.Span], r)
	slices.SortFunc(runs, func(a, b *spanRun) int {
		return cmp.Or(strings.Compare(a.id.Capture, b.id.Capture), cmp.Compare(a.id.N, b.id.N))
	})
	f.running[r.id.Span] = runs
}

// Stopped observes that a run has ended: it writes no more.
func (c *Checkpoints) Stopped(id RunID) {
	f := c.feed(id.Feed)
	if r := f.runs[id]; r != nil {
		r.stopped = true
	}
	f.running[id.Span] = slices.DeleteFunc(f.running[id.Span], func(r *spanRun) bool { return r.id == id })
}

// goesOn is the run, nil if it is over.
func (f *replicatedFeed) goesOn(id RunID) *spanRun {
	i := slices.IndexFunc(f.running[id.Span], func(r *spanRun) bool { return r.id == id })
	if i < 0 {
		return nil
	}
	return f.running[id.Span][i]
}

// Written observes that changes a run wrote are durable in the sink. It is to be observed when they arrive
// there, which may be after the end of the run's process.
func (c *Checkpoints) Written(id RunID, changes []Change, m Moment) {
	f := c.feed(id.Feed)
	r, w, s := f.runs[id], f.wanted[id.Span], c.span(id.Span)
	if r != nil {
		c.judgeTurn(f, r, m)
	}
	for _, change := range changes {
		c.holds(OracleCheckpointLeResolved, f.unsure || change.CommitTS <= f.resolved, m,
			"%v writes %v, above the largest resolved timestamp that was stored, %d", id, change, f.resolved)
		c.holds(OracleExactlyOnceSink, s.has(change), m, "%v writes %v, which the source never committed in that span", id, change)
		if r != nil {
			before := r.written[change.Key]
			c.holds(OracleExactlyOnceSink, before <= change.CommitTS, m,
				"%v writes %v after a later version, of %d", id, change, before)
			r.written[change.Key] = max(before, change.CommitTS)
		}
		if w != nil {
			w.applied[version{change.Key, change.CommitTS}] = true
		}
	}
	if w != nil {
		s.skip(w)
	}
}

// judgeTurn holds a run that writes against those that have written its span before.
func (c *Checkpoints) judgeTurn(f *replicatedFeed, r *spanRun, m Moment) {
	if !c.captures[r.id.Capture] {
		return
	}
	c.holds(OracleSingleReplication, !r.stopped, m, "%v writes after it said that it stopped", r.id)
	last := f.writers[r.id.Span]
	if last == nil || r.after(last) {
		f.writers[r.id.Span] = r
		return
	}
	c.holds(OracleSingleReplication, last.id.Capture == r.id.Capture, m,
		"%v, of the owner of epoch %d, writes after %v, of that of epoch %d, has", r.id, r.epoch, last.id, last.epoch)
}

// Progressed observes what a run itself takes to be durable: every change up to checkpoint. The source has
// told it that it has every change up to resolved.
func (c *Checkpoints) Progressed(id RunID, checkpoint, resolved uint64, m Moment) {
	f := c.feed(id.Feed)
	r, w := f.goesOn(id), f.wanted[id.Span]
	if r == nil || w == nil {
		return
	}
	c.holds(OracleCheckpointLeResolved, checkpoint <= resolved, m, "%v: its checkpoint %d is above its resolved timestamp %d", id, checkpoint, resolved)
	c.holds(OracleCheckpointSources, checkpoint >= r.progress, m, "%v: its checkpoint went back from %d to %d", id, r.progress, checkpoint)
	missing, ok := c.span(id.Span).firstMissing(w, checkpoint)
	c.holds(OracleCheckpointSources, ok, m, "%v claims progress to %d, and %v is not in the sink", id, checkpoint, missing)
	r.progress = max(r.progress, checkpoint)
	w.best = max(w.best, checkpoint)
}

// Reported observes that the owner of an epoch takes in how far a capture is: the least checkpoint and the
// least resolved timestamp of its runs.
func (c *Checkpoints) Reported(feed string, epoch uint64, capture string, checkpoint, resolved uint64, m Moment) {
	c.holds(OracleCheckpointLeResolved, checkpoint <= resolved, m,
		"feed %s: %s reports to the owner of epoch %d a checkpoint of %d, above its resolved timestamp %d", feed, capture, epoch, checkpoint, resolved)
}
