package host

import (
	"context"
	"time"
)

// Sleep waits for d, or until ctx is done, in which case it fails with ctx's error.
func Sleep(ctx context.Context, h Host, d time.Duration) error {
	timer, cancel := h.Clock().WithTimeout(ctx, d)
	defer cancel()
	Select(h, OnDone(timer))
	return ctx.Err()
}
