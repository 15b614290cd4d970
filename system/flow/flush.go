package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// FlushFlow makes sure that all that was inserted before the call, as far as that was acknowledged by a
// frontend or by HandleInserts, is in the flow's sink, and returns how many rows it has written there, those of
// flows that share it too. Other sinks, and their troubles, are not the caller's. The errors are
// [ErrFlowNotFound], [ErrTableNotFound] if the flow's source was dropped, so that nobody knows what was in it,
// [ErrNotCaughtUp], also if the node has the flow as it was defined before, [ErrUndelivered], [ErrNoFrontend],
// or the context's.
//
// Inserts that come meanwhile do not wait for it, and may or may not be in the sink.
func (m *Manager) FlushFlow(ctx context.Context, f FlushFlow) (rows int, err error) {
	r, err := m.defined(f)
	if err != nil {
		return 0, err
	}
	if s := m.context.source(r.query.Table.ID); s != nil {
		var failed error
		if _, err := m.meanwhile(ctx, "flush catches up", func() { failed = m.catchUp(ctx, s) }); err != nil {
			return 0, fmt.Errorf("%w: table %s: %w", ErrNotCaughtUp, s.table.Name, err)
		}
		switch {
		case errors.Is(failed, ErrTableNotFound):
			return 0, fmt.Errorf("flow %s can't have what was inserted last: %w", r.args.Name, failed)
		case failed != nil:
			return 0, fmt.Errorf("%w: table %s: %w", ErrNotCaughtUp, s.table.Name, failed)
		}
	}
	for {
		r, err := m.refilled(ctx, f)
		if err != nil {
			return rows, err
		}
		n, err := m.deliver(ctx, r)
		rows += n
		if err != nil || m.context.flow(f.ID) == r {
			return rows, err
		}
		// Another instance has taken over what came since, and must have all before as well.
		m.h.Sometimes("flow: a flow began anew during a flush", true)
	}
}

// defined is the flow that is to be flushed, as it is defined or later.
func (m *Manager) defined(f FlushFlow) (*registration, error) {
	r := m.context.flow(f.ID)
	switch {
	case r == nil:
		return nil, fmt.Errorf("%w: flow %d", ErrFlowNotFound, f.ID)
	case r.args.Revision < f.Revision:
		m.h.Sometimes("flow: a flush is for a definition that the node has not heard of", true)
		return nil, fmt.Errorf("%w: the node has revision %d of flow %s yet, not %d: try again", ErrNotCaughtUp, r.args.Revision, r.args.Name, f.Revision)
	}
	return r, nil
}

// deliver sees what has come through to the sinks.
func (m *Manager) deliver(ctx context.Context, r *registration) (rows int, err error) {
	if err := m.awaitInserts(ctx); err != nil {
		return 0, err
	}
	if err := m.workThrough(ctx); err != nil {
		return 0, err
	}
	if rows, err = m.drain(ctx, m.context.sink(m.h, r.args.Sink)); err == nil {
		err = m.intact(ctx, r)
	}
	if err != nil {
		return rows, fmt.Errorf("%w: sink %s: %w", ErrUndelivered, r.args.Sink, err)
	}
	return rows, nil
}

// refilled waits until a flow has what its tables held, and returns which instance of it that is.
func (m *Manager) refilled(ctx context.Context, f FlushFlow) (*registration, error) {
	for {
		r, err := m.defined(f)
		if err != nil {
			return nil, err
		}
		if t := m.context.refill(r); t != nil {
			switch state, err := t.State(); state {
			case RefillDone:
				return r, nil
			case RefillFailedState:
				return nil, fmt.Errorf("%w: the refill of flow %s failed: %w", ErrNotCaughtUp, r.args.Name, err)
			}
		}
		m.h.Sometimes("flow: a flush waits for a refill", true)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.h.Clock().Sleep(flushPoll)
	}
}

// flushPoll is how often a flush looks whether what it waits for is over.
const flushPoll = 10 * time.Millisecond

// awaitInserts waits for the inserts in progress.
func (m *Manager) awaitInserts(ctx context.Context) error {
	waited, err := m.meanwhile(ctx, "flush waits for inserts", m.flush.wait)
	m.h.Sometimes("flow: a flush waits for an insert", waited)
	if err != nil {
		return fmt.Errorf("%w: inserts are in progress: %w", ErrNotCaughtUp, err)
	}
	return nil
}

// meanwhile does what may wait for room in the buffers, and lets the flows go on until that is done; it tells
// whether that took any time. The error is the context's, and then it may not be done, or a worker's.
func (m *Manager) meanwhile(ctx context.Context, what string, do func()) (waited bool, err error) {
	done := host.NewChan[struct{}](m.h, what, 0)
	m.h.Go(what, func() {
		do()
		done.Close()
	})
	for {
		step, cancel := m.h.Clock().WithTimeout(ctx, flushPoll)
		_, _, err := done.RecvContext(step)
		cancel()
		if err == nil {
			return waited, nil
		}
		if err := ctx.Err(); err != nil {
			return waited, err
		}
		waited = true
		if _, err := m.RunAvailable(ctx, true); err != nil {
			return waited, err
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
