package models

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Kinds of observation of change data capture, as [Checkpoints] takes them, for recordings: each is an
// operation that is over at once, with outcome ok, and observations are judged in the order of their positions.
// All but [KindContents] have no output.
const (
	KindCommit     = "commit"      // input [CommitObserved]
	KindDrop       = "drop"        // input [DropObserved]
	KindCreate     = "create"      // input [CreateObserved]
	KindWant       = "want"        // input [WantObserved]
	KindEnd        = "end"         // input [FeedObserved]: [Checkpoints.Ended]
	KindRemoveFeed = "remove-feed" // input [FeedObserved]: [Checkpoints.Removed]
	KindRegistered = "registered"  // input [CaptureObserved]
	KindLapse      = "lapse"       // input [CaptureObserved]: [Checkpoints.Unregistered]
	KindCrash      = "crash"       // input [CaptureObserved]
	KindStart      = "start"       // input [StartObserved]
	KindStop       = "stop"        // input [RunObserved]
	KindWritten    = "written"     // input [WriteObserved]
	KindProgress   = "progress"    // input [ProgressObserved]
	KindSchedule   = "schedule"    // input [OwnerObserved]
	KindKnow       = "know"        // input [KnowObserved]
	KindSync       = "sync"        // input [SyncObserved]
	KindDispatch   = "dispatch"    // input [DispatchObserved]
	KindReport     = "report"      // input [ReportObserved]
	KindStore      = "store"       // input [StoreObserved]
	KindOffice     = "office"      // input [OfficeObserved]: [Checkpoints.StoredWhile]
	KindSafepoint  = "safepoint"   // input [SafepointObserved]
	KindContents   = "contents"    // input [ContentsObserved], output [FeedContents]
)

// CommitObserved: the source commits a change.
type CommitObserved struct {
	Span    uint64 `json:"span"`
	Key     string `json:"key"`
	Value   string `json:"value,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
	TS      uint64 `json:"ts"`
}

// DropObserved: a key span ends at the source.
type DropObserved struct {
	Span uint64 `json:"span"`
	End  uint64 `json:"end"`
}

// FeedObserved: something happens to a feed.
type FeedObserved struct {
	Feed string `json:"feed"`
}

// CreateObserved: there is a feed.
type CreateObserved struct {
	Feed  string `json:"feed"`
	Start uint64 `json:"start"`
}

// WantObserved: a feed is to replicate a key span.
type WantObserved struct {
	Feed string `json:"feed"`
	Span uint64 `json:"span"`
	From uint64 `json:"from"`
}

// CaptureObserved: something happens to a capture.
type CaptureObserved struct {
	Capture string `json:"capture"`
}

// RunObserved is one run of a key span on a capture.
type RunObserved struct {
	Feed    string `json:"feed"`
	Span    uint64 `json:"span"`
	Capture string `json:"capture"`
	Run     uint64 `json:"run,omitempty"`
}

func (r RunObserved) id() RunID {
	return RunID{Feed: r.Feed, Span: r.Span, Capture: r.Capture, N: r.Run}
}

// StartObserved: a run begins.
type StartObserved struct {
	RunObserved
	Epoch uint64 `json:"epoch"`
	From  uint64 `json:"from"`
}

// WriteObserved: what a run wrote is in the sink.
type WriteObserved struct {
	RunObserved
	Changes []WrittenChange `json:"changes"`
}

// WrittenChange is one change in the sink.
type WrittenChange struct {
	Key     string `json:"key"`
	Value   string `json:"value,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
	TS      uint64 `json:"ts"`
}

// ProgressObserved: a run takes everything up to its checkpoint to be durable, and was told that it has
// everything up to resolved.
type ProgressObserved struct {
	RunObserved
	Checkpoint uint64 `json:"checkpoint"`
	Resolved   uint64 `json:"resolved"`
}

// OwnerObserved: an owner begins to schedule a feed.
type OwnerObserved struct {
	Feed  string `json:"feed"`
	Epoch uint64 `json:"epoch"`
}

// KnowObserved: an owner goes by these captures.
type KnowObserved struct {
	OwnerObserved
	Captures []string `json:"captures"`
}

// SyncObserved: an owner learns what a capture runs.
type SyncObserved struct {
	OwnerObserved
	Capture string `json:"capture"`
}

// DispatchObserved: an owner tells a capture to add or remove a key span.
type DispatchObserved struct {
	OwnerObserved
	Span    uint64 `json:"span"`
	Capture string `json:"capture"`
	Remove  bool   `json:"remove,omitempty"`
}

// ReportObserved: an owner takes in how far a capture is.
type ReportObserved struct {
	OwnerObserved
	Capture    string `json:"capture"`
	Checkpoint uint64 `json:"checkpoint"`
	Resolved   uint64 `json:"resolved"`
}

