package persist

import (
	"context"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// SinceHandle moves a critical since. Unlike a reader's hold it has no lease and outlives
// processes: it goes on holding the shard's history until it is moved, or expired by name.
//
// With the hold goes an opaque number that its holder chooses, such as its epoch. A process
// that takes over writes its own epoch with CompareAndDowngradeSince, even where the since
// need not move; the former holder's next call then fails with *OpaqueMismatch.
type SinceHandle struct {
	m  *machine
	id CriticalID

	mu    *host.Mutex
	known criticalState
	moved time.Time // of the latest call that was answered; zero before the first
}

func openSinceHandle(ctx context.Context, m *machine, id CriticalID, initial Opaque) (*SinceHandle, error) {
	s := &SinceHandle{m: m, id: id, mu: host.NewMutex(m.h, "persist critical since of "+string(m.shard))}
	_, _, err := m.idempotent(ctx, func(next *state, _ uint64) (v verdict) {
		s.known, v = next.registerCritical(id, initial)
		return v
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Shard is the shard whose since is held.
func (s *SinceHandle) Shard() ShardID { return s.m.shard }

// Since is the hold as the handle last saw it.
func (s *SinceHandle) Since() Frontier {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known.Since
}

// Opaque is the opaque as the handle last saw it.
func (s *SinceHandle) Opaque() Opaque {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known.Opaque
}

// CompareAndDowngradeSince moves the hold to since, if that is forward, and leaves next with
// it, provided that it is held under expected. It returns the hold, which is never before
// since. Otherwise:
//
//   - *OpaqueMismatch: another holder took over. Nothing was done, unless Uncertain says that
//     it might have been, before the other took over.
//   - ErrNoCritical: the critical since was expired.
//   - ErrDeterminate or ErrIndeterminate, with the context's error: ctx ended.
func (s *SinceHandle) CompareAndDowngradeSince(ctx context.Context, expected, next Opaque, since Frontier) (Frontier, error) {
	var (
		token  = Token(newID(s.m.h, "t"))
		found  criticalState
		result downgradeResult
	)
	_, uncertain, err := s.m.idempotent(ctx, func(st *state, _ uint64) (v verdict) {
		found, result, v = st.compareAndDowngrade(s.id, expected, next, since, token)
		return v
	})
	if err != nil {
		return Frontier{}, err
	}
	if result == noCritical {
		err := fmt.Errorf("%w: %q of shard %q", ErrNoCritical, s.id, s.m.shard)
		if uncertain { // an earlier attempt may have succeeded before it was removed
			err = indeterminate("downgrade critical since", string(s.m.shard), err)
		}
		return Frontier{}, err
	}
	s.mu.Lock()
	s.known = found
	s.moved = s.m.h.Clock().Now()
	s.mu.Unlock()
	s.m.h.Sometimes("persist: a retried critical downgrade had gone in", uncertain && result == downgraded)
	if result == opaqueDiffers {
		return Frontier{}, &OpaqueMismatch{Expected: expected, Actual: found.Opaque, Since: found.Since, Uncertain: uncertain}
	}
	return found.Since, nil
}

// MaybeCompareAndDowngradeSince is CompareAndDowngradeSince for callers that move the hold all
// the time: it does nothing, and done is false, unless Config.CriticalDowngradeInterval has gone
// by since the handle's latest call that was answered. That a call does nothing says nothing
// about who holds the critical since.
func (s *SinceHandle) MaybeCompareAndDowngradeSince(ctx context.Context, expected, next Opaque, since Frontier) (held Frontier, done bool, err error) {
	s.mu.Lock()
	first, quiet := s.moved.IsZero(), s.m.h.Clock().Now().Sub(s.moved)
	s.mu.Unlock()
	// The clock may have been set back: then the time is not known, and is taken to be over.
	if !first && quiet >= 0 && quiet < s.m.cfg.CriticalDowngradeInterval && !s.m.h.Buggify("persist/downgrade critical since at once") {
		return Frontier{}, false, nil
	}
	held, err = s.CompareAndDowngradeSince(ctx, expected, next, since)
	return held, err == nil, err
}

// Expire removes the critical since from the shard, for whoever holds it.
func (s *SinceHandle) Expire(ctx context.Context) error {
	_, _, err := s.m.idempotent(ctx, func(next *state, _ uint64) verdict {
		_, v := next.expireCritical(s.id)
		return v
	})
	return err
}
