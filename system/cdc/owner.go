package cdc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/scheduler"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// owner is a capture's term of ownership.
type owner struct {
	l        *life
	h        host.Host
	cfg      Config
	election *coord.Election
	epoch    coord.Revision

	// Of the ticking task.
	feeds map[model.ChangeFeedID]*feed

	mu       *host.Mutex
	adapters map[model.ChangeFeedID]*adapter // those that hear messages
	jobs     []job
	resign   bool
}

// job is what a client asks of the owner's scheduler.
type job struct {
	feed      model.ChangeFeedID
	rebalance bool
	span      model.KeySpanID
	target    model.CaptureID
}

func newOwner(l *life, e *coord.Election) *owner {
	return &owner{
		l: l, h: l.h, cfg: l.cfg, election: e, epoch: e.Revision(), feeds: map[model.ChangeFeedID]*feed{},
		mu: host.NewMutex(l.h, "cdc owner"), adapters: map[model.ChangeFeedID]*adapter{},
	}
}

// run ticks until the owner learns that it is none any more, is asked to resign, or ctx ends, and returns
// why.
func (o *owner) run(ctx context.Context) error {
	defer func() {
		for _, id := range slices.Sorted(maps.Keys(o.feeds)) {
			o.feeds[id].stop()
		}
	}()
	for {
		if err := o.tick(ctx); err != nil {
			return err
		}
		sleep(ctx, o.h, o.cfg.OwnerInterval)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// tick reads what there is, and does what is due for every changefeed. What can't be reached now is left
// to the next tick.
func (o *owner) tick(ctx context.Context) error {
	if err := o.l.session.Err(); err != nil {
		return err
	}
	o.mu.Lock()
	resign, jobs := o.resign, o.jobs
	o.jobs = nil
	o.mu.Unlock()
	if resign {
		return errResigned
	}
	bounded, cancel := o.h.Clock().WithTimeout(ctx, o.cfg.Timeout)
	defer cancel()
	s, err := o.cfg.Coord.Range(bounded, coord.Prefix(Root), 0)
	if err != nil {
		o.requeue(jobs)
		return nil
	}
	now, bad := pictureOf(s.KVs, s.Revision)
	for _, key := range bad {
		o.h.Logf("cdc: the value of %s can't be read", key)
	}
	if !now.led || now.leader.Revision != o.epoch || now.leader.Key != o.election.Key() {
		return errDeposed
	}
	if _, listed := now.captures[o.l.id]; !listed {
		return errUnlisted
	}
	for _, id := range slices.Sorted(maps.Keys(now.captures)) {
		o.l.node.Add(id, now.captures[id].info.AdvertiseAddr)
	}
	held := o.safepoint(bounded, now)
	// Read after the changefeeds: what is wanted is complete up to a ts beyond each checkpoint.
	spans, err := o.cfg.Upstream.Spans(bounded)
	if err != nil {
		o.h.Sometimes("cdc: an owner can't reach the upstream store", true)
		o.requeue(jobs)
		return nil
	}
	if o.h.Buggify("cdc/an owner is slow to schedule") && o.h.Rand().IntN(8) == 0 {
		// By then others may have taken over.
		sleep(bounded, o.h, time.Duration(o.h.Rand().Int64N(int64(o.cfg.Timeout/2))))
	}
	for _, id := range slices.Sorted(maps.Keys(o.feeds)) {
		if now.feeds[id] == nil {
			o.feeds[id].stop()
			delete(o.feeds, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now.feeds)) {
		if o.feeds[id] == nil {
			o.feeds[id] = &feed{o: o, id: id}
		}
		f := o.feeds[id]
		if held && now.feeds[id].statusRev != 0 {
			f.release(bounded)
		}
		f.apply(jobs)
		f.tick(bounded, now, spans)
	}
	return nil
}

func (o *owner) requeue(jobs []job) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.jobs = append(slices.Clone(jobs), o.jobs...)
}

// safepoint tells the upstream store to keep the history that changefeeds may have to read again: from
// their checkpoints on, as they are stored. It tells whether that succeeded.
func (o *owner) safepoint(ctx context.Context, now *picture) (held bool) {
	least := model.Ts(math.MaxUint64)
	for _, f := range now.feeds {
		switch {
		case f.info.State == model.StateFinished:
		case f.statusRev == 0:
			least = min(least, f.info.StartTs)
		default:
			least = min(least, f.status.CheckpointTs)
		}
	}
	if least == math.MaxUint64 {
		return false
	}
	// One less, so that whoever starts at the checkpoint finds what was there at it, too.
	asked := max(least, 1) - 1
	kept, err := o.cfg.Upstream.Safepoint(ctx, safepointService, asked, o.cfg.SafepointTTL)
	if err != nil {
		return false
	}
	o.cfg.Observer.Observe(SafepointMoved{Epoch: o.epoch, Asked: asked, Kept: kept})
	return true
}

// safepointService is the name under which owners hold history, and with creating and the changefeed's
// name after it, that under which it is held until an owner has taken up a new changefeed.
const (
	safepointService = "cdc"
	creating         = "/creating/"
)

// receive takes in a message of an agent.
func (o *owner) receive(from model.CaptureID, m message) {
	o.mu.Lock()
	a := o.adapters[m.Feed]
	o.mu.Unlock()
	if a == nil {
		o.h.Sometimes("cdc: an agent tells of itself before the owner has a scheduler", m.Statuses != nil)
		return
	}
	a.receive(from, m)
}

// ask takes in what a client asks for.
func (o *owner) ask(j job) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.jobs = append(o.jobs, j)
}

// askToResign makes the owner resign at its next tick.
func (o *owner) askToResign() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resign = true
}

