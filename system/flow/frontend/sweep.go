package frontend

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// sweep is the task that sees to it that nothing is left of tables that were dropped, by whichever frontend: they are in
// the catalog until one has finalised their shards.
func (f *Frontend) sweep() {
	for host.Sleep(f.life, f.h, f.cfg.SweepInterval) == nil {
		ctx, cancel := f.h.Clock().WithTimeout(f.life, f.cfg.StatementTimeout)
		if err := f.sweepOnce(ctx); err != nil && f.life.Err() == nil {
			f.h.Logf("frontend: dropped tables: %v", err)
		}
		cancel()
	}
}

func (f *Frontend) sweepOnce(ctx context.Context) error {
	dropped, err := f.catalog.Dropped(ctx)
	if err != nil {
		return err
	}
	f.evict()
	var errs []error
	for _, id := range dropped {
		err := f.client.GiveUp(ctx, Shard(id))
		var held *persist.FinalizationError
		f.h.Sometimes("frontend: a dropped table's shard is still held", errors.As(err, &held))
		f.h.Sometimes("frontend: a dropped table's shard was finalised", err == nil)
		if err == nil {
			err = f.catalog.Forget(ctx, id)
		}
		if held == nil { // which is tried again, when the lease of who holds it is over
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// evict closes the tables in memory that are no more, as far as is known here: others hold their shards up to then.
func (f *Frontend) evict() {
	f.mu.Lock()
	var gone []*table
	for _, id := range slices.Sorted(maps.Keys(f.tables)) {
		if !f.catalog.Knows(id) {
			gone = append(gone, f.tables[id])
			delete(f.tables, id)
		}
	}
	f.mu.Unlock()
	for _, t := range gone {
		t.relation.Close()
	}
}

// KnownTables are the numbers of the tables that there are, as far as this frontend has heard, sorted.
func (f *Frontend) KnownTables() []catalog.TableID { return f.catalog.KnownTables() }

// Tables are the numbers of the tables that are in memory, sorted.
func (f *Frontend) Tables() []catalog.TableID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.tables))
}
