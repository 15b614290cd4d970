package models

import (
	"maps"
	"slices"
)

// Created observes that a feed is there, to replicate what was committed later than start: from now on the
// source is to keep its history.
func (c *Checkpoints) Created(feed string, start uint64, m Moment) {
	f := c.feed(feed)
	f.created, f.start = true, start
	c.judgeSafepoint(f, m)
}

// Ended observes that a feed needs no more history: it has come to its end, or is given up. Its checkpoint
// may still be stored.
func (c *Checkpoints) Ended(feed string) { c.feed(feed).created = false }

// Removed observes that a feed is no more. What runs of it are still going on, and what they write, harms
// nobody; that its checkpoint is stored after that is a violation.
func (c *Checkpoints) Removed(feed string) {
	f := c.feed(feed)
	f.created, f.removed = false, true
}

// Missed observes that checkpoints may have been stored that were not observed. Lower bounds still hold.
func (c *Checkpoints) Missed() {
	for _, f := range c.feeds {
		f.unsure = true
	}
}

// Safepoint observes from where on the source keeps history.
func (c *Checkpoints) Safepoint(ts uint64, m Moment) {
	c.safepoint, c.kept = max(c.safepoint, ts), true
	for _, name := range slices.Sorted(maps.Keys(c.feeds)) {
		c.judgeSafepoint(c.feeds[name], m)
	}
}

func (c *Checkpoints) judgeSafepoint(f *replicatedFeed, m Moment) {
	switch {
	case !f.created || !c.kept:
	case f.stored:
		c.holds(OracleSafepoint, c.safepoint <= f.checkpoint, m,
			"the source gives up its history before %d, and feed %s has a checkpoint of %d", c.safepoint, f.name, f.checkpoint)
	default:
		c.holds(OracleSafepoint, c.safepoint <= f.start, m,
			"the source gives up its history before %d, and feed %s is to start at %d", c.safepoint, f.name, f.start)
	}
}

// Contents observes what the sink of a feed holds as of a timestamp that its checkpoint has reached, by
// key: it must be what the source held then.
func (c *Checkpoints) Contents(feed string, asOf uint64, rows map[string]string, m Moment) {
	f := c.feed(feed)
	want := map[string]Change{}
	for _, span := range slices.Sorted(maps.Keys(f.began)) {
		for _, change := range c.span(span).changes {
			if change.CommitTS > asOf {
				break
			}
			if delete(want, change.Key); !change.Deleted {
				want[change.Key] = change
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		got, there := rows[key]
		c.holds(OracleExactlyOnceSink, there && got == want[key].Value, m,
			"feed %s as of %d: the source has %v, and the sink %s", feed, asOf, want[key], sinkText(got, there))
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		_, ok := want[key]
		c.holds(OracleExactlyOnceSink, ok, m, "feed %s as of %d: the sink has %s = %s, and the source has no such row",
			feed, asOf, quoteRow(key), quoteRow(rows[key]))
	}
}

func sinkText(value string, there bool) string {
	if !there {
		return "has no such row"
	}
	return "has " + quoteRow(value)
}
