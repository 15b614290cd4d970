package persist

import (
	"context"
	"errors"

	"github.com/simrun-dev/simrun/system/host"
)

// WriteHandle appends to a shard. Its methods may be called by several tasks; appends take
// turns.
type WriteHandle struct {
	c *Client
	m *machine

	// turn is held by the one call that appends or expires. It is a channel and not a Mutex
	// because waiting for it ends with the caller's context.
	turn   *host.Chan[struct{}]
	id     WriterID // guarded by turn, as is closed
	closed bool

	mu    *host.Mutex
	upper Frontier
}

func newWriteHandle(c *Client, m *machine) *WriteHandle {
	s := m.startWriting()
	return &WriteHandle{
		c: c, m: m,
		turn:  host.NewChan[struct{}](c.h, "persist writer of "+string(m.shard), 1),
		id:    WriterID(newID(c.h, "w")),
		mu:    host.NewMutex(c.h, "persist writer upper"),
		upper: s.upper(),
	}
}

// Shard is the shard that the handle writes to.
func (w *WriteHandle) Shard() ShardID { return w.m.shard }

// CompareAndAppend appends the updates if the shard's upper is expected, and makes next its
// upper. The updates' times must lie in [expected, next). Without updates it moves the upper;
// with next empty it closes the shard for writing.
//
// A nil error says that all of it was done, once. Otherwise:
//
//   - *UpperMismatch: the upper was another. Nothing was written.
//   - *InvalidUsage: the arguments can't be right. Nothing was written.
//   - ErrDeterminate, with the context's error: ctx ended before anything was written.
//   - ErrIndeterminate: ctx ended, or the outcome could not be found out (ErrAmbiguous). All
//     of it was written, or nothing, and the updates may still be written after the return.
//   - ErrTooLarge: the store can't hold it. Nothing was written.
//   - Any other, such as ErrCorrupt and ErrRegressed: a store is damaged, and whether the updates are
//     in it is not known.
func (w *WriteHandle) CompareAndAppend(ctx context.Context, updates []Update, expected, next Frontier) error {
	b, updates, err := newBatch(updates, expected, next)
	if err != nil {
		return err
	}
	if err := w.take(ctx, "append"); err != nil {
		return err
	}
	defer w.turn.TryRecv()
	if b.Parts, err = w.m.writeParts(ctx, updates); err != nil {
		return determinate("append", string(w.m.shard), err)
	}
	open, err := w.append(ctx, b)
	if err != nil && !open {
		w.m.discard(b.Parts...)
	}
	return err
}

// CompareAndAppendBatch is CompareAndAppend of what the batches hold together, which may be
// nothing: without batches it only moves the upper. Of each batch only the updates of times in
// [expected, next) become part of the shard. With enforceBounds that must be something that the
// batches know all about: each must cover the whole interval, or the call fails with
// ErrBatchBounds.
//
// The batches are used up by a call that succeeded, and by one that failed with
// ErrIndeterminate; after any other error they are still the caller's, who can append them
// under other bounds. Besides the errors of CompareAndAppend it fails with *InvalidUsage
// because of ErrBatchConsumed or ErrForeignBatch.
func (w *WriteHandle) CompareAndAppendBatch(ctx context.Context, batches []*Batch, expected, next Frontier, enforceBounds bool) error {
	if err := w.take(ctx, "append"); err != nil {
		return err
	}
	defer w.turn.TryRecv()
	b, err := joined(w.m, batches, expected, next, enforceBounds)
	if err != nil {
		return err
	}
	for _, b := range batches {
		b.used = true
	}
	open, err := w.append(ctx, b)
	for _, b := range batches {
		b.used = err == nil || open
	}
	return err
}

// Append appends updates that others may be appending as well, because they follow from what
// all of them know: the updates of the times in [lower, upper) are in the shard once, whoever
// put them there, when it returns nil. It appends what of the interval is not in yet.
//
// When the upper is before lower it fails with *UpperMismatch, as it would leave a gap; its
// other errors are those of CompareAndAppend.
func (w *WriteHandle) Append(ctx context.Context, updates []Update, lower, upper Frontier) error {
	builder := w.NewBatch(lower)
	defer builder.Discard()
	if err := builder.Add(ctx, updates...); err != nil {
		return err
	}
	b, err := builder.Finish(ctx, upper)
	if err != nil {
		return err
	}
	defer b.Discard()
	return w.AppendBatch(ctx, b, lower, upper)
}