// StoreObserved: a checkpoint of a feed is stored by the owner of an epoch. Systems that store no resolved
// timestamp beside it leave that nil.
type StoreObserved struct {
	OwnerObserved
	Checkpoint uint64  `json:"checkpoint"`
	Resolved   *uint64 `json:"resolved,omitempty"`
}

// String shows the resolved timestamp and not where it is in memory.
func (s StoreObserved) String() string {
	resolved := "-"
	if s.Resolved != nil {
		resolved = fmt.Sprint(*s.Resolved)
	}
	return fmt.Sprintf("{%v %d %s}", s.OwnerObserved, s.Checkpoint, resolved)
}

// OfficeObserved: a checkpoint was stored by the owner of an epoch, while the owner of the epoch Holder held the
// office, 0 for nobody.
type OfficeObserved struct {
	OwnerObserved
	Checkpoint uint64 `json:"checkpoint"`
	Holder     uint64 `json:"holder"`
}

// SafepointObserved: the source keeps history from ts on.
type SafepointObserved struct {
	TS uint64 `json:"ts"`
}

// ContentsObserved: a feed's sink is read as of a timestamp.
type ContentsObserved struct {
	Feed string `json:"feed"`
	AsOf uint64 `json:"as_of"`
}

// FeedContents is what was read, by key.
type FeedContents struct {
	Rows map[string]string `json:"rows"`
}

// told is what one kind of observation is recorded with, and what it tells the model.
type told struct {
	input reflect.Type
	tell  func(c *Checkpoints, op *Op, m Moment)
}

// tells makes one that tells the model of its input.
func tells[T any](tell func(c *Checkpoints, in T, m Moment)) told {
	return told{reflect.TypeFor[T](), func(c *Checkpoints, op *Op, m Moment) { tell(c, op.Input.(T), m) }}
}

func observations() map[string]told {
	return map[string]told{
		KindCommit: tells(func(c *Checkpoints, in CommitObserved, m Moment) {
			c.Committed(in.Span, Change{Key: in.Key, Value: in.Value, Deleted: in.Deleted, CommitTS: in.TS}, m)
		}),
		KindDrop:       tells(func(c *Checkpoints, in DropObserved, _ Moment) { c.Dropped(in.Span, in.End) }),
		KindCreate:     tells(func(c *Checkpoints, in CreateObserved, m Moment) { c.Created(in.Feed, in.Start, m) }),
		KindWant:       tells(func(c *Checkpoints, in WantObserved, _ Moment) { c.Wanted(in.Feed, in.Span, in.From) }),
		KindEnd:        tells(func(c *Checkpoints, in FeedObserved, _ Moment) { c.Ended(in.Feed) }),
		KindRemoveFeed: tells(func(c *Checkpoints, in FeedObserved, _ Moment) { c.Removed(in.Feed) }),
		KindRegistered: tells(func(c *Checkpoints, in CaptureObserved, _ Moment) { c.Registered(in.Capture) }),
		KindLapse:      tells(func(c *Checkpoints, in CaptureObserved, _ Moment) { c.Unregistered(in.Capture) }),
		KindCrash:      tells(func(c *Checkpoints, in CaptureObserved, _ Moment) { c.Crashed(in.Capture) }),
		KindStart:      tells(func(c *Checkpoints, in StartObserved, m Moment) { c.Started(in.id(), in.Epoch, in.From, m) }),
		KindStop:       tells(func(c *Checkpoints, in RunObserved, _ Moment) { c.Stopped(in.id()) }),
		KindWritten: tells(func(c *Checkpoints, in WriteObserved, m Moment) {
			var changes []Change
			for _, w := range in.Changes {
				changes = append(changes, Change{Key: w.Key, Value: w.Value, Deleted: w.Deleted, CommitTS: w.TS})
			}
			c.Written(in.id(), changes, m)
		}),
		KindProgress: tells(func(c *Checkpoints, in ProgressObserved, m Moment) {
			c.Progressed(in.id(), in.Checkpoint, in.Resolved, m)
		}),
		KindSchedule: tells(func(c *Checkpoints, in OwnerObserved, _ Moment) { c.Scheduling(in.Feed, in.Epoch) }),
		KindKnow:     tells(func(c *Checkpoints, in KnowObserved, _ Moment) { c.Knows(in.Feed, in.Epoch, in.Captures) }),
		KindSync:     tells(func(c *Checkpoints, in SyncObserved, _ Moment) { c.Synced(in.Feed, in.Epoch, in.Capture) }),
		KindDispatch: tells(func(c *Checkpoints, in DispatchObserved, m Moment) {
			c.Dispatched(in.Feed, in.Epoch, in.Span, in.Capture, in.Remove, m)
		}),
		KindReport: tells(func(c *Checkpoints, in ReportObserved, m Moment) {
			c.Reported(in.Feed, in.Epoch, in.Capture, in.Checkpoint, in.Resolved, m)
		}),
		KindStore: tells(func(c *Checkpoints, in StoreObserved, m Moment) { c.storeObserved(in, m) }),
		KindOffice: tells(func(c *Checkpoints, in OfficeObserved, m Moment) {
			c.StoredWhile(in.Feed, in.Epoch, in.Holder, in.Checkpoint, m)
		}),
		KindSafepoint: tells(func(c *Checkpoints, in SafepointObserved, m Moment) { c.Safepoint(in.TS, m) }),
		KindContents: {reflect.TypeFor[ContentsObserved](), func(c *Checkpoints, op *Op, m Moment) {
			in := op.Input.(ContentsObserved)
			c.Contents(in.Feed, in.AsOf, op.Output.(FeedContents).Rows, m)
		}},
	}
}

