package cdc

import (
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
)

// Observer is told what happens, at the time and by the task that does it: it must not wait, nor call
// the capture. What it is given is not changed afterwards, and must not be.
type Observer interface {
	Observe(Event)
}

// Event is one of the types below. Those with an Epoch are about an owner: the revision of its election,
// which grows from owner to owner. Those with a SyncEpoch are about what an agent says and does between one
// Sync and the next. Those of a changefeed have its Incarnation, the revision at which it was created: one that
// is removed and created again under the same id is another changefeed, of a higher one.
type Event interface{ event() }

// CaptureStarted: a capture has begun a life on a machine.
type CaptureStarted struct {
	Capture model.CaptureID
	Machine string
}

// CaptureStopped: it has ended it. A process that crashes does not tell.
type CaptureStopped struct {
	Capture model.CaptureID
	Reason  error
}

// OwnerElected: a capture has become the owner.
type OwnerElected struct {
	Capture model.CaptureID
	Epoch   coord.Revision
}

// OwnerDeposed: it has noticed that it no longer is, or has resigned. A process that crashes does not tell.
type OwnerDeposed struct {
	Capture model.CaptureID
	Epoch   coord.Revision
	Reason  error
}

// SchedulerTicked: an owner is about to call the scheduler's Tick with these.
type SchedulerTicked struct {
	Feed         model.ChangeFeedID
	Incarnation  coord.Revision
	Epoch        coord.Revision
	CheckpointTs model.Ts
	Wanted       []model.KeySpanID // sorted
	Captures     []model.CaptureID // sorted
}

// SchedulerStarted: an owner has made a scheduler for a changefeed, which knows nothing.
type SchedulerStarted struct {
	Feed         model.ChangeFeedID
	Incarnation  coord.Revision
	Epoch        coord.Revision
	CheckpointTs model.Ts
}

// Announced: an owner has asked a capture what it replicates.
type Announced struct {
	Feed        model.ChangeFeedID
	Incarnation coord.Revision
	Epoch       coord.Revision
	Capture     model.CaptureID
}

// Synced: an owner has taken in what a capture replicates.
type Synced struct {
	Feed        model.ChangeFeedID
	Incarnation coord.Revision
	Epoch       coord.Revision
	Capture     model.CaptureID
	SyncEpoch   uint64

	Running, Adding, Removing []model.KeySpanID // sorted
}

// Dispatched: an owner has sent the adding or removing of a key span.
type Dispatched struct {
	Feed        model.ChangeFeedID
	Incarnation coord.Revision
	Epoch       coord.Revision
	Capture     model.CaptureID
	SyncEpoch   uint64
	Span        model.KeySpanID
	Remove      bool
	StartTs     model.Ts
}

// OperationFinished: an owner has taken in that a capture finished an operation.
type OperationFinished struct {
	Feed        model.ChangeFeedID
	Incarnation coord.Revision
	Epoch       coord.Revision
	Capture     model.CaptureID
	SyncEpoch   uint64
	Span        model.KeySpanID
}

// Reported: an owner has taken in how far a capture is.
type Reported struct {
	Feed         model.ChangeFeedID
	Incarnation  coord.Revision
	Epoch        coord.Revision
	Capture      model.CaptureID
	SyncEpoch    uint64
	CheckpointTs model.Ts
	ResolvedTs   model.Ts
}

// CheckpointStored: an owner has tried to store a checkpoint. It may learn of its success late, after
// another owner has stored one: what was stored in which order the Revisions tell. The first one of a
// changefeed has its StartTs, before anything was written.
type CheckpointStored struct {
	Feed         model.ChangeFeedID
	Incarnation  coord.Revision
	Owner        model.CaptureID
	Epoch        coord.Revision
	CheckpointTs model.Ts
	ResolvedTs   model.Ts
	Outcome      Outcome
	// Revision is when it was stored, if it was.
	Revision coord.Revision
}

// Outcome is what became of an attempt.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused"
	Unknown Outcome = "unknown"
)

// SafepointMoved: an owner has told the upstream store to keep history from Asked on for a changefeed; from
// Kept on it is there.
type SafepointMoved struct {
	Feed        model.ChangeFeedID
	Incarnation coord.Revision
	Epoch       coord.Revision
	Asked, Kept model.Ts
}

// FeedFailed: an owner has marked a changefeed as failed, at Revision.
type FeedFailed struct {
	Feed        model.ChangeFeedID
	Incarnation coord.Revision
	Epoch       coord.Revision
	Cause       model.RunningError
	Revision    coord.Revision
}

// SpanStarted: a capture has started a key span's pipeline.
type SpanStarted struct {
	Feed        model.ChangeFeedID
	Incarnation coord.Revision
	Capture     model.CaptureID
	Epoch       coord.Revision // of the owner that dispatched it
	Span        model.KeySpanID
	StartTs     model.Ts
}

// SpanStopped: the pipeline has ended, and its writing to the sink too.
type SpanStopped struct {
	Feed        model.ChangeFeedID
	Incarnation coord.Revision
	Capture     model.CaptureID
	Span        model.KeySpanID
}

// SpanFlushed: a pipeline has made a key span durable up to a ts.
type SpanFlushed struct {
	Feed        model.ChangeFeedID
	Incarnation coord.Revision
	Capture     model.CaptureID
	Epoch       coord.Revision // of the highest owner that the capture knows
	Span        model.KeySpanID
	// After and UpTo bound the commit ts: After < ts <= UpTo.
	After, UpTo model.Ts
	// Rows are those between, sorted by source.Compare; on the first flush into a new sink, what was there
	// before as well.
	Rows []source.Row
	// Fresh is how many of them the sink had not.
	Fresh int
}

// MoveRequested: an owner has taken in the request for a move.
type MoveRequested struct {
	Feed        model.ChangeFeedID
	Incarnation coord.Revision
	Epoch       coord.Revision
	Span        model.KeySpanID
	Target      model.CaptureID
}

func (CaptureStarted) event()    {}
func (CaptureStopped) event()    {}
func (OwnerElected) event()      {}
func (OwnerDeposed) event()      {}
func (SchedulerTicked) event()   {}
func (SchedulerStarted) event()  {}
func (Announced) event()         {}
func (Synced) event()            {}
func (Dispatched) event()        {}
func (OperationFinished) event() {}
func (Reported) event()          {}
func (CheckpointStored) event()  {}
func (SafepointMoved) event()    {}
func (FeedFailed) event()        {}
func (SpanStarted) event()       {}
func (SpanStopped) event()       {}
func (SpanFlushed) event()       {}
func (MoveRequested) event()     {}

// nobody is the observer that does nothing.
type nobody struct{}

func (nobody) Observe(Event) {}
