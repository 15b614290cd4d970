package compute

import (
	"context"
	"fmt"

	"github.com/simrun-dev/simrun/system/persist"
)

// NextIncarnation draws the number of a controller's life from a register of Consensus that is named for the
// instance: it is higher than all that were drawn before. It fails as Consensus does; a number
// may be lost then, which does no harm.
func NextIncarnation(ctx context.Context, consensus persist.Consensus, instance string) (int64, error) {
	key := "compute/" + instance + "/incarnation"
	for {
		head, err := consensus.Head(ctx, key)
		if err != nil {
			return 0, fmt.Errorf("compute: draw an incarnation: %w", err)
		}
		next := persist.Versioned{SeqNo: head.SeqNo + 1}
		drawn, err := consensus.CompareAndSet(ctx, key, head.SeqNo, next)
		if err != nil {
			return 0, fmt.Errorf("compute: draw an incarnation: %w", err)
		}
		if drawn {
			// The numbers before need not be kept. If this fails, whoever draws the next one does it.
			_, _ = consensus.Truncate(ctx, key, next.SeqNo)
			return int64(next.SeqNo), nil
		}
	}
}
