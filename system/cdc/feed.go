package cdc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/scheduler"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// feed is a changefeed under an owner. It is used by the owner's ticking task.
type feed struct {
	o           *owner
	id          model.ChangeFeedID
	incarnation coord.Revision
	adapter     *adapter // nil while nothing is scheduled
	// unsettled: a write of the status may still take effect.
	unsettled bool
	// held is the hold on history that is known of, released that the creator's was let go of, and finished that
	// the changefeed was at its target at the last tick, and so has none.
	held               hold
	released, finished bool
}

// stop ends the scheduling. What captures do they go on doing.
func (f *feed) stop() {
	if f.adapter == nil {
		return
	}
	f.o.mu.Lock()
	delete(f.o.adapters, f.id)
	f.o.mu.Unlock()
	f.adapter.close()
	underWay := false
	for _, s := range f.adapter.status() {
		underWay = underWay || len(s.Adding)+len(s.Removing) > 0
	}
	f.o.h.Sometimes("cdc: scheduling ends with operations under way", underWay)
	f.adapter = nil
}

func (f *feed) start(checkpoint model.Ts) {
	f.adapter = newAdapter(f.o.l, f.id, f.incarnation, f.o.epoch, checkpoint)
	f.o.mu.Lock()
	f.o.adapters[f.id] = f.adapter
	f.o.mu.Unlock()
}

// apply hands the clients' requests to the scheduler, if there is one.
func (f *feed) apply(jobs []job, now *picture) {
	for _, j := range jobs {
		switch {
		case j.feed != f.id || f.adapter == nil:
		case j.rebalance:
			f.adapter.d.Rebalance()
		default:
			f.o.cfg.Observer.Observe(MoveRequested{
				Feed: f.id, Incarnation: f.incarnation, Epoch: f.o.epoch, Span: j.span, Target: j.target,
			})
			_, there := now.captures[j.target]
			f.o.h.Sometimes("cdc: a move was asked for to a capture that is gone", !there)
			f.adapter.move(j.span, j.target)
		}
	}
}

// tick schedules, and stores the new checkpoint. What fails is left to the next tick.
func (f *feed) tick(ctx context.Context, now *picture, spans source.Spans) {
	entry := now.feeds[f.id]
	if entry.info.State != model.StateNormal {
		f.o.h.Sometimes("cdc: a changefeed is stopped under an owner", f.adapter != nil)
		f.stop()
		return
	}
	if entry.statusRev == 0 {
		f.stop() // whoever took the status away took away what is scheduled by
		f.store(ctx, entry, model.ChangeFeedStatus{CheckpointTs: entry.info.StartTs, ResolvedTs: entry.info.StartTs})
		return
	}
	if f.unsettled {
		// Written again as it is, it has another revision than the write in question goes by.
		f.o.h.Sometimes("cdc: a checkpoint write of unknown outcome is settled", true)
		f.store(ctx, entry, entry.status)
		return
	}
	checkpoint := entry.status.CheckpointTs
	if checkpoint >= entry.info.Target() {
		f.finish(ctx, entry)
		return
	}
	if cause, failed := f.failure(entry, spans); failed {
		f.fail(ctx, entry, cause)
		return
	}
	if f.adapter == nil {
		f.start(checkpoint)
	}
	captures := map[model.CaptureID]*model.CaptureInfo{}
	for id, c := range now.captures {
		captures[id] = &c.info
	}
	newCheckpoint, newResolved, err := f.adapter.tick(ctx, checkpoint, wanted(spans, checkpoint), captures)
	if err != nil {
		f.o.h.Logf("cdc: scheduling changefeed %s: %v", f.id, err)
		f.stop() // and start anew at the next tick
		return
	}
	if newCheckpoint == scheduler.CheckpointCannotProceed {
		return
	}
	// Beyond where the list of key spans ends there may be others, and without any nothing else says where
	// to stop.
	limit := min(spans.AsOf, entry.info.Target())
	next := model.ChangeFeedStatus{CheckpointTs: min(newCheckpoint, limit), ResolvedTs: min(newResolved, limit)}
	f.o.h.Always("cdc: a computed checkpoint is not below the stored one", next.CheckpointTs >= checkpoint,
		"%s: %d after %d", f.id, next.CheckpointTs, checkpoint)
	f.o.h.Always("cdc: a computed checkpoint is not above the resolved ts", next.CheckpointTs <= next.ResolvedTs,
		"%s: %d, %d", f.id, next.CheckpointTs, next.ResolvedTs)
	if next == entry.status || next.CheckpointTs < checkpoint {
		return
	}
	f.store(ctx, entry, next)
}