// feed is a changefeed under an owner. It is used by the owner's ticking task.
type feed struct {
	o       *owner
	id      model.ChangeFeedID
	adapter *adapter // nil while nothing is scheduled
	// unsettled: a write of the status may still take effect.
	unsettled bool
	// released: what held history while the changefeed was created has been let go.
	released bool
}

// release lets go of what Admin.Create held: the owner's own hold has taken its place. If that fails it
// ends by itself.
func (f *feed) release(ctx context.Context) {
	if !f.released {
		f.released = true
		_ = f.o.cfg.Upstream.Release(ctx, safepointService+creating+f.id)
	}
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
	f.adapter = newAdapter(f.o.l, f.id, f.o.epoch, checkpoint)
	f.o.mu.Lock()
	f.o.adapters[f.id] = f.adapter
	f.o.mu.Unlock()
}

// apply hands the clients' requests to the scheduler, if there is one.
func (f *feed) apply(jobs []job) {
	for _, j := range jobs {
		switch {
		case j.feed != f.id || f.adapter == nil:
		case j.rebalance:
			f.adapter.d.Rebalance()
		default:
			f.o.cfg.Observer.Observe(MoveRequested{Feed: f.id, Epoch: f.o.epoch, Span: j.span, Target: j.target})
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
		sleep(ctx, f.o.h, time.Duration(f.o.h.Rand().Int64N(int64(f.o.cfg.Timeout/2))))
	}
	r, err := f.guarded(ctx, entry, coord.Put(StatusKey(f.id), encode(status)))
	outcome := CheckpointStored{
		Feed: f.id, Owner: f.o.l.id, Epoch: f.o.epoch, CheckpointTs: status.CheckpointTs, ResolvedTs: status.ResolvedTs,
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

// guarded executes a write on condition that this owner owns, and that the status and the info are as
// they were read.
func (f *feed) guarded(ctx context.Context, entry *feedEntry, write coord.Op) (coord.TxnResult, error) {
	return f.o.cfg.Coord.Txn(ctx, coord.Txn{
		If: []coord.Compare{
			f.o.election.Held(),
			coord.Exists(CaptureKey(f.o.l.id)),
			coord.ModifiedAt(InfoKey(f.id), entry.infoRev),
			coord.ModifiedAt(StatusKey(f.id), entry.statusRev),
		},
		Then: []coord.Op{write},
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
