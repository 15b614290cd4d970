package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/wal"
)

type proposal struct {
	entry  entry
	due    time.Time // of a service that is to be forgotten since its time is over: when it was
	ts     model.Ts
	err    error
	answer *host.Chan[struct{}] // of capacity 1
}

// logMagic tells the log from those of other services.
var logMagic = wal.Magic{'s', 'r', 'c', '1'}

// errEnded: the store was closed while it could not tell what became of a write.
var errEnded = errors.New("the store was closed before the outcome of a write was known")

const (
	logName  = "source.log"
	maxGroup = 64
)

func (s *Store) propose(ctx context.Context, e entry) (model.Ts, error) {
	return s.proposed(ctx, &proposal{entry: e})
}

// proposed has a proposal executed and waits for what came of it.
func (s *Store) proposed(ctx context.Context, p *proposal) (model.Ts, error) {
	if ctx.Err() != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotDone, ctx.Err())
	}
	p.answer = host.NewChan[struct{}](s.h, "source answer", 1)
	if err := s.proposals.SendContext(ctx, p); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotDone, err)
	}
	if _, _, err := p.answer.RecvContext(ctx); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return p.ts, p.err
}

// execute is the task that executes proposals.
func (s *Store) execute() {
	defer s.closed.Close()
	for {
		group := s.proposals.RecvGroup(maxGroup)
		if group == nil {
			return
		}
		s.commit(group)
		for _, p := range group {
			p.answer.Send(struct{}{})
		}
		if !s.unsettled {
			s.rewrite()
		}
	}
}

// commit gives the group's entries their ts, makes them durable and lets them take effect. Until then
// no resolved ts comes near theirs.
func (s *Store) commit(group []*proposal) {
	if s.unsettled {
		for _, p := range group {
			p.err = fmt.Errorf("%w: %w", ErrNotDone, errEnded)
		}
		return
	}
	entries := make([]entry, 0, len(group))
	s.mu.Lock()
	group = slices.DeleteFunc(slices.Clone(group), func(p *proposal) bool { return s.renewedLocked(p, group) })
	for _, p := range group {
		if p.entry.stamped() {
			s.given = max(s.given+1, model.PhysicalTs(s.h.Clock().Now()))
			p.entry.Ts = s.given
			if s.pending == 0 {
				s.pending = s.given
			}
		}
		if !p.due.IsZero() {
			s.expiring[p.entry.ID] = true
		}
		entries = append(entries, p.entry)
	}
	s.mu.Unlock()
	if len(group) == 0 {
		return
	}
	undone, err := s.log.Append(wal.Encode(entries))
	kind := ErrNotDone
	if err != nil && !undone && !s.settle() {
		kind, s.unsettled = ErrUnknown, true
	}
	s.mu.Lock()
	if !s.unsettled {
		s.pending = 0
		clear(s.expiring)
	}
	for _, p := range group {
		if err != nil {
			p.err = fmt.Errorf("%w: %w", kind, err)
			continue
		}
		var done *Commit
		p.ts, done, p.err = s.state.apply(p.entry)
		s.reserved = max(s.reserved, s.state.last)
		switch p.entry.Kind {
		case entrySafepoint:
			s.expiry[p.entry.ID] = s.h.Clock().Now().Add(p.entry.TTL)
		case entryForget:
			delete(s.expiry, p.entry.ID)
		}
		if done != nil {
			s.cfg.OnCommit(*done)
		}
	}
	changed := s.changed
	s.changed = host.NewChan[struct{}](s.h, "source changes", 0)
	s.mu.Unlock()
	changed.Close()
}

// settle waits until a record that may be on the disk is surely not: the next one that goes in took its
// place. Without that a crash could bring back a commit that readers were told would not come. It gives up, and
// returns false, when the store is to end.
func (s *Store) settle() bool {
	s.h.Sometimes("cdc/source: resolved ts wait for a write of unknown outcome", true)
	s.mu.Lock()
	bound := entry{Kind: entryBound, Ts: s.reserved}
	s.mu.Unlock()
	for {
		if _, err := s.log.Append(wal.Encode([]entry{bound})); err == nil {
			return true
		}
		if s.life.Err() != nil {
			return false
		}
		s.h.Clock().Sleep(20 * time.Millisecond)
	}
}

func (s *Store) rewrite() {
	if s.log.Size() < s.rewriteAt {
		return
	}
	s.mu.Lock()
	record := wal.Encode([]entry{{Kind: entryImage, Image: s.state.image()}, {Kind: entryBound, Ts: s.reserved}})
	s.mu.Unlock()
	before := s.log.Size()
	if err := s.log.Rewrite(record); err != nil {
		s.h.Logf("source: rewriting the log: %v", err)
		s.rewriteAt = 2 * before
		return
	}
	s.h.Sometimes("cdc/source: the log was rewritten", true)
	s.rewriteAt = max(s.cfg.RewriteAt, 4*s.log.Size())
}