// storeObserved takes in a checkpoint, with which no resolved timestamp may have been stored: then there is none
// that it could be above, nor one that later writes could be.
func (c *Checkpoints) storeObserved(in StoreObserved, m Moment) {
	if in.Resolved != nil {
		c.Stored(in.Feed, in.Epoch, in.Checkpoint, *in.Resolved, m)
		return
	}
	c.feed(in.Feed).unsure = true
	o := c.rules[OracleCheckpointLeResolved]
	judged := o.judged
	c.Stored(in.Feed, in.Epoch, in.Checkpoint, in.Checkpoint, m)
	o.judged = judged
}

// checkpointModel is the model of change data capture for recordings of what was observed of it.
func checkpointModel() Model {
	schema := Schema{Complete: true, Inputs: map[string]reflect.Type{}, Outputs: map[string]reflect.Type{"rows_read": reflect.TypeFor[FeedContents]()}}
	for kind, o := range observations() {
		schema.Inputs[kind] = o.input
	}
	return Model{
		Name:    "checkpoint",
		Doc:     "change data capture, from what was observed of it: its checkpoints keep what they promise, owners and captures take turns",
		Schema:  schema,
		Check:   checkObservation,
		Oracles: checkpointVerdicts,
	}
}

// checkObservation refuses what is no observation: something that took a while, or did not happen.
func checkObservation(op *Op) error {
	_, read := op.Output.(FeedContents)
	switch {
	case op.Outcome != Ok:
		return fmt.Errorf("outcome %s: what did not happen, or may not have, was not observed; leave it out", op.Outcome)
	case op.Kind == KindContents && !read:
		return errors.New(`contents have no output; say {"rows_read":{"rows":{...}}}`)
	case op.Kind != KindContents && op.Output != nil:
		return fmt.Errorf("%s has an output; only contents have one", op.Kind)
	case op.Return != op.Call:
		return fmt.Errorf("return is %d and call %d: an observation is over at once; give both the same position", op.Return, op.Call)
	}
	return nil
}

// checkpointVerdicts are the oracles of the model that a recording says something to; all of them if it says
// nothing to any.
func checkpointVerdicts(h *History) []Oracle {
	c := NewCheckpoints()
	if err := c.replay(h); err != nil {
		return []Oracle{unreplayable{err}}
	}
	all := c.Oracles()
	if some := slices.DeleteFunc(slices.Clone(all), func(o Oracle) bool { return o.Judge().Judged == 0 }); len(some) > 0 {
		return some
	}
	return all
}

// replay tells the model of everything that was observed. It fails if that can't have been observed in that order.
func (c *Checkpoints) replay(h *History) error {
	known := observations()
	last := map[uint64]*Op{} // commits, by span
	for _, op := range h.Ops() {
		if in, ok := op.Input.(CommitObserved); ok {
			if before := last[in.Span]; before != nil && before.Input.(CommitObserved).TS > in.TS {
				return fmt.Errorf("operation #%d commits at %d in span %d after operation #%d committed at %d: give commits of a span positions in the order of their timestamps",
					op.ID, in.TS, in.Span, before.ID, before.Input.(CommitObserved).TS)
			}
			last[in.Span] = op
		}
		o, ok := known[op.Kind]
		if !ok || reflect.TypeOf(op.Input) != o.input {
			return fmt.Errorf("operation #%d of kind %q with an input of type %T is no observation; there are %v",
				op.ID, op.Kind, op.Input, slices.Sorted(maps.Keys(known)))
		}
		if err := checkObservation(op); err != nil {
			return fmt.Errorf("operation #%d: %w", op.ID, err)
		}
		o.tell(c, op, Moment{Event: op.Call, NS: op.CallNS})
	}
	return nil
}

// unreplayable stands for the oracles where a recording can't be judged.
type unreplayable struct{ err error }

func (u unreplayable) Name() string { return "checkpoint" }

func (u unreplayable) Judge() Judgement {
	return judge(u.Name(), 0, nil, []Violation{{Oracle: u.Name(), Message: u.err.Error()}})
}
