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
	s, _ := m.state()
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
//   - ErrCorrupt, ErrRegressed: a store is damaged. Nothing was written.
func (w *WriteHandle) CompareAndAppend(ctx context.Context, updates []Update, expected, next Frontier) error {
	b, updates, err := newBatch(updates, expected, next)
	if err != nil {
		return err
	}
	if err := w.turn.SendContext(ctx, struct{}{}); err != nil {
		return determinate("append", string(w.m.shard), err)
	}
	defer w.turn.TryRecv()
	if w.closed {
		return &InvalidUsage{Cause: ErrHandleClosed}
	}
	if len(updates) > 0 {
		p, value := encodePart(string(w.m.shard)+"/"+newID(w.c.h, "b"), updates)
		if err := retry(ctx, w.c.h, w.c.cfg, "set blob", p.Key, func() error { return w.c.blob.Set(ctx, p.Key, value) }); err != nil {
			w.discard(p)
			return determinate("append", string(w.m.shard), err)
		}
		b.Parts = []part{p}
	}

	err = w.m.compareAndAppend(ctx, b, w.id, Token(newID(w.c.h, "t")))
	var mismatch *UpperMismatch
	switch {
	case err == nil:
		w.saw(next)
	case mayBeIn(err):
		// The call may still take effect, and so must not meet a later one under the same id.
		// Its blob may be in the shard.
		w.id = WriterID(newID(w.c.h, "w"))
		w.c.h.Sometimes("persist: an append was left open", true)
	default:
		if errors.As(err, &mismatch) {
			w.saw(mismatch.Current)
		}
		w.discard(b.Parts...)
	}
	return err
}

// mayBeIn tells whether an append that failed so may be in the shard, now or later: unless it is known
// that it is not.
func mayBeIn(err error) bool {
	var mismatch *UpperMismatch
	var invalid *InvalidUsage
	known := errors.As(err, &mismatch) || errors.As(err, &invalid) || errors.Is(err, ErrDeterminate)
	return errors.Is(err, ErrIndeterminate) || !known
}

// discard deletes the blobs of a batch that is surely not in the shard, without waiting and
// without insisting: what stays behind costs space only.
func (w *WriteHandle) discard(parts ...part) {
	if len(parts) == 0 || w.c.h.Buggify("persist/leave the blob of a failed append behind") {
		return
	}
	w.c.h.Go("persist discard batch", func() {
		ctx, cancel := w.c.h.Clock().WithTimeout(w.c.life, w.c.cfg.RetryMax)
		defer cancel()
		for _, p := range parts {
			err := retry(ctx, w.c.h, w.c.cfg, "delete blob", p.Key, func() error {
				_, _, err := w.c.blob.Delete(ctx, p.Key)
				return err
			})
			if err != nil {
				w.c.h.Logf("persist: blob %s of a failed append stays behind: %v", p.Key, err)
			}
		}
	})
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
	defer w.turn.TryRecv()
	w.closed = true
	_, _, err := w.m.idempotent(ctx, func(next *state, _ uint64) verdict {
		_, v := next.expireWriter(w.id)
		return v
	})
	return err
}
