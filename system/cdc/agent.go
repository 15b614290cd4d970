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
	h          host.Host
	cfg        Config
	node       *peer.Node[message]
	allegiance *allegiance
	p          *processor

	// Of the ticking task.
	operations map[model.KeySpanID]*operation
	sync       uint64      // the number of the last Sync; 0 before the first
	reported   *sentReport // the last one since the last Sync; nil when there is none
	lastSent   time.Time
	toldEpoch  coord.Revision // of the owner that was sent the last Sync

	mu      *host.Mutex
	owner   model.CaptureID // whom the agent goes by, "" while nobody is known
	epoch   coord.Revision
	pending []message // dispatches not looked at yet
	asked   uint64    // counts the requests for a Sync
	told    uint64    // the last request that was met
}

// operation is the adding or removing of a key span.
type operation struct {
	dispatch
	epoch coord.Revision // of the owner that dispatched it
	begun bool
	done  bool // and not reported
}

// sentReport is a report that the owner may not have handled yet.
type sentReport struct {
	report
	number uint64
}

func newAgent(l *life, p *processor) *agent {
	return &agent{
		h: l.h, cfg: l.cfg, node: l.node, allegiance: l.allegiance, p: p, operations: map[model.KeySpanID]*operation{},
		mu: host.NewMutex(l.h, "cdc agent"), asked: 1, // it tells of itself at first
	}
}

// ownerEpoch is the highest owner's epoch that is known.
func (a *agent) ownerEpoch() coord.Revision {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.epoch
}

// receive takes in a message of an owner that the capture follows.
func (a *agent) receive(from model.CaptureID, m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followLocked(from, m.Epoch)
	switch {
	case m.Epoch < a.epoch: // the next one was heard of at the same time
	case m.Dispatch != nil:
		a.pending = append(a.pending, m)
	default:
		a.asked++
	}
}

// followLocked goes by another owner, if it is a later one. What the one before dispatched and was not looked
// at is forgotten.
func (a *agent) followLocked(owner model.CaptureID, epoch coord.Revision) {
	if epoch <= a.epoch {
		return
	}
	a.h.Sometimes("cdc: dispatches of a deposed owner are forgotten", len(a.pending) > 0)
	a.owner, a.epoch, a.pending = owner, epoch, nil
	a.asked++
}

// tick does what is due. Finished operations are told of before progress: there is always more of that, and the
// queue is not endless.
func (a *agent) tick(view *picture) error {
	owner, epoch, asked, told := a.learn(view)
	if owner == "" || a.h.Buggify("cdc/an agent is slow") {
		return nil
	}
	if asked != told && !a.tell(owner, epoch, asked) {
		return nil
	}
	if err := a.accept(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(a.operations)) {
		a.advance(owner, epoch, id, a.operations[id])
	}
	a.report(owner, epoch)
	return nil
}

// learn learns who the owner is, in case its messages are still to come: from the view, and from what other
// processors were told.
func (a *agent) learn(view *picture) (owner model.CaptureID, epoch coord.Revision, asked, told uint64) {
	owner, epoch = a.allegiance.known()
	if view.led && view.leader.Revision > epoch {
		a.allegiance.follow(view.leader.Value, view.leader.Revision)
		owner, epoch = a.allegiance.known()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followLocked(owner, epoch)
	return a.owner, a.epoch, a.asked, a.told
}

// send queues a message for the owner.
func (a *agent) send(owner model.CaptureID, epoch coord.Revision, m message) (number uint64, ok bool) {
	m.Feed, m.Incarnation, m.Epoch, m.Sync = a.p.feed, a.p.incarnation, epoch, a.sync
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
	a.reported = nil
	a.mu.Lock()
	a.told = asked
	a.mu.Unlock()
	return true
}

// report tells the owner how far this processor is, one report at a time.
func (a *agent) report(owner model.CaptureID, epoch coord.Revision) {
	if a.reported != nil && a.node.Acked(owner) < a.reported.number {
		return
	}
	now := a.h.Clock().Now()
	if len(a.p.pipelines) == 0 || now.Before(a.lastSent.Add(a.cfg.ReportInterval)) && !now.Before(a.lastSent) {
		return
	}
	checkpoint, resolved := a.p.progress()
	r := report{CheckpointTs: checkpoint, ResolvedTs: resolved}
	if number, ok := a.send(owner, epoch, message{Report: &r}); ok {
		a.reported, a.lastSent = &sentReport{r, number}, now
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
		a.operations[m.Dispatch.Span] = &operation{dispatch: *m.Dispatch, epoch: m.Epoch}
	}
	return nil
}

// advance takes an operation as far as it goes.
func (a *agent) advance(owner model.CaptureID, epoch coord.Revision, id model.KeySpanID, op *operation) {
	if !op.begun {
		if op.Remove {
			a.p.remove(id)
		} else {
			a.p.add(id, op.StartTs, op.epoch)
		}
		op.begun = true
	}
	if !op.done {
		if op.Remove {
			op.done = a.p.removed(id)
		} else {
			op.done = a.reported != nil && a.p.added(id, op.StartTs, a.reported.report)
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
