package simcontext

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/simrun-dev/simrun/system/host"
)

type key struct{}

func misuses(ctx context.Context) {
	_, _ = context.WithCancel(ctx)                          // want `context.WithCancel makes a context that can't wake the tasks that wait for it: use host.WithCancel \(simcontext\)`
	_, _ = context.WithCancelCause(ctx)                     // want `context.WithCancelCause makes a context that can't wake`
	_, _ = context.WithTimeout(ctx, 1)                      // want `context.WithTimeout makes a context with a deadline in real time`
	_, _ = context.WithTimeoutCause(ctx, 1, nil)            // want `context.WithTimeoutCause makes`
	_, _ = context.WithDeadline(ctx, time.Time{})           // want `context.WithDeadline makes`
	_, _ = context.WithDeadlineCause(ctx, time.Time{}, nil) // want `context.WithDeadlineCause makes`
	_ = context.AfterFunc(ctx, func() {})                   // want `context.AfterFunc calls its function in a goroutine`
	_, _ = errgroup.WithContext(ctx)                        // want `errgroup.WithContext makes a context that can't wake`
}

func right(h host.Host) {
	ctx := context.WithValue(context.Background(), key{}, 1)
	ctx, cancel := host.WithCancel(h, ctx)
	defer cancel()
	ctx, stop := h.Clock().WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	_ = context.Cause(ctx)
}
