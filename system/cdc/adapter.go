package cdc

import (
	"context"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/peer"
	"github.com/simrun-dev/simrun/system/cdc/scheduler"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// adapter is an owner's scheduler of one changefeed and its end of the conversation with the agents. It
// adds to the scheduler's protocol what that takes for granted: that answers are answers to what was
// asked since the last Sync, and where a key span starts.
type adapter struct {
	h     host.Host
	obs   Observer
	feed  model.ChangeFeedID
	epoch coord.Revision
	node  *peer.Node[message]
	d     *scheduler.BaseScheduleDispatcher
	// incarnation is the changefeed's.
	incarnation coord.Revision

	// mu is held while the scheduler is called, so that what it sends and hears is of one state.
	mu      *host.Mutex
	syncs   map[model.CaptureID]uint64 // the number of each capture's last Sync
	startTs model.Ts                   // the checkpoint of the present tick
	closed  bool
}

func newAdapter(l *life, feed model.ChangeFeedID, incarnation, epoch coord.Revision, checkpoint model.Ts) *adapter {
	a := &adapter{
		h: l.h, obs: l.cfg.Observer, feed: feed, incarnation: incarnation, epoch: epoch, node: l.node,
		mu: host.NewMutex(l.h, "cdc adapter"), syncs: map[model.CaptureID]uint64{},
	}
	a.d = scheduler.NewBaseScheduleDispatcher(feed, a, checkpoint)
	a.obs.Observe(SchedulerStarted{Feed: feed, Incarnation: incarnation, Epoch: epoch, CheckpointTs: checkpoint})
	return a
}

// tick is the scheduler's.
func (a *adapter) tick(ctx context.Context, checkpoint model.Ts, wanted []model.KeySpanID, captures map[model.CaptureID]*model.CaptureInfo) (model.Ts, model.Ts, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(a.syncs)) {
		if captures[id] == nil {
			delete(a.syncs, id)
		}
	}
	a.startTs = checkpoint
	a.obs.Observe(SchedulerTicked{
		Feed: a.feed, Incarnation: a.incarnation, Epoch: a.epoch, CheckpointTs: checkpoint,
		Wanted: wanted, Captures: slices.Sorted(maps.Keys(captures)),
	})
	return a.d.Tick(ctx, checkpoint, wanted, captures)
}

// move asks the scheduler for a move.
func (a *adapter) move(id model.KeySpanID, target model.CaptureID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.d.MoveKeySpan(id, target)
}

// close makes the adapter deaf.
func (a *adapter) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}

// DispatchKeySpan is part of scheduler.ScheduleDispatcherCommunicator.
func (a *adapter) DispatchKeySpan(_ context.Context, _ model.ChangeFeedID, id model.KeySpanID, capture model.CaptureID, isDelete bool) (bool, error) {
	sync, ok := a.syncs[capture]
	if !ok {
		return false, nil // it was not heard since it was lost from sight
	}
	m := message{Sync: sync, Dispatch: &dispatch{Span: id, Remove: isDelete}}
	if !isDelete {
		m.Dispatch.StartTs = a.startTs
	}
	if !a.send(capture, m) {
		a.h.Sometimes("cdc: a dispatch could not be queued", true)
		return false, nil
	}
	a.obs.Observe(Dispatched{
		Feed: a.feed, Incarnation: a.incarnation, Epoch: a.epoch, Capture: capture, SyncEpoch: sync,
		Span: id, Remove: isDelete, StartTs: m.Dispatch.StartTs,
	})
	return true, nil
}

// Announce is part of scheduler.ScheduleDispatcherCommunicator.
func (a *adapter) Announce(_ context.Context, _ model.ChangeFeedID, capture model.CaptureID) (bool, error) {
	if !a.send(capture, message{Announce: &announce{}}) {
		a.h.Sometimes("cdc: an announcement could not be queued", true)
		return false, nil
	}
	a.obs.Observe(Announced{Feed: a.feed, Incarnation: a.incarnation, Epoch: a.epoch, Capture: capture})
	return true, nil
}

// send queues a message for a capture.
func (a *adapter) send(capture model.CaptureID, m message) (ok bool) {
	m.Feed, m.Incarnation, m.Epoch = a.feed, a.incarnation, a.epoch
	_, ok = a.node.TrySend(capture, m)
	return ok
}

// receive takes in a message of an agent.
func (a *adapter) receive(from model.CaptureID, m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || m.Epoch != a.epoch {
		a.h.Sometimes("cdc: an owner ignores what was meant for another term", m.Epoch != a.epoch)
		return
	}
	if m.Incarnation != a.incarnation {
		a.h.Sometimes("cdc: an owner ignores what is about another incarnation", true)
		return
	}
	if m.Statuses != nil {
		s := m.Statuses
		a.h.Sometimes("cdc: a capture syncs again", a.syncs[from] != 0)
		a.syncs[from] = m.Sync
		a.d.OnAgentSyncTaskStatuses(from, s.Running, s.Adding, s.Removing)
		a.obs.Observe(Synced{
			Feed: a.feed, Incarnation: a.incarnation, Epoch: a.epoch, Capture: from, SyncEpoch: m.Sync,
			Running: s.Running, Adding: s.Adding, Removing: s.Removing,
		})
		return
	}
	if a.syncs[from] != m.Sync {
		a.h.Sometimes("cdc: an answer from before a sync is dropped", true)
		return
	}
	switch {
	case m.Finished != nil:
		a.d.OnAgentFinishedKeySpanOperation(from, m.Finished.Span)
		a.obs.Observe(OperationFinished{
			Feed: a.feed, Incarnation: a.incarnation, Epoch: a.epoch, Capture: from, SyncEpoch: m.Sync, Span: m.Finished.Span,
		})
	case m.Report != nil:
		a.d.OnAgentCheckpoint(from, m.Report.CheckpointTs, m.Report.ResolvedTs)
		a.obs.Observe(Reported{
			Feed: a.feed, Incarnation: a.incarnation, Epoch: a.epoch, Capture: from, SyncEpoch: m.Sync,
			CheckpointTs: m.Report.CheckpointTs, ResolvedTs: m.Report.ResolvedTs,
		})
	}
}

// status is what the scheduler believes of each capture.
func (a *adapter) status() map[model.CaptureID]Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	positions, _ := a.d.GetTaskPositions() // these errors are nil
	tasks, _ := a.d.GetTaskStatuses()
	statuses := map[model.CaptureID]Status{}
	for id, p := range positions {
		statuses[id] = Status{CheckpointTs: p.CheckPointTs, ResolvedTs: p.ResolvedTs}
	}
	for id, task := range tasks {
		s := statuses[id]
		for _, k := range slices.Sorted(maps.Keys(task.KeySpans)) {
			switch op := task.Operation[k]; {
			case op == nil:
				s.Running = append(s.Running, k)
			case op.Delete:
				s.Removing = append(s.Removing, k)
			default:
				s.Adding = append(s.Adding, k)
			}
		}
		statuses[id] = s
	}
	return statuses
}

var _ scheduler.ScheduleDispatcherCommunicator = (*adapter)(nil)