// AppendBatch is Append of a batch. It must cover [lower, upper), and is used up as by
// CompareAndAppendBatch.
func (w *WriteHandle) AppendBatch(ctx context.Context, b *Batch, lower, upper Frontier) error {
	for {
		err := w.CompareAndAppendBatch(ctx, []*Batch{b}, lower, upper, true)
		var mismatch *UpperMismatch
		if !errors.As(err, &mismatch) || mismatch.Current.Before(lower) {
			return err
		}
		if !mismatch.Current.Before(upper) {
			w.m.h.Sometimes("persist: an append found that others had written all of it", true)
			b.Discard()
			return nil
		}
		w.m.h.Sometimes("persist: an append found that others had written a part of it", true)
		lower = mismatch.Current
	}
}

// take waits for the handle's turn, which the caller gives back with turn.TryRecv.
func (w *WriteHandle) take(ctx context.Context, op string) error {
	if err := w.turn.SendContext(ctx, struct{}{}); err != nil {
		return determinate(op, string(w.m.shard), err)
	}
	if w.closed {
		w.turn.TryRecv()
		return &InvalidUsage{Cause: ErrHandleClosed}
	}
	return nil
}

// append appends b, in the handle's turn. Open tells, of a call that failed, that b may be in
// the shard all the same, now or later; its blobs must be left alone then.
func (w *WriteHandle) append(ctx context.Context, b batch) (open bool, err error) {
	err = w.m.compareAndAppend(ctx, b, w.id, Token(newID(w.c.h, "t")))
	var mismatch *UpperMismatch
	switch {
	case err == nil:
		w.saw(b.Upper)
	case mayBeIn(err):
		// The call may still take effect, and so must not meet a later one under the same id.
		w.id = WriterID(newID(w.c.h, "w"))
		w.c.h.Sometimes("persist: an append was left open", true)
		return true, err
	case errors.As(err, &mismatch):
		w.saw(mismatch.Current)
	}
	return false, err
}

// mayBeIn tells whether an append that failed so may be in the shard, now or later: unless it is known
// that it is not.
func mayBeIn(err error) bool {
	var mismatch *UpperMismatch
	var invalid *InvalidUsage
	known := errors.As(err, &mismatch) || errors.As(err, &invalid) || errors.Is(err, ErrDeterminate) || errors.Is(err, ErrTooLarge)
	return errors.Is(err, ErrIndeterminate) || !known
}

// Upper is the shard's upper as the handle last saw it. The real one may be beyond it.
func (w *WriteHandle) Upper() Frontier {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.upper
}

func (w *WriteHandle) saw(upper Frontier) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.upper = w.upper.Join(upper)
}

// SharedUpper is the shard's upper as any of the client's handles last saw it: fresher than
// Upper, and as cheap. The real one may be beyond it.
func (w *WriteHandle) SharedUpper() Frontier {
	s, _ := w.m.state()
	return s.upper()
}

// FetchRecentUpper returns the shard's upper. It reflects every append acknowledged before
// the call.
func (w *WriteHandle) FetchRecentUpper(ctx context.Context) (Frontier, error) {
	s, err := w.m.refresh(ctx)
	if err != nil {
		return Frontier{}, err
	}
	w.saw(s.upper())
	return s.upper(), nil
}

// WaitForUpperPast waits until f is before the shard's upper.
func (w *WriteHandle) WaitForUpperPast(ctx context.Context, f Frontier) error {
	s, err := w.m.waitPast(ctx, f, func(s *state) bool { return s.upper().IsEmpty() })
	if err != nil {
		return err
	}
	w.saw(s.upper())
	return nil
}

// Expire makes the shard forget the writer. The handle can't append afterwards.
func (w *WriteHandle) Expire(ctx context.Context) error {
	if err := w.turn.SendContext(ctx, struct{}{}); err != nil {
		return determinate("expire writer", string(w.m.shard), err)
	}
	defer w.turn.TryRecv() // not through take: it may be called again after an error
	w.closed = true
	_, _, err := w.m.idempotent(ctx, func(next *state, _ uint64) verdict {
		_, v := next.expireWriter(w.id)
		return v
	})
	return err
}

// Close is Expire that does not wait; appends may go in until it takes effect. If it does not succeed the writer's lease runs out.
func (w *WriteHandle) Close() {
	w.c.h.Go("persist expire writer", func() {
		ctx, cancel := w.c.h.Clock().WithTimeout(w.c.life, w.c.cfg.WriterLease)
		defer cancel()
		if err := w.Expire(ctx); err != nil && w.c.life.Err() == nil {
			w.c.h.Logf("persist: expiring the writer of %s: %v", w.m.shard, err)
		}
	})
}
