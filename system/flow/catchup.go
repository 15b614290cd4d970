package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/host"
)

// keepUp fetches what was missed, every now and then, and lets flows begin anew whose sinks were made anew.
func (m *Manager) keepUp(shutdown *host.Chan[struct{}]) {
	for !m.pause(shutdown, m.cfg.CatchUpInterval) {
		for _, s := range m.context.allSources() {
			if err := m.catchUp(context.Background(), s); err != nil && !errors.Is(err, ErrTableNotFound) {
				m.h.Logf("flow: table %s: %v", s.table.Name, err)
			}
		}
		for _, r := range m.ashore() {
			if err := m.intact(context.Background(), r); err != nil {
				m.h.Logf("flow %s: beginning anew for a sink that was made anew: %v", r.args.Name, err)
			}
		}
	}
}

// catchUp makes sure that a source has taken in all changes that were acknowledged before the call. The error
// is [ErrTableNotFound] if the table was dropped: what was acknowledged and has not come never will.
func (m *Manager) catchUp(ctx context.Context, s *source) error {
	defer m.flush.read()()
	frontend, err := m.frontend()
	if err != nil {
		return err
	}
	upper, err := m.fetch(ctx, frontend, s)
	if errors.Is(err, relation.ErrForgotten) {
		s.lose(upper)
		err = m.startOver(ctx, s)
	}
	if err != nil {
		return err
	}
	if next := s.upper(); next < upper {
		return fmt.Errorf("%w: table %s is at %d, want %d", ErrNotCaughtUp, s.table.Name, next, upper)
	}
	s.whole()
	return nil
}

// fetch fetches what a source has not, and tells before which change that is.
func (m *Manager) fetch(ctx context.Context, frontend FrontendInvoker, s *source) (upper uint64, err error) {
	ctx, cancel := m.h.Clock().WithTimeout(ctx, m.cfg.CallTimeout)
	defer cancel()
	upper, err = frontend.Upper(ctx, s.table.ID)
	if err != nil {
		return 0, err
	}
	next := s.upper()
	if next >= upper {
		return upper, nil
	}
	batches, err := frontend.Changes(ctx, s.table.ID, next)
	if err != nil {
		return upper, err
	}
	m.h.Sometimes("flow: inserts were missed and fetched", len(batches) > 0)
	for _, b := range batches {
		if err := s.send(ctx, b); err != nil {
			return upper, err
		}
	}
	return upper, nil
}

// startOver lets the flows of a source begin anew, since it has missed more than frontends remember. When it
// fails, those that have begun need not do so again for this gap, and the others have to. Each has its own
// time.
func (m *Manager) startOver(ctx context.Context, s *source) error {
	m.h.Sometimes("flow: too much was missed and flows began anew", true)
	m.ddl.Lock()
	defer m.ddl.Unlock()
	var errs []error
	for _, id := range s.behind() {
		old := m.context.flow(id)
		if old == nil {
			continue
		}
		err := m.beginAnewInTime(ctx, old)
		if IsRefused(err) {
			// It must not keep the others from what they miss.
			m.h.Logf("flow %s can't begin anew and stops: %v", old.args.Name, err)
			m.evict(ctx, old)
			err = nil
		}
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if err == nil {
		// After all of them are new, so that none meets the gap: what they read of the table is from after
		// that was noticed.
		s.skip()
	}
	return err
}

// beginAnewInTime lets a flow begin anew, in the time of the calls that takes. The caller holds ddl.
func (m *Manager) beginAnewInTime(ctx context.Context, old *registration) error {
	ctx, cancel := m.h.Clock().WithTimeout(ctx, callsToCreate*m.cfg.CallTimeout)
	defer cancel()
	r, err := m.create(ctx, old.args, old)
	if err == nil {
		m.startRefill(r)
	}
	return err
}

// callsToCreate is about how many calls of frontends it takes to create a flow.
const callsToCreate = 4
