package cdc

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/peer"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// agent is a processor's end of the conversation with the owner.
type agent struct {
	h    host.Host
	cfg  Config
	feed model.ChangeFeedID
	node *peer.Node[message]
	p    *processor

	// Of the ticking task.
	operations map[model.KeySpanID]*operation
	sync       uint64 // the number of the last Sync; 0 before the first
	known      model.Ts
	onTheWay   *sentReport
	lastSent   time.Time
	toldEpoch  coord.Revision // of the owner that was sent the last Sync

	mu      *host.Mutex
	owner   model.CaptureID // "" while nobody is known
	epoch   coord.Revision
	pending []message // dispatches not looked at yet
	asked   uint64    // counts the requests for a Sync
	told    uint64    // the last request that was met
}

// operation is the adding or removing of a key span.
type operation struct {
	dispatch
	begun bool
	done  bool // and not reported
}

// sentReport is a report that the owner may not have handled yet.
type sentReport struct {
	checkpoint model.Ts
	number     uint64
}

func newAgent(l *life, feed model.ChangeFeedID, p *processor) *agent {
	return &agent{
		h: l.h, cfg: l.cfg, feed: feed, node: l.node, p: p, operations: map[model.KeySpanID]*operation{},
		mu: host.NewMutex(l.h, "cdc agent"), asked: 1, // it tells of itself at first
	}
}

// ownerEpoch is the highest owner's epoch that is known.
func (a *agent) ownerEpoch() coord.Revision {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.epoch
}

// receive takes in a message of an owner.
func (a *agent) receive(from model.CaptureID, m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.followLocked(from, m.Epoch) {
		return
	}
	if m.Dispatch != nil {
		a.pending = append(a.pending, m)
	} else {
		a.asked++
	}
}

// followLocked tells whether an owner is to be heard, which makes it the known one. What a lower one
// dispatched and was not looked at is forgotten.
func (a *agent) followLocked(owner model.CaptureID, epoch coord.Revision) bool {
	switch {
	case epoch < a.epoch:
		a.h.Sometimes("cdc: an agent ignores a deposed owner", true)
		return false
	case epoch > a.epoch:
		a.h.Sometimes("cdc: dispatches of a deposed owner are forgotten", len(a.pending) > 0)
		a.owner, a.epoch, a.pending = owner, epoch, nil
		a.asked++
	case owner != a.owner:
		a.h.Unreachable("cdc: two owners of one epoch", "%s and %s of %d", a.owner, owner, epoch)
		return false
	}
	return true
}

// tick does what is due.
func (a *agent) tick(view *picture) error {
	owner, epoch, asked, told := a.learn(view)
	if owner == "" || a.h.Buggify("cdc/an agent is slow") {
		return nil
	}
	if asked != told && !a.tell(owner, epoch, asked) {
		return nil
	}
	a.report(owner, epoch)
	if err := a.accept(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(a.operations)) {
		a.advance(owner, epoch, id, a.operations[id])
	}
	return nil
}

// learn learns from the view who the owner is, in case its messages are still to come.
func (a *agent) learn(view *picture) (owner model.CaptureID, epoch coord.Revision, asked, told uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if view.led && view.leader.Revision > a.epoch {
		a.followLocked(view.leader.Value, view.leader.Revision)
	}
	return a.owner, a.epoch, a.asked, a.told
}

// send queues a message for the owner.
func (a *agent) send(owner model.CaptureID, epoch coord.Revision, m message) (number uint64, ok bool) {
	m.Feed, m.Epoch, m.Sync = a.feed, epoch, a.sync
	return a.node.TrySend(owner, m)
}

// tell sends the owner all that this processor has, under a new number. Until that is on its way nothing
// else may be done: what comes after would be taken for what was before.
func (a *agent) tell(owner model.CaptureID, epoch coord.Revision, asked uint64) bool {
	before := a.sync
	for a.sync == before || a.sync == 0 {
		a.sync = a.h.Rand().Uint64()
	}
	var s statuses
	ids := map[model.KeySpanID]bool{}
	for _, id := range a.p.spans() {
		ids[id] = true
	}
	for id := range a.operations {
		ids[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		switch op := a.operations[id]; {
		case op == nil:
			s.Running = append(s.Running, id)
		case op.Remove:
			s.Removing = append(s.Removing, id)
		default:
			s.Adding = append(s.Adding, id)
		}
	}
	if _, ok := a.send(owner, epoch, message{Statuses: &s}); !ok {
		a.h.Sometimes("cdc: a sync could not be queued", true)
		a.sync = before
		return false
	}
	a.h.Sometimes("cdc: a sync tells of key spans being added", len(s.Adding) > 0)
	a.h.Sometimes("cdc: a sync tells of key spans being removed", len(s.Removing) > 0)
	a.h.Sometimes("cdc: a sync tells of running key spans", len(s.Running) > 0)
	changed := a.toldEpoch != 0 && a.toldEpoch != epoch
	a.h.Sometimes("cdc: a new owner is told of key spans being added", changed && len(s.Adding) > 0)
	a.h.Sometimes("cdc: a new owner is told of key spans being removed", changed && len(s.Removing) > 0)
	a.toldEpoch = epoch
	a.known, a.onTheWay = 0, nil
	a.mu.Lock()
	a.told = asked
	a.mu.Unlock()
	return true
}

// report tells the owner how far this processor is, one report at a time.
func (a *agent) report(owner model.CaptureID, epoch coord.Revision) {
	if a.onTheWay != nil {
		if a.node.Acked(owner) < a.onTheWay.number {
			return
		}
		a.known, a.onTheWay = a.onTheWay.checkpoint, nil
	}
	now := a.h.Clock().Now()
	if len(a.p.pipelines) == 0 || now.Before(a.lastSent.Add(a.cfg.ReportInterval)) && !now.Before(a.lastSent) {
		return
	}
	checkpoint, resolved := a.p.progress()
	if number, ok := a.send(owner, epoch, message{Report: &report{CheckpointTs: checkpoint, ResolvedTs: resolved}}); ok {
		a.onTheWay, a.lastSent = &sentReport{checkpoint, number}, now
	}
}

// accept makes operations of what was dispatched since the last Sync.
func (a *agent) accept() error {
	a.mu.Lock()
	pending := a.pending
	a.pending = nil
	a.mu.Unlock()
	for _, m := range pending {
		if m.Sync != a.sync {
			a.h.Sometimes("cdc: a dispatch from before a sync is dropped", true)
			continue
		}
		if a.operations[m.Dispatch.Span] != nil {
			a.h.Unreachable("cdc: two operations on one key span", "%s: key span %d", a.p.capture, m.Dispatch.Span)
			return fmt.Errorf("%w: %d", errDuplicate, m.Dispatch.Span)
		}
		a.operations[m.Dispatch.Span] = &operation{dispatch: *m.Dispatch}
	}
	return nil
}

// advance takes an operation as far as it goes.
func (a *agent) advance(owner model.CaptureID, epoch coord.Revision, id model.KeySpanID, op *operation) {
	if !op.begun {
		if op.Remove {
			a.p.remove(id)
		} else {
			a.p.add(id, op.StartTs)
		}
		op.begun = true
	}
	if !op.done {
		if op.Remove {
			op.done = a.p.removed(id)
		} else {
			op.done = a.p.added(id, op.StartTs, a.known)
		}
	}
	if !op.done {
		return
	}
	if _, ok := a.send(owner, epoch, message{Finished: &finished{Span: id}}); !ok {
		a.h.Sometimes("cdc: a finished operation could not be told", true)
		return
	}
	delete(a.operations, id)
}
