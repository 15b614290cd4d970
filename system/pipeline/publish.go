package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/persist"
)

// publisher copies the results of flows to shards, on the timeline of the source.
type publisher struct {
	m     *Mirror
	sinks map[catalog.Name]*publication
}

func newPublisher(m *Mirror) *publisher {
	return &publisher{m: m, sinks: map[catalog.Name]*publication{}}
}

// step publishes what is new in all sinks. One sink's trouble does not keep it from the others.
func (p *publisher) step(ctx context.Context) error {
	flows, _, err := p.m.links.Tables.Flows(ctx)
	if err != nil {
		return err
	}
	var errs []error
	wanted := map[catalog.Name]bool{}
	for _, f := range flows {
		if wanted[f.Sink] {
			continue
		}
		wanted[f.Sink] = true
		if p.sinks[f.Sink] == nil {
			p.sinks[f.Sink] = &publication{m: p.m, name: f.Sink}
		}
		if err := p.sinks[f.Sink].step(ctx); err != nil {
			errs = append(errs, fmt.Errorf("sink %s: %w", f.Sink, err))
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(p.sinks), catalog.Name.Compare) {
		if !wanted[name] {
			p.sinks[name].close()
			delete(p.sinks, name)
		}
	}
	return errors.Join(errs...)
}

func (p *publisher) close() {
	for _, name := range slices.SortedFunc(maps.Keys(p.sinks), catalog.Name.Compare) {
		p.sinks[name].close()
	}
}

// publication copies one sink.
//
// The shard's updates are at the times of the marks: as of T it has the result with the latest mark up to T,
// which is that of the table as of the mark. An append takes back the last result and its mark, and adds the next
// and its; two mirrors that append the same mark append the same, and the later one finds the upper beyond it.
type publication struct {
	m    *Mirror
	name catalog.Name

	table   *catalog.Table // nil until it is known
	columns int            // of the result; the sink's others are of the flow engine's own
	asOf    int            // the column of the mark
	next    uint64         // the table's change that is not in rows yet; 0 if rows are not known
	rows    map[dataflow.Row]int64

	writer    *persist.WriteHandle // nil until published and upper are known
	upper     persist.Frontier
	published map[dataflow.Row]int64
}

func (p *publication) step(ctx context.Context) error {
	if err := p.refresh(ctx); err != nil {
		return err
	}
	if p.table == nil {
		return nil
	}
	at, ok, err := p.mark(p.rows)
	if err != nil || !ok {
		return err
	}
	if err := p.open(ctx); err != nil {
		return err
	}
	if p.upper.LessEqual(at) {
		return p.append(ctx, at)
	}
	return nil
}

// refresh brings rows up to date.
func (p *publication) refresh(ctx context.Context) error {
	tables := p.m.links.Tables
	if p.table == nil {
		t, err := tables.Table(ctx, p.name)
		if errors.Is(err, flow.ErrTableNotFound) || isMissing(err) {
			return nil // the flow has not made it yet
		}
		if err != nil {
			return err
		}
		p.columns = slices.IndexFunc(t.Columns, func(c catalog.Column) bool {
			return c.Name == planner.UpdateColumn || c.Name == planner.PlaceholderColumn
		})
		if p.columns < 0 {
			p.columns = len(t.Columns)
		}
		p.asOf = t.Find(AsOfColumn)
		if p.asOf < 0 || p.asOf >= p.columns {
			return fmt.Errorf("pipeline: it has no column %s, so that nobody knows what its rows are the result of", AsOfColumn)
		}
		p.table = t
	}
	if p.next > 0 {
		batches, err := tables.Changes(ctx, p.table.ID, p.next)
		switch {
		case err == nil:
			return p.take(batches)
		case errors.Is(err, flow.ErrTableNotFound):
			p.gone()
			return nil
		case !errors.Is(err, relation.ErrForgotten):
			return err
		}
		p.m.h.Sometimes("pipeline: a sink's changes were forgotten before they were published", true)
		p.next = 0
	}
	contents, upper, err := tables.Snapshot(ctx, p.table.ID)
	if errors.Is(err, flow.ErrTableNotFound) {
		p.gone()
		return nil
	}
	if err != nil {
		return err
	}
	p.rows = map[dataflow.Row]int64{}
	for _, c := range contents {
		if err := p.add(c.Row, c.Count); err != nil {
			return err
		}
	}
	p.next = upper
	return nil
}

// gone has the next step look for another table of that name.
func (p *publication) gone() {
	p.m.h.Sometimes("pipeline: a sink was dropped", true)
	p.table, p.next = nil, 0
}

func (p *publication) take(batches []flow.Batch) error {
	for _, b := range batches {
		for _, r := range b.Rows {
			if err := p.add(r.Row, r.Diff); err != nil {
				p.next = 0
				return err
			}
		}
		p.next = b.Seq + 1
	}
	return nil
}

// add changes the multiplicity of a row of the sink.
func (p *publication) add(row dataflow.Row, diff int64) error {
	data, err := row.Unpack()
	if err != nil {
		return err
	}
	result := dataflow.Pack(data[:p.columns]...)
	if p.rows[result] += diff; p.rows[result] == 0 {
		delete(p.rows, result)
	}
	return nil
}

// mark is up to where the rows are the table's result; ok is false if they are not a result: the flow has
// written nothing yet, or is about to be replaced.
func (p *publication) mark(rows map[dataflow.Row]int64) (at model.Ts, ok bool, err error) {
	marks := 0
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		data, err := row.Unpack()
		if err != nil {
			return 0, false, err
		}
		if d := data[p.asOf]; !d.IsNull() {
			at = model.Ts(d.Int())
			marks++
		}
	}
	if marks > 1 {
		return 0, false, fmt.Errorf("pipeline: %d rows have a value in column %s: the flow's query must keep the mark in a row of its own", marks, AsOfColumn)
	}
	return at, marks == 1, nil
}

