package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/host"
)

// RefillState is how far a refill is.
type RefillState int

// The states of a refill.
const (
	RefillPrepared RefillState = iota
	RefillRunning
	RefillDone
	RefillFailedState // given up for now
)

func (s RefillState) String() string { return [...]string{"prepared", "running", "done", "failed"}[s] }

// RefillTask gives a flow what its table holds. Flows keep nothing on disk: each one starts with a
// refill, when it is created and whenever its node starts.
//
// That no row is counted twice, or not at all, goes like this. The flow subscribes to the table's changes
// first, and holds them back. The refill then reads a snapshot, which says up to which change it goes.
// Having got it, the flow passes over the changes that are in it, and takes all others.
//
// A flow with EXPIRE AFTER drops what is too old, as it does with any row: so what it keeps is bounded, by whole
// groups. What it is given is not: the snapshot is all of the table, in one answer, which has to come within
// CallTimeout.
type RefillTask struct {
	m    *Manager
	flow *registration

	mu    *host.Mutex
	state RefillState
	err   error
}

// CreateAndStartRefillFlowTasks is CreateRefillFlowTasks and StartingRefillFlows.
func (m *Manager) CreateAndStartRefillFlowTasks(ctx context.Context, flows FlowMeta) error {
	tasks, err := m.CreateRefillFlowTasks(ctx, flows)
	return errors.Join(err, m.StartingRefillFlows(tasks))
}

// CreateRefillFlowTasks makes a task for each flow of this node that is still without what its tables
// hold, because its refill was given up. A flow that can't have one does not keep others from having
// theirs; the error tells of it.
func (m *Manager) CreateRefillFlowTasks(ctx context.Context, flows FlowMeta) ([]*RefillTask, error) {
	list, _, err := flows.Flows(ctx)
	if err != nil {
		return nil, err
	}
	var tasks []*RefillTask
	var errs []error
	for _, f := range list {
		if f.Node != m.node {
			continue
		}
		r := m.context.flow(f.ID)
		switch {
		case r == nil:
			errs = append(errs, fmt.Errorf("%w: %s", ErrFlowNotFound, f.Name))
		case !m.hasRefill(r):
			tasks = append(tasks, m.newRefill(r))
		}
	}
	return tasks, errors.Join(errs...)
}

// hasRefill tells whether the flow has what its table holds, or is about to get it.
func (m *Manager) hasRefill(r *registration) bool {
	t := m.context.refill(r)
	if t == nil {
		return false
	}
	state, _ := t.State()
	return state != RefillFailedState
}

func (m *Manager) newRefill(r *registration) *RefillTask {
	t := &RefillTask{m: m, flow: r, mu: host.NewMutex(m.h, "refill")}
	m.context.setRefill(r, t)
	return t
}

// StartingRefillFlows starts tasks. One that runs already is [ErrUnexpected]; without a frontend the error
// is [ErrNoFrontend].
func (m *Manager) StartingRefillFlows(tasks []*RefillTask) error {
	if _, err := m.frontend(); err != nil {
		return err
	}
	for _, t := range tasks {
		if err := t.start(); err != nil {
			return err
		}
	}
	return nil
}

// startRefill refills a flow that was just created.
func (m *Manager) startRefill(r *registration) {
	_ = m.newRefill(r).start() // it is new
}

func (t *RefillTask) start() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != RefillPrepared {
		return fmt.Errorf("%w: a refill of flow %s is %v already", ErrUnexpected, t.flow.args.Name, t.state)
	}
	t.state = RefillRunning
	t.m.h.Go("refill of "+t.flow.args.Name.String(), t.run)
	return nil
}

// State is how far the task is, and why it failed if it did.
func (t *RefillTask) State() (RefillState, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state, t.err
}

// IsFinished tells whether the flow has what the table held.
func (t *RefillTask) IsFinished() bool {
	state, _ := t.State()
	return state == RefillDone
}

func (t *RefillTask) set(state RefillState, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state, t.err = state, err
}

// run tries until the flow is refilled, is gone, or patience is at its end.
func (t *RefillTask) run() {
	m := t.m
	wait := m.cfg.RefillBackoff
	for attempt := 1; ; attempt++ {
		m.tell(RefillStarted{Node: m.node, Flow: t.flow.args.ID, Table: t.flow.source(), Attempt: attempt})
		err := t.once()
		if t.flow.life.Err() != nil {
			t.set(RefillFailedState, t.flow.life.Err())
			return
		}
		if err == nil {
			t.set(RefillDone, nil)
			return
		}
		m.tell(RefillFailed{Node: m.node, Flow: t.flow.args.ID, Table: t.flow.source(), Err: err})
		if attempt == m.cfg.RefillAttempts {
			m.h.Sometimes("flow: a refill was given up for the time being", true)
			t.set(RefillFailedState, err)
			return
		}
		m.h.Sometimes("flow: a refill is tried again", true)
		m.h.Clock().Sleep(wait)
		wait *= 2
	}
}

// once reads the table and gives it to the flow. When it fails the flow has got nothing.
func (t *RefillTask) once() error {
	m := t.m
	frontend, err := m.frontend()
	if err != nil {
		return err
	}
	ctx, cancel := m.h.Clock().WithTimeout(t.flow.life, m.cfg.CallTimeout)
	defer cancel()
	rows, upper, err := frontend.Snapshot(ctx, t.flow.source())
	if err != nil {
		return err
	}
	if m.h.Buggify("flow/slow refill") {
		m.h.Clock().Sleep(6 * m.cfg.RefillBackoff)
	}
	done, err := t.flow.worker.fill(context.WithoutCancel(ctx), fillRequest{
		flow: t.flow.args.ID, sub: t.flow.sub, rows: rows, upper: upper, now: m.ticks.tick(),
	})
	switch {
	case err != nil:
		return err
	case !done:
		return fmt.Errorf("%w: %s", ErrFlowNotFound, t.flow.args.Name)
	}
	m.tell(RefillFinished{Node: m.node, Flow: t.flow.args.ID, Table: t.flow.source(), Upper: upper, Rows: len(rows)})
	return nil
}
