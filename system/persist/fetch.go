package persist

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// fetch is the fetching of one part.
type fetch struct {
	batch   int // index
	part    part
	updates []Update
	err     error
}

// fetcher returns the updates of a part.
type fetcher func(ctx context.Context, p part) ([]Update, error)

// fetchBatches returns what lies in the blobs of each of the batches, several blobs at a time.
// It fails with the first error in the order of the batches: ErrMissingBlob, ErrCorrupt, or
// ctx's.
func (m *machine) fetchBatches(ctx context.Context, batches []batch, fetchPart fetcher) ([][]Update, error) {
	var fetches []*fetch
	for i := range batches {
		for _, p := range batches[i].Parts {
			fetches = append(fetches, &fetch{batch: i, part: p})
		}
	}
	todo := host.NewChan[*fetch](m.h, "persist fetches", len(fetches))
	for _, f := range fetches {
		todo.Send(f)
	}
	todo.Close()
	work := func() {
		for f, ok := todo.Recv(); ok; f, ok = todo.Recv() {
			f.updates, f.err = fetchPart(ctx, f.part)
		}
	}
	others := host.NewWaitGroup(m.h, "persist fetches")
	for range min(m.cfg.FetchParallelism, len(fetches)) - 1 {
		others.Go(m.h, "persist fetch", work)
	}
	work()
	others.Wait()
	updates := make([][]Update, len(batches))
	for _, f := range fetches {
		if f.err != nil {
			return nil, f.err
		}
		updates[f.batch] = append(updates[f.batch], f.updates...)
	}
	return updates, nil
}

func (m *machine) fetchPart(ctx context.Context, p part) ([]Update, error) {
	value, err := m.fetchBlob(ctx, p.Key)
	if err != nil {
		return nil, err
	}
	return decodePart(p, value)
}

// fetchBlob returns the value of a key, or ErrMissingBlob.
func (m *machine) fetchBlob(ctx context.Context, key string) ([]byte, error) {
	var value []byte
	var found bool
	err := retry(ctx, m.h, m.cfg, "get blob", key, func() (err error) {
		value, found, err = m.blob.Get(ctx, key)
		return err
	})
	switch {
	case err != nil:
		return nil, harmless("get blob", key, err)
	case !found:
		return nil, fmt.Errorf("%w: %s of shard %q", ErrMissingBlob, key, m.shard)
	}
	return value, nil
}

// deleteBlobs deletes what surely nobody refers to. It stops at the first error.
func (m *machine) deleteBlobs(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		err := retry(ctx, m.h, m.cfg, "delete blob", key, func() error {
			_, _, err := m.blob.Delete(ctx, key)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fetch is fetchBatches of batches that the handle has pinned.
func (r *ReadHandle) fetch(ctx context.Context, batches []batch, fetchPart fetcher) ([][]Update, error) {
	if r.m.h.Buggify("persist/dawdle before fetching") {
		// The pin has to last however long it takes; one in four takes long.
		delay := time.Duration(r.m.h.Rand().Int64N(int64(4 * time.Second)))
		if delay%4 != 0 {
			delay /= 16
		}
		if err := host.Sleep(ctx, r.m.h, delay); err != nil {
			return nil, err
		}
	}
	updates, err := r.m.fetchBatches(ctx, batches, fetchPart)
	if !errors.Is(err, ErrMissingBlob) {
		return updates, err
	}
	// With its lease gone the reader no longer keeps its blobs from being deleted.
	latest, refreshErr := r.m.refresh(ctx)
	if refreshErr != nil {
		return nil, refreshErr
	}
	if err := r.checkLease(latest); err != nil {
		return nil, err
	}
	if latest.tombstone() {
		return nil, r.lost()
	}
	r.c.h.Always("persist: a live reader's blobs are there", false, "%s: %v", r.m.shard, err)
	return nil, err
}
