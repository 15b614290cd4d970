package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
)

// FlushFlow makes sure that all that was inserted before the call, as far as that was acknowledged by a
// frontend or by HandleInserts, is in the flow's sink, and returns how many rows it has written. It does
// so for all flows of the node, whose id matters only for the answer and for the errors: [ErrFlowNotFound],
// [ErrNotCaughtUp], [ErrUndelivered], [ErrNoFrontend], or the context's.
//
// Inserts that come meanwhile do not wait for it, and may or may not be in the sink.
func (m *Manager) FlushFlow(ctx context.Context, id catalog.FlowID) (rows int, err error) {
	r := m.context.flow(id)
	if r == nil {
		return 0, fmt.Errorf("%w: flow %d", ErrFlowNotFound, id)
	}
	for _, s := range m.context.allSources() {
		if err := m.catchUp(ctx, s); err != nil {
			return 0, fmt.Errorf("%w: table %s: %w", ErrNotCaughtUp, s.table.Name, err)
		}
	}
	if err := m.refilled(ctx, id); err != nil {
		return 0, err
	}
	if err := m.awaitInserts(ctx); err != nil {
		return 0, err
	}
	if err := m.workThrough(ctx); err != nil {
		return 0, err
	}
	rows, err = m.SendWritebackRequests(ctx)
	if err != nil {
		return rows, fmt.Errorf("%w: %w", ErrUndelivered, err)
	}
	return rows, nil
}

// refilled waits until a flow has what its tables held.
func (m *Manager) refilled(ctx context.Context, id catalog.FlowID) error {
	for {
		r := m.context.flow(id)
		if r == nil {
			return fmt.Errorf("%w: flow %d", ErrFlowNotFound, id)
		}
		waiting, tasks := false, m.context.refills(r)
		for _, t := range tasks {
			state, err := t.State()
			if state == RefillFailedState {
				return fmt.Errorf("%w: the refill of flow %s failed: %w", ErrNotCaughtUp, r.args.Name, err)
			}
			waiting = waiting || state != RefillDone
		}
		if !waiting && len(tasks) > 0 {
			return nil
		}
		m.h.Sometimes("flow: a flush waits for a refill", true)
		if err := ctx.Err(); err != nil {
			return err
		}
		m.h.Clock().Sleep(flushPoll)
	}
}

// flushPoll is how often a flush looks whether what it waits for is over.
const flushPoll = 10 * time.Millisecond

// awaitInserts waits for the inserts in progress. They may wait for room themselves, so that the flows
// go on meanwhile.
func (m *Manager) awaitInserts(ctx context.Context) error {
	done := host.NewChan[struct{}](m.h, "inserts are done", 0)
	m.h.Go("flush waits for inserts", func() {
		m.flush.wait()
		done.Close()
	})
	for {
		step, cancel := m.h.Clock().WithTimeout(ctx, flushPoll)
		_, _, err := done.RecvContext(step)
		cancel()
		if err == nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w: inserts are in progress: %w", ErrNotCaughtUp, err)
		}
		m.h.Sometimes("flow: a flush waits for an insert", true)
		if _, err := m.RunAvailable(ctx, true); err != nil {
			return err
		}
	}
}

// workThrough lets flows work through what is in the buffers now, and not for what comes meanwhile.
func (m *Manager) workThrough(ctx context.Context) error {
	sources := m.context.allSources()
	want := make([]int, len(sources))
	for i, s := range sources {
		want[i] = s.admitted()
	}
	for done := false; !done; {
		if _, err := m.RunAvailable(ctx, true); err != nil {
			return err
		}
		done = true
		for i, s := range sources {
			done = done && s.hasPublished(want[i])
		}
		if err := ctx.Err(); !done && err != nil {
			return fmt.Errorf("%w: %w", ErrNotCaughtUp, err)
		}
	}
	return nil
}
