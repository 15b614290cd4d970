package models

import (
	"fmt"
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
	OracleSafepoint            = "cdc/safepoint"
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
//   - cdc/checkpoint-le-resolved: a checkpoint is not above the resolved timestamp beside it, where it is
//     stored and where a capture reports it; no run takes for durable what the source has not yet told it is
//     complete; nothing is written above the largest resolved timestamp that was stored.
//   - cdc/checkpoint-durable: when a checkpoint is stored, every change of a wanted key span up to it is
//     durable in the sink, and no change at or below it is committed at the source later.
//   - cdc/checkpoint-sources: when a checkpoint is stored, no key span's own progress is below it: neither
//     that of a run on a registered capture, nor the best so far of a span that nobody replicates; and no
//     run on a registered capture starts below it, or above what is in the sink.
//   - cdc/single-replication: a key span is not replicated on two registered captures at once. Where writes
//     arrive at the sink, captures take turns: once a run has written, none writes any more that was
//     dispatched by an earlier owner, or earlier by the same one; nor does a run that has said that it stopped.
//   - cdc/no-dispatch-before-sync: an owner dispatches only once each capture that it knows has told it
//     what it runs.
//   - cdc/exactly-once-sink: a run writes the versions of a key in the order of their commits; nothing is
//     written that the source did not commit; in the end the sink holds the source's newest versions.
//   - cdc/safepoint: the source keeps history from the checkpoint of every live feed on, or from its start
//     while it has none.
//
// A capture whose registration is gone may not have noticed yet. Such zombies are tolerated: what
// they write is held against the source as anybody's is, but not against other captures.
//
// A feed is one life of a changefeed: one that is removed and created again under the same name is another
// feed, to be given another name here.
type Checkpoints struct {
	feeds    map[string]*replicatedFeed
	spans    map[uint64]*sourceSpan
	captures map[string]bool // registered
	rules    rules
	starts   uint64 // of runs, so far
	// safepoint is the source's, as far as it was observed, and kept whether it was at all.
	safepoint uint64
	kept      bool
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

// NewCheckpoints returns a model that has observed nothing.
func NewCheckpoints() *Checkpoints {
	return &Checkpoints{
		feeds: map[string]*replicatedFeed{}, spans: map[uint64]*sourceSpan{}, captures: map[string]bool{},
		rules: newRules(CheckpointOracles()),
	}
}

// CheckpointOracles are the names of the oracles, sorted.
func CheckpointOracles() []string {
	return []string{
		OracleCheckpointDurable, OracleCheckpointLeResolved, OracleCheckpointMonotone, OracleCheckpointSources,
		OracleExactlyOnceSink, OracleDispatchAfterSync, OracleSafepoint, OracleSingleReplication,
	}
}

// Oracles are the verdicts on what was observed so far.
func (c *Checkpoints) Oracles() []Oracle { return c.rules.oracles() }

// holds judges once.
func (c *Checkpoints) holds(oracle string, ok bool, m Moment, format string, args ...any) {
	c.rules.holds(oracle, ok, m, format, args...)
}

// replicatedFeed is one life of a changefeed.
type replicatedFeed struct {
	name               string
	wanted             map[uint64]*wantedSpan
	began              map[uint64]uint64 // from when on, of all spans that were ever wanted
	schedulers         map[uint64]*scheduler
	stored             bool
	checkpoint         uint64
	checkpointStoredBy uint64
	// resolved is the largest resolved timestamp that was stored; unsure that there may have been a larger one.
	resolved uint64
	unsure   bool
	created  bool // the source's history is kept for it
	start    uint64
	removed  bool
	runs     map[RunID]*spanRun    // also those that are over
	running  map[uint64][]*spanRun // those that go on, of each span, by capture
	writers  map[uint64]*spanRun   // of those on registered captures that have written, the latest
}

func (c *Checkpoints) feed(name string) *replicatedFeed {
	f := c.feeds[name]
	if f == nil {
		f = &replicatedFeed{
			name: name, wanted: map[uint64]*wantedSpan{}, began: map[uint64]uint64{},
			schedulers: map[uint64]*scheduler{}, runs: map[RunID]*spanRun{},
			running: map[uint64][]*spanRun{}, writers: map[uint64]*spanRun{},
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
