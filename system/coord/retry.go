package coord

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// The first and the longest wait before a call is repeated. Waits double, and each is shortened at
// random by up to a half, so that those who failed together do not come back together.
const (
	retryMin = 10 * time.Millisecond
	retryMax = time.Second
)

// backoff spaces out the attempts of a call.
type backoff struct {
	h    host.Host
	next time.Duration
}

// wait waits, or fails with ctx's error.
func (b *backoff) wait(ctx context.Context) error {
	d := max(b.next, retryMin)
	b.next = min(2*d, retryMax)
	return host.Sleep(ctx, b.h, d-time.Duration(b.h.Rand().Int64N(int64(d)/2+1)))
}

func (b *backoff) reset() { b.next = 0 }
