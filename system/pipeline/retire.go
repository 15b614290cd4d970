package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// retirement finalises the raw shards of key spans that were dropped, once all tables are complete beyond that: nobody
// will read them again.
//
// What is still to be done is in the source's list of key spans, of which a dropped one goes when nobody holds the history
// of when it was dropped: the mirror's own hold stays before that until the shard is finalised. So it is not forgotten,
// whoever dies.
//
// Finalising fails as long as somebody reads the shard, or did and died, until the lease is over. It is tried again now and
// then.
type retirement struct {
	m *Mirror
	// again is when a shard is tried next that could not be finalised.
	again map[model.KeySpanID]time.Time
}

// retireEvery is how many steps of the mirror are from one try to the next: most end with the lease of a reader.
const retireEvery = 8

func newRetirement(m *Mirror) *retirement {
	return &retirement{m: m, again: map[model.KeySpanID]time.Time{}}
}

// step finalises what it can, and returns up to where the source need not remember key spans: all tables are complete up
// to done. Reading tells which raw shards are still being read here.
func (r *retirement) step(ctx context.Context, spans source.Spans, done model.Ts, reading func(model.KeySpanID) bool) model.Ts {
	forget, now := done, r.m.h.Clock().Now()
	again := map[model.KeySpanID]time.Time{}
	for _, s := range spans.Spans {
		if s.DropTs == 0 || s.DropTs > done {
			continue
		}
		next, tried := r.again[s.ID]
		wait := r.m.cfg.Interval * retireEvery
		if tried && now.Before(next) && next.Sub(now) <= wait { // beyond that, the clock was set back
			again[s.ID] = next
		} else if reading(s.ID) || !r.finalize(ctx, RawShard(s.ID)) {
			again[s.ID] = now.Add(wait)
		}
		if _, left := again[s.ID]; left {
			forget = min(forget, s.DropTs-1)
		}
	}
	r.again = again
	return forget
}

// finalize gives a raw shard up, and tells whether that is done.
func (r *retirement) finalize(ctx context.Context, shard persist.ShardID) bool {
	err := r.m.links.Persist.GiveUp(ctx, shard, mirrorHolder)
	var held *persist.FinalizationError
	r.m.h.Sometimes("pipeline: a dropped key span's shard is still held", errors.As(err, &held))
	r.m.h.Sometimes("pipeline: a dropped key span's shard was finalised", err == nil)
	if err != nil && held == nil {
		r.m.h.Logf("mirror: finalise %s: %v", shard, err)
	}
	return err == nil
}

// orSpent writes to a key span's shard as long as it is open. Mirrors close it when all of the key span is in the tables: who
// still writes is late, and has nothing to say that is not there.
type orSpent struct {
	sink.Span
	h host.Host
}

// Write is part of sink.Span.
func (s *orSpent) Write(ctx context.Context, rows []source.Row, upTo model.Ts) (int, error) {
	n, err := s.Span.Write(ctx, rows, upTo)
	if errors.Is(err, sink.ErrClosed) {
		s.h.Sometimes("pipeline: a capture writes to a dropped key span's shard that was finalised", true)
		return n, nil
	}
	return n, err
}

// spentSpan is a key span whose shard was closed before it was opened.
type spentSpan struct{}

// Write is part of sink.Span.
func (spentSpan) Write(context.Context, []source.Row, model.Ts) (int, error) { return 0, nil }

// Close is part of sink.Span.
func (spentSpan) Close() {}