// open finds out what the shard has.
func (p *publication) open(ctx context.Context) error {
	if p.writer != nil {
		return nil
	}
	shard := SinkShard(p.name.Object)
	reader, err := p.m.links.Persist.OpenReader(ctx, shard)
	if err != nil {
		return err
	}
	defer reader.Close()
	w, err := p.m.links.Persist.OpenWriter(ctx, shard)
	if err != nil {
		return err
	}
	upper, published, err := contents(ctx, w, reader)
	if err != nil {
		w.Close()
		return err
	}
	p.writer, p.upper, p.published = w, upper, published
	return nil
}

// contents are a shard's upper and what it holds before that.
func contents(ctx context.Context, w *persist.WriteHandle, reader *persist.ReadHandle) (persist.Frontier, map[dataflow.Row]int64, error) {
	upper, err := w.FetchRecentUpper(ctx)
	if err != nil {
		return upper, nil, err
	}
	rows := map[dataflow.Row]int64{}
	at, open := upper.Time()
	if !open {
		return upper, nil, fmt.Errorf("pipeline: shard %s is closed", w.Shard())
	}
	if at == 0 {
		return upper, rows, nil
	}
	updates, err := reader.SnapshotAndFetch(ctx, at-1)
	for _, u := range updates {
		rows[dataflow.Row(u.Data)] += u.Diff
	}
	return upper, rows, err
}

// append makes the shard hold the rows from at on.
func (p *publication) append(ctx context.Context, at model.Ts) error {
	var updates []persist.Update
	change := func(row dataflow.Row, diff int64) {
		if diff != 0 {
			updates = append(updates, persist.Update{Data: string(row), Time: at, Diff: diff})
		}
	}
	for _, row := range slices.Sorted(maps.Keys(p.published)) {
		change(row, p.rows[row]-p.published[row])
	}
	for _, row := range slices.Sorted(maps.Keys(p.rows)) {
		if p.published[row] == 0 {
			change(row, p.rows[row])
		}
	}
	err := p.writer.CompareAndAppend(ctx, updates, p.upper, upTo(at))
	if err == nil {
		p.upper, p.published = upTo(at), maps.Clone(p.rows)
		return nil
	}
	var mismatch *persist.UpperMismatch
	p.m.h.Sometimes("pipeline: another mirror has published a sink", errors.As(err, &mismatch))
	p.close() // opened again, the shard tells what it has
	return err
}

func (p *publication) close() {
	if p.writer != nil {
		p.writer.Close()
		p.writer = nil
	}
}

func isMissing(err error) bool {
	var missing *catalog.NotFoundError
	return errors.As(err, &missing)
}
