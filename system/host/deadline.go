package host

import (
	"context"
	"errors"
	"os"
	"time"
)

// deadline bounds operations that take a context by a time that may be set anew while they wait, as
// those of a net.Conn may.
type deadline struct {
	h      Host
	mu     *Mutex
	ctx    context.Context // done when the time has come
	cancel context.CancelFunc
	ended  bool
}

func newDeadline(h Host, name string) *deadline {
	d := &deadline{h: h, mu: NewMutex(h, name+" deadline")}
	d.ctx, d.cancel = WithCancel(h, context.Background())
	return d
}

// set replaces the deadline; the zero time is none. It fails with ErrClosed once end was called.
func (d *deadline) set(t time.Time) error {
	var ctx context.Context
	var cancel context.CancelFunc
	if t.IsZero() {
		ctx, cancel = WithCancel(d.h, context.Background())
	} else {
		ctx, cancel = d.h.Clock().WithDeadline(context.Background(), t)
	}
	d.mu.Lock()
	if d.ended {
		d.mu.Unlock()
		cancel()
		return ErrClosed
	}
	old := d.cancel
	d.ctx, d.cancel = ctx, cancel
	d.mu.Unlock()
	old()
	return nil
}

// end makes all operations fail with ErrClosed, those that wait as well.
func (d *deadline) end() {
	d.mu.Lock()
	d.ended = true
	d.mu.Unlock()
	d.cancel()
}

// current is the context of the present deadline.
func (d *deadline) current() (ctx context.Context, ended bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ctx, d.ended
}

// do calls op with the context of the deadline, again when it was set anew meanwhile. It fails as op
// does, with os.ErrDeadlineExceeded, or with ErrClosed.
func (d *deadline) do(op func(ctx context.Context) error) error {
	for {
		ctx, ended := d.current()
		if ended {
			return ErrClosed
		}
		err := ctx.Err()
		if err == nil {
			err = op(ctx)
		}
		if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
			return err
		}
		if now, ended := d.current(); now == ctx && !ended {
			return os.ErrDeadlineExceeded
		}
	}
}
