package models

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Names of the oracles of [Checkpoints].
const (
	OracleCheckpointMonotone   = "cdc/checkpoint-monotone"
	OracleCheckpointLeResolved = "cdc/checkpoint-le-resolved"
	OracleCheckpointDurable    = "cdc/checkpoint-durable"
	OracleCheckpointSources    = "cdc/checkpoint-sources"
	OracleSingleReplication    = "cdc/single-replication"
	OracleDispatchAfterSync    = "cdc/no-dispatch-before-sync"
	OracleExactlyOnceSink      = "cdc/exactly-once-sink"
)

// Checkpoints judges a system of change data capture: captures replicate the changes of a source
// into a sink, each key span by one capture at a time, and an owner advances a checkpoint that
// promises that everything up to it is durable in the sink. It is fed what can be observed of the
// system, in the order in which it happened, and judges each observation as it comes; the fields of
// the system itself are never looked at. Ask [Checkpoints.Oracles] when the run is over.
//
// Its rules are those of TiCDC's design as far as they do not depend on how that is built:
//
//   - cdc/checkpoint-monotone: a stored checkpoint never regresses, across owners too, and only who owns at
//     that moment stores one.
//   - cdc/checkpoint-le-resolved: a stored checkpoint is not above the resolved timestamp stored with it.
//   - cdc/checkpoint-durable: when a checkpoint is stored, every change of a wanted key span up to it is
//     durable in the sink, and no change at or below it is committed at the source later.
//   - cdc/checkpoint-sources: when a checkpoint is stored, no key span's own progress is below it: neither
//     that of a run on a registered capture, nor the best so far of a span that nobody replicates; and no
//     run on a registered capture starts below it, or above what is in the sink.
//   - cdc/single-replication: a key span is not replicated on two registered captures at once.
//   - cdc/no-dispatch-before-sync: an owner dispatches only once each capture that it knows has told it
//     what it runs.
//   - cdc/exactly-once-sink: a run writes the versions of a key in the order of their commits; nothing is
//     written that the source did not commit; in the end the sink holds the source's newest versions.
//
// A capture whose registration is gone may not have noticed yet. Such zombies are tolerated: what
// they write is held against the source as anybody's is, but not against other captures.
type Checkpoints struct {
	feeds    map[string]*replicatedFeed
	spans    map[uint64]*sourceSpan
	captures map[string]bool // registered
	oracles  map[string]*checkpointOracle
}

// Moment is when something was observed: the position in the total order of events, and virtual time.
type Moment struct {
	Event uint64
	NS    int64
}

// Change is a new version of a row, committed at the source at CommitTS.
type Change struct {
	Key      string
	Value    string
	Deleted  bool
	CommitTS uint64
}

func (c Change) String() string {
	if c.Deleted {
		return fmt.Sprintf("deletion of %s at %d", quoteRow(c.Key), c.CommitTS)
	}
	return fmt.Sprintf("%s = %s at %d", quoteRow(c.Key), quoteRow(c.Value), c.CommitTS)
}

// RunID names one run of a key span on a capture, from its start to its stop.
type RunID struct {
	Feed    string
	Span    uint64
	Capture string
	// N tells the runs of a span on a capture apart.
	N uint64
}

func (r RunID) String() string {
	return fmt.Sprintf("run %d of span %d of %s on %s", r.N, r.Span, r.Feed, r.Capture)
}

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

