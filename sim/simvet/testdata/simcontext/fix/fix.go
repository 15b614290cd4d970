package fix

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

func fixable(h host.Host, ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx) // want `context.WithCancel`
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, time.Second) // want `context.WithTimeout`
	defer stop()
	_ = host.ErrClosed
	return ctx
}