// failure is why the changefeed can't be replicated, if it can't: what captures can't go on with, or that history
// it needs was given up. Of key spans that were dropped nothing is left in the list then, though there may have been
// rows in them that the sink does not have: whatever a hold said before, only the list itself tells whether it is
// complete.
func (f *feed) failure(entry *feedEntry, spans source.Spans) (cause model.RunningError, failed bool) {
	if len(entry.failures) > 0 {
		return entry.failures[0].cause, true
	}
	from := needed(entry.checkpoint())
	if spans.Safepoint <= from {
		return model.RunningError{}, false
	}
	f.o.h.Sometimes("cdc: the history that a changefeed needs is not held any more", true)
	lost, _ := lastingError(&source.GCError{Asked: from, Safepoint: spans.Safepoint}, f.o.l.addr())
	return *lost, true
}

// wanted are the key spans that have something to replicate after a checkpoint.
func wanted(spans source.Spans, checkpoint model.Ts) []model.KeySpanID {
	var ids []model.KeySpanID
	for _, s := range spans.Spans {
		if s.DropTs == 0 || s.DropTs > checkpoint {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// store writes the status, if this owner still is one and nobody wrote it since it was read.
func (f *feed) store(ctx context.Context, entry *feedEntry, status model.ChangeFeedStatus) {
	if f.o.h.Buggify("cdc/an owner is slow to store a checkpoint") {
		_ = host.Sleep(ctx, f.o.h, time.Duration(f.o.h.Rand().Int64N(int64(f.o.cfg.Timeout/2))))
	}
	r, err := f.guarded(ctx, entry, coord.Put(StatusKey(f.id), encode(status)))
	outcome := CheckpointStored{
		Feed: f.id, Incarnation: f.incarnation, Owner: f.o.l.id, Epoch: f.o.epoch, CheckpointTs: status.CheckpointTs, ResolvedTs: status.ResolvedTs,
	}
	switch {
	case err == nil && r.Succeeded:
		f.unsettled = false
		outcome.Outcome, outcome.Revision = Done, r.Revision
		f.o.h.Note("cdc.checkpoint/"+f.id, fmt.Sprint(status.CheckpointTs))
	case err == nil:
		// The next tick finds out whether the owner is deposed, or an earlier write came in late.
		f.o.h.Sometimes("cdc: a checkpoint write was refused", true)
		outcome.Outcome = Refused
	case errors.Is(err, coord.ErrUnknown):
		f.o.h.Sometimes("cdc: the outcome of a checkpoint write is not known", true)
		f.unsettled = true
		outcome.Outcome = Unknown
	default:
		outcome.Outcome = Refused
	}
	f.o.cfg.Observer.Observe(outcome)
}

// guarded executes writes on condition that this owner owns, and that the status and the info are as they were
// read.
func (f *feed) guarded(ctx context.Context, entry *feedEntry, writes ...coord.Op) (coord.TxnResult, error) {
	return f.o.cfg.Coord.Txn(ctx, coord.Txn{
		If: []coord.Compare{
			f.o.election.Held(),
			coord.Exists(CaptureKey(f.o.l.id)),
			coord.ModifiedAt(InfoKey(f.id), entry.infoRev),
			coord.ModifiedAt(StatusKey(f.id), entry.statusRev),
		},
		Then: writes,
	})
}

// finish marks a changefeed as finished that has come to its target.
func (f *feed) finish(ctx context.Context, entry *feedEntry) {
	f.stop()
	info := entry.info
	info.State = model.StateFinished
	r, err := f.guarded(ctx, entry, coord.Put(InfoKey(f.id), encode(info)))
	f.o.h.Sometimes("cdc: a changefeed has come to its target", err == nil && r.Succeeded)
}
