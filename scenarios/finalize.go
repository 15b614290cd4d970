package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

const (
	// oracleHistory is the oracle persist/history: what is left of a shard's versions can be gone
	// through from the earliest on, as every collection has to.
	oracleHistory = "persist/history"
	// oracleFinalized is the oracle persist/finalized: a shard that was given up is closed for good, and
	// leaves nothing behind.
	oracleFinalized = "persist/finalized"
)

// checkHistory goes through a shard's versions.
func (r *Run) checkHistory(ctx context.Context, client *persist.Client, shard string) {
	if _, err := client.ListUnreferenced(ctx, persist.ShardID(shard)); err != nil {
		r.World.Fail(oracleHistory, "shard %s: %v", shard, err)
	}
}

// undertaker gives up shards, on a machine whose clock is so far ahead that all others' leases are over.
type undertaker struct {
	r      *Run
	h      host.Host
	client *persist.Client
}

const (
	undertakerNode  = "undertaker"
	undertakerAhead = 24 * time.Hour
	// quiet is how long after the last operation nobody does anything to a shard any more: by then the
	// calls that were carried out late have been, and so has maintenance.
	quiet = 15 * time.Second
)

// addUndertaker adds the machine, out of the reach of faults.
func addUndertaker(r *Run, c *persistCluster) *undertaker {
	u := &undertaker{r: r}
	node := r.World.NewNode(undertakerNode, func(h host.Host) {
		cfg := clientConfig
		cfg.NoMaintenance = true
		u.h, u.client = h, c.client(h, cfg)
	})
	node.SetClock(undertakerAhead, 0)
	return u
}

// finalize gives up the shard if it is closed for writing. It is called after everything else that is done
// to the shard.
func (u *undertaker) finalize(shard string) error {
	ctx, cancel := u.h.Clock().WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	id := persist.ShardID(shard)
	w, err := u.client.OpenWriter(ctx, id)
	if err != nil {
		return err
	}
	upper, err := w.FetchRecentUpper(ctx)
	if err != nil {
		return err
	}
	if !upper.IsEmpty() {
		var refused *persist.FinalizationError
		if err := u.client.Finalize(ctx, id); !errors.As(err, &refused) {
			u.r.World.Fail(oracleFinalized, "shard %s was to be finalised with its upper at %v, and the answer is: %v", shard, upper, err)
		}
		return nil
	}
	if err := u.release(ctx, id); err != nil {
		return err
	}
	if err := u.client.Finalize(ctx, id); err != nil {
		return fmt.Errorf("finalize: %w", err)
	}
	err = w.CompareAndAppend(ctx, nil, persist.At(0), persist.At(1))
	var mismatch *persist.UpperMismatch
	if !errors.As(err, &mismatch) || !mismatch.Current.IsEmpty() {
		u.r.World.Fail(oracleFinalized, "shard %s was finalised, and an append is answered: %v", shard, err)
	}
	return u.checkRemains(ctx, id)
}

// release gives up all that holds the shard's since.
func (u *undertaker) release(ctx context.Context, id persist.ShardID) error {
	rd, err := u.client.OpenReader(ctx, id) // ends the leases of all others
	if err != nil {
		return err
	}
	hold, err := u.client.OpenCritical(ctx, id, criticalID, 0)
	if err != nil {
		return err
	}
	if _, err := hold.CompareAndDowngradeSince(ctx, hold.Opaque(), hold.Opaque(), persist.Empty()); err != nil {
		return err
	}
	if _, err := rd.DowngradeSince(ctx, persist.Empty()); err != nil {
		return err
	}
	return nil
}

// checkRemains looks at what a finalised shard leaves behind, as one who has not known it before.
func (u *undertaker) checkRemains(ctx context.Context, id persist.ShardID) error {
	left, err := u.client.ListUnreferenced(ctx, id)
	if err != nil {
		u.r.World.Fail(oracleHistory, "shard %s, which was finalised: %v", id, err)
		return nil
	}
	if len(left) > 0 {
		u.r.World.Fail(oracleFinalized, "shard %s was finalised, and leaves blobs behind: %v", id, left)
	}
	return nil
}