type replicatedFeed struct {
	name               string
	wanted             map[uint64]*wantedSpan
	began              map[uint64]uint64 // from when on, of all spans that were ever wanted
	schedulers         map[uint64]*scheduler
	stored             bool
	checkpoint         uint64
	checkpointStoredBy uint64
	runs               map[RunID]*spanRun
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

type spanRun struct {
	id       RunID
	progress uint64
	written  map[string]uint64 // the newest version written, by key
	since    Moment
}

// scheduler is what an owner knows of a feed, and of which captures it goes by: true if synced.
type scheduler struct{ captures map[string]bool }

// NewCheckpoints returns a model that has observed nothing.
func NewCheckpoints() *Checkpoints {
	c := &Checkpoints{
		feeds: map[string]*replicatedFeed{}, spans: map[uint64]*sourceSpan{}, captures: map[string]bool{},
		oracles: map[string]*checkpointOracle{},
	}
	for _, name := range CheckpointOracles() {
		c.oracles[name] = &checkpointOracle{name: name}
	}
	return c
}

// CheckpointOracles are the names of the oracles, sorted.
func CheckpointOracles() []string {
	return []string{
		OracleCheckpointDurable, OracleCheckpointLeResolved, OracleCheckpointMonotone, OracleCheckpointSources,
		OracleExactlyOnceSink, OracleDispatchAfterSync, OracleSingleReplication,
	}
}

// Oracles are the verdicts on what was observed so far.
func (c *Checkpoints) Oracles() []Oracle {
	all := make([]Oracle, 0, len(c.oracles))
	for _, name := range slices.Sorted(maps.Keys(c.oracles)) {
		all = append(all, c.oracles[name])
	}
	return all
}

// checkpointOracle collects what one rule objects to.
type checkpointOracle struct {
	name   string
	judged int
	found  []Violation
}

func (o *checkpointOracle) Name() string     { return o.name }
func (o *checkpointOracle) Judge() Judgement { return judge(o.name, o.judged, o.found, nil) }

// holds judges once.
func (c *Checkpoints) holds(oracle string, ok bool, m Moment, format string, args ...any) {
	o := c.oracles[oracle]
	o.judged++
	if !ok && len(o.found) < violationsKept {
		o.found = append(o.found, Violation{Oracle: oracle, Message: fmt.Sprintf(format, args...), AtNS: m.NS, Event: m.Event})
	}
}

func (c *Checkpoints) feed(name string) *replicatedFeed {
	f := c.feeds[name]
	if f == nil {
		f = &replicatedFeed{
			name: name, wanted: map[uint64]*wantedSpan{}, began: map[uint64]uint64{},
			schedulers: map[uint64]*scheduler{}, runs: map[RunID]*spanRun{},
		}
		c.feeds[name] = f
	}
	return f
}

func (c *Checkpoints) span(id uint64) *sourceSpan {
	s := c.spans[id]
	if s == nil {
		s = &sourceSpan{}
		c.spans[id] = s
	}
	return s
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
		if w == nil || !f.stored || change.CommitTS <= w.from {
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

// Registered observes that a capture is part of the system, Unregistered that it no longer is: its
// lease is gone, whether or not it knows. Ids are not used again.
func (c *Checkpoints) Registered(capture string) { c.captures[capture] = true }

// Unregistered is described at [Checkpoints.Registered].
func (c *Checkpoints) Unregistered(capture string) { c.captures[capture] = false }

// Crashed observes that a capture's process is gone, and its runs with it.
func (c *Checkpoints) Crashed(capture string) {
	for _, f := range c.feeds {
		maps.DeleteFunc(f.runs, func(id RunID, _ *spanRun) bool { return id.Capture == capture })
	}
}

// Started observes that a run begins, to replicate what was committed later than from.
func (c *Checkpoints) Started(id RunID, from uint64, m Moment) {
	f := c.feed(id.Feed)
	var other *spanRun
	for _, r := range f.live(id.Span) {
		if r.id.Capture != id.Capture && c.captures[r.id.Capture] && c.captures[id.Capture] {
			other = r
		}
	}
	if c.captures[id.Capture] {
		c.holds(OracleSingleReplication, other == nil, m, "%v starts while %v goes on, since %v", id, other.name(), other.when())
	}
	f.runs[id] = &spanRun{id: id, progress: from, written: map[string]uint64{}, since: m}
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

// live are the runs of a span, in a fixed order.
func (f *replicatedFeed) live(span uint64) []*spanRun {
	var runs []*spanRun
	for id, r := range f.runs {
		if id.Span == span {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b *spanRun) int {
		return cmp.Or(strings.Compare(a.id.Capture, b.id.Capture), cmp.Compare(a.id.N, b.id.N))
	})
	return runs
}

// Stopped observes that a run has ended: it writes no more.
func (c *Checkpoints) Stopped(id RunID) { delete(c.feed(id.Feed).runs, id) }

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

// Written observes that changes a run wrote are durable in the sink.
func (c *Checkpoints) Written(id RunID, changes []Change, m Moment) {
	f := c.feed(id.Feed)
	r, w, s := f.runs[id], f.wanted[id.Span], c.span(id.Span)
	for _, change := range changes {
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

// Progressed observes what a run itself takes to be durable: every change up to checkpoint.
func (c *Checkpoints) Progressed(id RunID, checkpoint, resolved uint64, m Moment) {
	f := c.feed(id.Feed)
	r, w := f.runs[id], f.wanted[id.Span]
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
	for _, r := range f.live(span) {
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
