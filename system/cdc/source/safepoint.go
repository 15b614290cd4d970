package source

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/host"
)

// Safepoint holds history from ts on for a service, for as long as ttl without another call, and
// returns from where on history is kept. If that is beyond ts the call came too late. It fails with
// ErrInvalid for a ts above [Store.Now], which would give up what is there now, and for good; with ErrNotDone or
// ErrUnknown.
func (s *Store) Safepoint(ctx context.Context, name string, ts model.Ts, ttl time.Duration) (model.Ts, error) {
	s.mu.Lock()
	if now := s.nowLocked(); ts > now {
		s.mu.Unlock()
		return 0, fmt.Errorf("%w: a safepoint of %s at %d, and it is %d now: hold what was read so far", ErrInvalid, name, ts, now)
	}
	if held, ok := s.state.services[name]; ok && held.Ts == ts && held.TTL == ttl && !s.expiring[name] {
		s.expiry[name] = s.h.Clock().Now().Add(ttl)
		safepoint := s.state.safepoint
		s.mu.Unlock()
		return safepoint, nil
	}
	s.mu.Unlock()
	if _, err := s.propose(ctx, entry{Kind: entrySafepoint, ID: name, Ts: ts, TTL: ttl}); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.safepoint, nil
}

// Release ends a service's hold on history. It fails with ErrNotDone or ErrUnknown.
func (s *Store) Release(ctx context.Context, name string) error {
	_, err := s.propose(ctx, entry{Kind: entryForget, ID: name})
	return err
}

// reserve is the task that reserves ts ahead of the clock, and forgets services that are not heard of.
func (s *Store) reserve() {
	for s.life.Err() == nil {
		now := s.h.Clock().Now()
		s.mu.Lock()
		over := map[string]time.Time{}
		for name, at := range s.expiry {
			if !now.Before(at) {
				over[name] = at
			}
		}
		low := s.reserved < model.PhysicalTs(now.Add(s.cfg.Reserve/2))
		s.mu.Unlock()
		if low {
			_, _ = s.propose(s.life, entry{Kind: entryBound, Ts: model.PhysicalTs(now.Add(s.cfg.Reserve))})
		}
		for _, name := range slices.Sorted(maps.Keys(over)) {
			s.h.Sometimes("cdc/source: a reader's safepoint expired", true)
			_, _ = s.proposed(s.life, &proposal{entry: entry{Kind: entryForget, ID: name}, due: over[name]})
		}
		ctx, cancel := s.h.Clock().WithTimeout(s.life, s.cfg.Reserve/6)
		host.Select(s.h, host.OnDone(ctx))
		cancel()
	}
}

// renewedLocked tells whether a proposal is to forget a service that was heard of after all, before the proposal
// came to its turn or along with it.
func (s *Store) renewedLocked(p *proposal, group []*proposal) bool {
	if p.due.IsZero() {
		return false
	}
	renewed := !s.expiry[p.entry.ID].Equal(p.due) || slices.ContainsFunc(group, func(o *proposal) bool {
		return o.entry.Kind == entrySafepoint && o.entry.ID == p.entry.ID
	})
	s.h.Sometimes("cdc/source: a reader was heard of just before it was forgotten", renewed)
	return renewed
}
