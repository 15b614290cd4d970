package persist

import (
	"context"
	"fmt"
	"slices"
)

// Batch is a set of updates that were written to blobs and are not part of any shard yet. It
// has to be appended, or discarded: what is forgotten takes up space for ever.
//
// A batch is used by one task at a time.
type Batch struct {
	m    *machine
	b    batch
	used bool // appended, perhaps appended, discarded, or in the middle of it
}

// Lower is the frontier at or beyond which all its times lie.
func (b *Batch) Lower() Frontier { return b.b.Lower }

// Upper is the frontier before which all its times lie.
func (b *Batch) Upper() Frontier { return b.b.Upper }

// Updates is how many updates it has.
func (b *Batch) Updates() int { return b.b.updates() }

// Discard deletes the batch's blobs, in the background and as well as can be. It does nothing
// to a batch that was appended.
func (b *Batch) Discard() {
	if !b.used {
		b.used = true
		b.m.discard(b.b.Parts...)
	}
}

// BatchBuilder writes updates to blobs, in preparation of an append. However many there are, it
// has no more than Config.PartUpdates of them in memory. It is used by one task at a time.
type BatchBuilder struct {
	m       *machine
	lower   Frontier
	last    Update // of the greatest time
	pending []Update
	parts   []part
	done    bool
}

// NewBatch begins a batch of updates of times at or beyond lower.
func (w *WriteHandle) NewBatch(lower Frontier) *BatchBuilder {
	return &BatchBuilder{m: w.m, lower: lower}
}

// Add adds updates. It fails with *InvalidUsage, having added nothing, when a time is before the
// batch's lower, and with ErrDeterminate and ctx's error when ctx ends; the updates are added
// then, and the next call, or Finish, goes on.
func (b *BatchBuilder) Add(ctx context.Context, updates ...Update) error {
	if err := b.usable(); err != nil {
		return err
	}
	for _, u := range updates {
		if !b.lower.LessEqual(u.Time) {
			return &InvalidUsage{Cause: ErrUpdateNotBeyondLower, Detail: fmt.Sprintf("%v in a batch from %v", u, b.lower)}
		}
	}
	for _, u := range updates {
		if u.Time >= b.last.Time {
			b.last = u
		}
		b.pending = append(b.pending, u)
	}
	if len(b.pending) < b.m.cfg.PartUpdates {
		return nil
	}
	b.pending = Consolidate(b.pending)
	return b.flush(ctx, b.m.cfg.PartUpdates)
}

// flush writes out pending updates until fewer than most are left.
func (b *BatchBuilder) flush(ctx context.Context, most int) error {
	for len(b.pending) >= most && len(b.pending) > 0 {
		n := min(len(b.pending), b.m.cfg.PartUpdates)
		p, err := b.m.writePart(ctx, b.pending[:n])
		if err != nil {
			return determinate("write batch", string(b.m.shard), err)
		}
		b.parts = append(b.parts, p)
		b.pending = b.pending[n:]
	}
	return nil
}

// Finish writes what is left and returns the batch, which is then the caller's to append. It
// fails with *InvalidUsage when upper is before the lower, or an update is not before it; with
// ErrDeterminate and ctx's error when ctx ends. It can be called again after an error.
func (b *BatchBuilder) Finish(ctx context.Context, upper Frontier) (*Batch, error) {
	if err := b.usable(); err != nil {
		return nil, err
	}
	switch {
	case upper.Before(b.lower):
		return nil, &InvalidUsage{Cause: ErrInvalidBounds, Detail: fmt.Sprintf("[%v, %v)", b.lower, upper)}
	case len(b.parts)+len(b.pending) > 0 && upper.LessEqual(b.last.Time):
		return nil, &InvalidUsage{Cause: ErrUpdateBeyondUpper, Detail: fmt.Sprintf("%v in [%v, %v)", b.last, b.lower, upper)}
	}
	b.pending = Consolidate(b.pending)
	if err := b.flush(ctx, 0); err != nil {
		return nil, err
	}
	b.done = true
	return &Batch{m: b.m, b: batch{Lower: b.lower, Upper: upper, Parts: b.parts}}, nil
}

// Discard deletes what was written so far. It does nothing once Finish has succeeded.
func (b *BatchBuilder) Discard() {
	if !b.done {
		b.done = true
		b.m.discard(b.parts...)
	}
}

func (b *BatchBuilder) usable() error {
	switch {
	case b.done:
		return &InvalidUsage{Cause: ErrBatchConsumed}
	case b.lower.IsEmpty():
		return &InvalidUsage{Cause: ErrClosedLower}
	}
	return nil
}

// joined is the batch that the batches make together in [lower, upper). With enforceBounds each
// of them must cover all of that interval.
func joined(m *machine, batches []*Batch, lower, upper Frontier, enforceBounds bool) (batch, error) {
	invalid := func(cause error, detail string) (batch, error) {
		return batch{}, &InvalidUsage{Cause: cause, Detail: detail}
	}
	all, _, err := newBatch(nil, lower, upper)
	if err != nil {
		return batch{}, err
	}
	for i, b := range batches {
		bounds := fmt.Sprintf("[%v, %v)", b.b.Lower, b.b.Upper)
		switch {
		case b.used || slices.Contains(batches[:i], b):
			return invalid(ErrBatchConsumed, bounds)
		case b.m.shard != m.shard:
			return invalid(ErrForeignBatch, fmt.Sprintf("%q, this is %q", b.m.shard, m.shard))
		case enforceBounds && (lower.Before(b.b.Lower) || b.b.Upper.Before(upper)):
			return invalid(ErrBatchBounds, fmt.Sprintf("%s for [%v, %v)", bounds, lower, upper))
		}
		all.Parts = append(all.Parts, b.b.Parts...)
	}
	if lower == upper && len(all.Parts) > 0 {
		return invalid(ErrEmptyInterval, fmt.Sprintf("%v with %d updates", lower, all.updates()))
	}
	return all, nil
}

// writeParts writes updates to as many blobs as it takes. When it fails none is left, as well as
// can be.
func (m *machine) writeParts(ctx context.Context, updates []Update) ([]part, error) {
	var parts []part
	for len(updates) > 0 {
		n := min(len(updates), m.cfg.PartUpdates)
		p, err := m.writePart(ctx, updates[:n])
		if err != nil {
			m.discard(parts...)
			return nil, err
		}
		parts = append(parts, p)
		updates = updates[n:]
	}
	return parts, nil
}

// writePart writes updates to one blob.
func (m *machine) writePart(ctx context.Context, updates []Update) (part, error) {
	p, value := encodePart(string(m.shard)+"/"+newID(m.h, "b"), updates)
	if err := m.setBlob(ctx, p.Key, value); err != nil {
		m.discard(p)
		return part{}, err
	}
	return p, nil
}

func (m *machine) setBlob(ctx context.Context, key string, value []byte) error {
	return retry(ctx, m.h, m.cfg, "set blob", key, func() error { return m.blob.Set(ctx, key, value) })
}

// discard deletes blobs that are surely not in the shard, without waiting and without
// insisting: what stays behind costs space only.
func (m *machine) discard(parts ...part) {
	if len(parts) == 0 || m.h.Buggify("persist/leave the blob of a failed append behind") {
		return
	}
	m.h.Go("persist discard batch", func() {
		ctx, cancel := m.h.Clock().WithTimeout(m.life, m.cfg.RetryMax)
		defer cancel()
		for _, p := range parts {
			if err := m.deleteBlobs(ctx, p.Key); err != nil {
				m.h.Logf("persist: blob %s, which the shard does not need, stays behind: %v", p.Key, err)
			}
		}
	})
}
