package fix

import (
	"context"

	"github.com/simrun-dev/simrun/system/host"
)

func fixable(h host.Host, ctx context.Context) {
	<-ctx.Done() // want `a bare receive from a context's Done`
	_ = host.ErrClosed
}
