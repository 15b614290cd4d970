package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/persist"
)

// feedWriter is how mirrors write to the tables that flows read.
const feedWriter = "mirror"

// feed keeps a table that flows read equal to the table's shard, with the mark: one write for each step.
//
// It begins with a fence: a write that changes nothing, under a stamp of its term, which is later than those of all
// terms before. From then on only this term changes the table. Terms are numbered by the election, not by who comes to
// writing first: else a mirror that does not know that its term is over could fence out the one that leads, for good.
// The feed then takes in all that the table and the shard differ in; afterwards what the shard's listener tells. A
// write of unknown outcome is repeated under its stamp until it is known.
type feed struct {
	m     *Mirror
	table *Table
	term  coord.Revision

	id       catalog.TableID // 0 until the table is known
	writes   uint64
	pending  *flow.WriteRequest
	listener *persist.Listener // to what is not in the table once pending is; nil until both were compared
}

func newFeed(m *Mirror, t *Table, term coord.Revision) *feed {
	return &feed{m: m, table: t, term: term}
}

// step brings the table to where the shard is.
func (f *feed) step(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	if err := f.deliver(ctx); err != nil {
		return err
	}
	if f.listener == nil {
		return f.resync(ctx)
	}
	return f.follow(ctx)
}

// begin finds the table and fences former terms out.
func (f *feed) begin(ctx context.Context) error {
	if f.id != 0 {
		return nil
	}
	if f.m.h.Buggify("pipeline/dawdle before a term's first write") {
		f.m.h.Clock().Sleep(time.Duration(f.m.h.Rand().Int64N(int64(2 * f.m.cfg.SessionTTL))))
	}
	t, err := f.m.links.Tables.Table(ctx, catalog.Public(f.table.Name))
	if err != nil {
		return err
	}
	f.id = t.ID
	f.write(nil)
	return nil
}

// write sets out to write, for [feed.deliver].
func (f *feed) write(requests []flow.DiffRequest) {
	f.writes++
	f.pending = &flow.WriteRequest{Table: f.id, Stamp: flow.Stamp{Writer: feedWriter, Epoch: uint64(f.term), N: f.writes}, Requests: requests}
}

// deliver writes what is pending.
func (f *feed) deliver(ctx context.Context) error {
	if f.pending == nil {
		return nil
	}
	if err := f.m.links.Tables.Write(ctx, *f.pending); err != nil {
		switch {
		case errors.Is(err, flow.ErrInvalidInsert):
			f.pending = nil // never written; what is there now is looked at again
			f.restart()
		case errors.Is(err, flow.ErrTableNotFound):
			f.gone()
		}
		return fmt.Errorf("write to table %s: %w", f.table.Name, err)
	}
	f.pending = nil
	return nil
}

// gone has the next step look for another table of that name.
func (f *feed) gone() {
	f.m.h.Sometimes("pipeline: a table that flows read was dropped", true)
	f.pending, f.id = nil, 0
	f.restart()
}

// restart has the next step compare the table with the shard.
func (f *feed) restart() {
	if f.listener != nil {
		f.listener.Close()
		f.listener = nil
	}
}

// resync makes the table equal to the shard.
func (f *feed) resync(ctx context.Context) error {
	reader, err := f.m.links.Persist.OpenReader(ctx, TableShard(f.table.Name))
	if err != nil {
		return err
	}
	at, changed, err := f.compare(ctx, reader)
	if err != nil || at == 0 {
		reader.Close()
		return err
	}
	listener, err := reader.Listen(ctx, at)
	if err != nil {
		reader.Close()
		return err
	}
	f.write(f.requests(changed, at))
	f.listener = listener
	return f.deliver(ctx)
}

// compare tells what keys of the table have to come to, "" for nothing, to be as the shard is at a ts; 0 if the shard
// is not there yet.
func (f *feed) compare(ctx context.Context, reader *persist.ReadHandle) (at model.Ts, changed map[dataflow.Row]dataflow.Row, err error) {
	at, rows, err := f.latest(ctx, reader)
	if err != nil || at == 0 {
		return 0, nil, err
	}
	has, _, err := f.m.links.Tables.Snapshot(ctx, f.id)
	if errors.Is(err, flow.ErrTableNotFound) {
		f.gone()
	}
	if err != nil {
		return 0, nil, err
	}
	f.m.h.Sometimes("pipeline: a mirror found a table as a former one had left it", len(has) > 0)
	changed = map[dataflow.Row]dataflow.Row{}
	for _, c := range has {
		key, err := keyOf(c.Row)
		if err != nil {
			return 0, nil, err
		}
		changed[key] = ""
	}
	for _, u := range rows {
		key, err := keyOf(dataflow.Row(u.Data))
		if err != nil {
			return 0, nil, err
		}
		changed[key] = dataflow.Row(u.Data)
	}
	delete(changed, dataflow.Pack(dataflow.String(Mark))) // which is written anyway
	return at, changed, nil
}

// latest is the shard's contents as of the last ts up to which it is complete; 0 if it is not there yet.
func (f *feed) latest(ctx context.Context, reader *persist.ReadHandle) (model.Ts, []persist.Update, error) {
	w, err := f.m.links.Persist.OpenWriter(ctx, reader.Shard())
	if err != nil {
		return 0, nil, err
	}
	upper, err := w.FetchRecentUpper(ctx)
	w.Close()
	at, open := upper.Time()
	if err != nil || !open || at == 0 {
		return 0, nil, err
	}
	rows, err := reader.SnapshotAndFetch(ctx, at-1)
	return at - 1, rows, err
}

// follow writes what came since.
func (f *feed) follow(ctx context.Context) error {
	event, err := f.listener.Next(ctx)
	if err != nil {
		if ctx.Err() == nil {
			f.m.h.Sometimes("pipeline: the mirror's listener to a table failed", true)
			f.restart()
		}
		return err
	}
	changed := map[dataflow.Row]dataflow.Row{}
	for _, u := range event.Updates { // in the order of times
		key, err := keyOf(dataflow.Row(u.Data))
		if err != nil {
			f.restart() // the event was taken, and would be missing
			return err
		}
		switch {
		case u.Diff > 0:
			changed[key] = dataflow.Row(u.Data)
		case changed[key] == "" || changed[key] == dataflow.Row(u.Data):
			changed[key] = ""
		}
	}
	progress, open := event.Progress.Time()
	if !open {
		return fmt.Errorf("pipeline: the shard of table %s is closed", f.table.Name)
	}
	f.write(f.requests(changed, progress-1))
	return f.deliver(ctx)
}

// requests say what keys have come to, "" for nothing, and up to where the table is complete.
func (f *feed) requests(changed map[dataflow.Row]dataflow.Row, at model.Ts) []flow.DiffRequest {
	var gone, put []dataflow.Row
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		if row := changed[key]; row == "" {
			gone = append(gone, key)
		} else {
			put = append(put, unmarked(row))
		}
	}
	put = append(put, f.table.mark(at))
	requests := []flow.DiffRequest{{Rows: put}}
	if len(gone) > 0 {
		requests = slices.Insert(requests, 0, flow.DiffRequest{Delete: true, Rows: gone})
	}
	return requests
}
