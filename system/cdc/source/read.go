package source

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/host"
)

// nowLocked returns a ts that no commit to come has, nor has a smaller one.
func (s *Store) nowLocked() model.Ts {
	if s.pending != 0 {
		return min(s.pending-1, s.reserved)
	}
	s.given = max(s.given, min(model.PhysicalTs(s.h.Clock().Now()), s.reserved))
	return min(s.given, s.reserved)
}

// Now returns a ts that no commit to come has, nor has a smaller one; every commit that was
// acknowledged before has it or a smaller one.
func (s *Store) Now(ctx context.Context) (model.Ts, error) {
	spans, err := s.Spans(ctx)
	return spans.AsOf, err
}

// Spans returns the key spans. It fails with ErrNotDone when ctx is over.
func (s *Store) Spans(ctx context.Context) (Spans, error) {
	if ctx.Err() != nil {
		return Spans{}, fmt.Errorf("%w: %w", ErrNotDone, ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Spans{AsOf: s.nowLocked(), Spans: s.state.list(), Safepoint: s.state.safepoint}, nil
}

// Usage is what a Store keeps.
type Usage struct {
	// Spans are the key spans that there are, dropped ones among them as long as their history is kept, and Rows all
	// that is kept of them: what is there, and what was there since the safepoint.
	Spans, Rows int
	// Transactions are those that can be told from new ones, Services those that hold history.
	Transactions, Services int
}

// Usage is how much the store keeps.
func (s *Store) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := Usage{Spans: len(s.state.spans), Transactions: len(s.state.committed), Services: len(s.state.services)}
	for _, span := range s.state.spans {
		u.Rows += len(span.base) + len(span.rows) + len(span.latest)
	}
	return u
}

// SpanIDs are the ids of the key spans that are not dropped, sorted.
func (s *Store) SpanIDs() []model.KeySpanID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Collect(maps.Keys(s.state.spans))
	ids = slices.DeleteFunc(ids, func(id model.KeySpanID) bool { return s.state.spans[id].DropTs != 0 })
	slices.Sort(ids)
	return ids
}

// Changes returns rows after the cursor, at once when there are any, and otherwise a new resolved ts
// after a while. It fails with ErrNoSpan or *GCError.
func (s *Store) Changes(ctx context.Context, from Cursor) (Changes, error) {
	deadline, cancel := s.h.Clock().WithTimeout(ctx, s.cfg.ResolvedInterval)
	defer cancel()
	for {
		s.mu.Lock()
		changes, changed, err := s.changesLocked(from)
		s.mu.Unlock()
		if err != nil || len(changes.Rows) > 0 || deadline.Err() != nil {
			return changes, err
		}
		_, _, _ = changed.RecvContext(deadline)
	}
}

func (s *Store) changesLocked(from Cursor) (Changes, *host.Chan[struct{}], error) {
	span := s.state.spans[from.Span]
	switch {
	case span == nil:
		return Changes{}, nil, fmt.Errorf("%w: %d", ErrNoSpan, from.Span)
	case from.After < s.state.safepoint && s.state.safepoint >= span.AddTs: // before, there was nothing
		return Changes{}, nil, &GCError{Asked: from.After, Safepoint: s.state.safepoint}
	}
	rows, upTo := span.changes(from.After)
	c := Changes{Rows: rows, Next: from, Resolved: min(s.resolvedLocked(span.ID), upTo)}
	if len(rows) > 0 {
		c.Next.After = rows[len(rows)-1].CommitTs
	}
	// A reader of a key span in which nothing happens has to move on, too: history before its cursor may
	// be given up.
	c.Next.After = max(c.Next.After, c.Resolved)
	if len(rows) > 1 && s.h.Buggify("cdc/source/rows come unsorted and twice") {
		c.Rows = append(c.Rows, rows[s.h.Rand().IntN(len(rows))])
		s.h.Rand().Shuffle(len(c.Rows), func(i, j int) { c.Rows[i], c.Rows[j] = c.Rows[j], c.Rows[i] })
	}
	return c, s.changed, nil
}

// Snapshot returns what was in a key span at a ts, sorted by key, each as the row that wrote it. It waits
// until the ts is resolved. It fails with ErrNoSpan or *GCError.
func (s *Store) Snapshot(ctx context.Context, id model.KeySpanID, asOf model.Ts) ([]Row, error) {
	for {
		s.mu.Lock()
		span := s.state.spans[id]
		var rows []Row
		var err error
		resolved := false
		switch {
		case span == nil:
			err = fmt.Errorf("%w: %d", ErrNoSpan, id)
		case asOf < s.state.safepoint:
			err = &GCError{Asked: asOf, Safepoint: s.state.safepoint}
		default:
			if resolved = asOf <= s.resolvedLocked(id); resolved {
				rows = span.contents(asOf)
			}
		}
		s.mu.Unlock()
		if err != nil || resolved {
			return rows, err
		}
		wait, cancel := s.h.Clock().WithTimeout(ctx, s.cfg.ResolvedInterval)
		host.Select(s.h, host.OnDone(wait))
		cancel()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotDone, ctx.Err())
		}
	}
}

func (s *Store) resolvedLocked(id model.KeySpanID) model.Ts {
	now := s.nowLocked()
	if at, ok := s.stalled[id]; ok {
		s.h.Sometimes("cdc/source: a key span's resolved ts is held up", at < now)
		return min(at, now)
	}
	return now
}

// Stall holds the resolved ts of a key span where it is, or lets it go on: a fault.
func (s *Store) Stall(id model.KeySpanID, stalled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !stalled {
		delete(s.stalled, id)
	} else if _, already := s.stalled[id]; !already {
		s.stalled[id] = s.nowLocked()
	}
}
