package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/host"
)

// keepUp fetches what was missed, every now and then.
func (m *Manager) keepUp(shutdown *host.Chan[struct{}]) {
	for !m.pause(shutdown, m.cfg.CatchUpInterval) {
		for _, s := range m.context.allSources() {
			if err := m.catchUp(context.Background(), s); err != nil {
				m.h.Logf("flow: table %s: %v", s.table.Name, err)
			}
		}
	}
}

// catchUp makes sure that a source has taken in all changes that were acknowledged before the call.
func (m *Manager) catchUp(ctx context.Context, s *source) error {
	defer m.flush.read()()
	frontend, err := m.frontend()
	if err != nil {
		return err
	}
	ctx, cancel := m.h.Clock().WithTimeout(ctx, m.cfg.CallTimeout)
	defer cancel()
	upper, err := frontend.Upper(ctx, s.table.ID)
	if errors.Is(err, ErrTableNotFound) {
		return nil // it was dropped: nothing comes any more
	}
	if err != nil {
		return err
	}
	next, _ := s.upper()
	if next >= upper {
		return nil
	}
	batches, err := frontend.Changes(ctx, s.table.ID, next)
	if errors.Is(err, relation.ErrForgotten) {
		return m.startOver(ctx, s, upper)
	}
	if err != nil {
		return err
	}
	m.h.Sometimes("flow: inserts were missed and fetched", len(batches) > 0)
	for _, b := range batches {
		now := m.ticks.tick()
		for i := range b.Rows {
			b.Rows[i].TS = now
		}
		if err := s.send(ctx, b); err != nil {
			return err
		}
	}
	if next, _ := s.upper(); next < upper {
		return fmt.Errorf("%w: table %s is at %d, want %d", ErrNotCaughtUp, s.table.Name, next, upper)
	}
	return nil
}

// startOver lets the flows of a source begin anew, since it has missed more than frontends remember.
func (m *Manager) startOver(ctx context.Context, s *source, upper uint64) error {
	m.h.Sometimes("flow: too much was missed and flows began anew", true)
	m.ddl.Lock()
	defer m.ddl.Unlock()
	var begun []*registration
	var errs []error
	for _, id := range s.readers() {
		old := m.context.flow(id)
		if old == nil {
			continue
		}
		r, err := m.create(ctx, old.args, old)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		begun = append(begun, r)
	}
	err := errors.Join(errs...)
	if err == nil {
		// After all of them are new, so that none meets the gap; before any reads the table, so that all
		// know what is before it.
		s.skip(upper)
	}
	for _, r := range begun {
		m.startRefill(r)
	}
	return err
}
