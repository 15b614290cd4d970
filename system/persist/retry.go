package persist

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// backoff spaces out attempts: waits double from min to max, and each is shortened at random
// by up to a half, so that those who failed together do not come back together.
type backoff struct {
	h        host.Host
	min, max time.Duration
	next     time.Duration
}

func newBackoff(h host.Host, min, max time.Duration) *backoff {
	return &backoff{h: h, min: min, max: max, next: min}
}

// reset begins again with the shortest wait.
func (b *backoff) reset() { b.next = b.min }

// wait waits, or fails with ctx's error.
func (b *backoff) wait(ctx context.Context) error { return host.Sleep(ctx, b.h, b.step()) }

// step is the next wait.
func (b *backoff) step() time.Duration {
	d := b.next
	b.next = min(b.max, 2*b.next)
	return d - time.Duration(b.h.Rand().Int64N(int64(d)/2+1))
}

// retry calls op until it succeeds, fails for good, or ctx ends, in which case the error
// matches ctx's and what is known of the operation: it is determinate if every attempt was.
// It is for operations that may be executed twice.
func retry(ctx context.Context, h host.Host, cfg Config, what, key string, op func() error) error {
	wait := newBackoff(h, cfg.RetryMin, cfg.RetryMax)
	kind := ErrDeterminate
	for {
		if ctx.Err() != nil {
			return &StoreError{Op: what, Key: key, Kind: kind, Err: ctx.Err()}
		}
		err := op()
		if err == nil || !transient(err) {
			return err
		}
		if !errors.Is(err, ErrDeterminate) {
			kind = ErrIndeterminate
		}
		if wait.wait(ctx) != nil {
			return &StoreError{Op: what, Key: key, Kind: kind, Err: detach(fmt.Errorf("%w: %w", ctx.Err(), err))}
		}
	}
}
