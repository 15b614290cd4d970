package scenarios

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
)

// watchedReader is a machine's client of the source that tells what the source has told it.
type watchedReader struct {
	source.Reader
	w       *cdcWatch
	h       host.Host
	machine string
}

// Spans is part of source.Reader. Only owners ask.
func (r watchedReader) Spans(ctx context.Context) (source.Spans, error) {
	spans, err := r.Reader.Spans(ctx)
	if slow := r.w.c.slow; err == nil && slow != nil {
		slow.meanwhile()
		r.h.Clock().Sleep(slow.by)
		if ctx.Err() != nil {
			return source.Spans{}, ctx.Err()
		}
	}
	return spans, err
}

// slowOwner is an owner that takes its time once it knows which key spans there are.
type slowOwner struct {
	by        time.Duration
	meanwhile func()
}

// manyRows is about how many rows the source gives out at once: who gets as many is behind.
const manyRows = 500

// Changes is part of source.Reader.
func (r watchedReader) Changes(ctx context.Context, from source.Cursor) (source.Changes, error) {
	changes, err := r.Reader.Changes(ctx, from)
	if err == nil {
		r.w.received(r.machine, from, changes)
	}
	return changes, err
}

// Safepoint is part of source.Reader. Only owners ask.
func (r watchedReader) Safepoint(ctx context.Context, service string, ts model.Ts, ttl time.Duration) (model.Ts, error) {
	asked := r.w.c.r.World.Now() // and the source heard of it later, if at all
	kept, err := r.Reader.Safepoint(ctx, service, ts, ttl)
	if err == nil && kept <= ts {
		r.w.heard[service] = max(r.w.heard[service], asked)
	}
	return kept, err
}

// received is told that the source has told a machine of a key span's changes.
func (w *cdcWatch) received(machine string, from source.Cursor, changes source.Changes) {
	w.host().Sometimes(situationManyRows, len(changes.Rows) >= manyRows)
	for at, run := range w.runs {
		// Changefeeds that read the same key span on the same machine can't be told apart: each gets the best.
		if at.span == from.Span && w.machines[at.capture] == machine {
			run.resolved = max(run.resolved, changes.Resolved)
		}
	}
}

// safepoint tells the model from where on the source keeps history, by the source's own memory.
func (w *cdcWatch) safepoint() {
	if w.c.upstream == nil {
		return
	}
	spans, err := w.c.upstream.Spans(context.Background())
	if err != nil {
		return
	}
	kept := spans.Safepoint
	if kept != w.kept {
		w.moment("the source keeps history from %d on", kept)
	}
	w.kept = kept
	w.keeps(kept, models.Moment{Event: w.c.r.World.Events(), NS: int64(w.c.r.World.Now())})
	for _, life := range w.living() {
		w.host().Sometimes(situationGivenUp, kept > w.begun[life])
	}
}
