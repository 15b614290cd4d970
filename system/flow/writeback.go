package flow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
)

// GenerateWritebackRequest is what waits to be written, by sink, in order. It stays where it is: only
// SendWritebackRequests takes it away, once it is known to be written.
func (m *Manager) GenerateWritebackRequest() map[catalog.Name][]DiffRequest {
	all := map[catalog.Name][]DiffRequest{}
	for _, q := range m.context.allSinks() {
		all[q.name] = q.requests()
	}
	return all
}

// SendWritebackRequests writes what flows have put out into their sinks, and returns how many rows that
// was. One sink's trouble does not keep it from the others. What could not be written is written first
// the next time; a sink that is gone, and rows that don't fit it, are passed over, with an error in the
// log or with the flow.
//
// A write whose outcome is unknown is repeated as it was, under the same stamp, until the outcome is
// known: so that it is done once, and before any later one.
func (m *Manager) SendWritebackRequests(ctx context.Context) (rows int, err error) {
	m.writing.Lock()
	defer m.writing.Unlock()
	var errs []error
	for _, q := range m.context.allSinks() {
		n, err := m.drain(ctx, q)
		rows += n
		if err != nil {
			errs = append(errs, fmt.Errorf("sink %s: %w", q.name, err))
		}
	}
	return rows, errors.Join(errs...)
}

// drain writes what waits for a sink. The caller holds writing.
func (m *Manager) drain(ctx context.Context, q *sinkQueue) (rows int, err error) {
	for !q.empty() {
		frontend, err := m.frontend()
		if err != nil {
			return rows, err
		}
		if q.attempt == nil {
			outputs := q.take()
			if q.attempt, err = m.prepare(ctx, frontend, q, outputs); err != nil {
				q.pushFront(outputs)
				return rows, err
			}
			if q.attempt == nil {
				continue
			}
		}
		n, err := m.try(ctx, frontend, q)
		rows += n
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// try makes the attempt, and forgets it once its outcome is known.
func (m *Manager) try(ctx context.Context, frontend FrontendInvoker, q *sinkQueue) (rows int, err error) {
	a := q.attempt
	m.h.Sometimes("flow: a write of unknown outcome is repeated", a.tried)
	a.tried = true
	err = m.write(ctx, frontend, a.request)
	switch {
	case err == nil:
		rows = countRows(a.request.Requests)
		q.fenced = true
		m.tell(a.wrote(m.node, q.name))
	case errors.Is(err, ErrTableNotFound):
		m.h.Logf("flow: the sink %s is gone, %d rows are not written", q.name, countRows(a.request.Requests))
	case errors.Is(err, ErrInvalidInsert):
		for _, o := range a.outputs {
			o.errs.push(err)
		}
	default:
		return 0, err
	}
	q.attempt = nil
	return rows, nil
}

func (m *Manager) write(ctx context.Context, frontend FrontendInvoker, w WriteRequest) error {
	ctx, cancel := m.h.Clock().WithTimeout(ctx, m.cfg.CallTimeout)
	defer cancel()
	return frontend.Write(ctx, w)
}

// prepare turns outputs into a write; nil if nothing is left of them.
func (m *Manager) prepare(ctx context.Context, frontend FrontendInvoker, q *sinkQueue, outputs []output) (*attempt, error) {
	table, err := m.fetchTablePKSchema(ctx, q.name)
	switch {
	case err != nil:
		return nil, err
	case table == nil:
		m.h.Sometimes("flow: results were left over for a sink that is gone", true)
		m.h.Logf("flow: the sink %s is gone, the results of %d runs are not written", q.name, len(outputs))
		return nil, nil
	}
	a := &attempt{request: WriteRequest{Table: table.ID}}
	shaping := &shaping{m: m, frontend: frontend, table: table, now: m.ticks.tick()}
	for _, o := range outputs {
		sink, err := o.query.FitSink(table)
		if err != nil {
			o.errs.push(err)
			continue
		}
		requests, err := shaping.shape(ctx, o, sink)
		if err != nil {
			return nil, err
		}
		a.outputs = append(a.outputs, o)
		a.request.Requests = append(a.request.Requests, requests...)
	}
	if len(a.request.Requests) == 0 {
		return nil, nil // nothing fits, or the flow has no rows and nor has the sink
	}
	a.request.Stamp, err = m.stamp(ctx)
	return a, err
}

// shaping turns the rows of queries into those of a sink.
type shaping struct {
	m        *Manager
	frontend FrontendInvoker
	table    *catalog.Table
	now      int64
	before   []DiffRequest // that were shaped already
}

func (s *shaping) shape(ctx context.Context, o output, sink *planner.Sink) ([]DiffRequest, error) {
	var shaped []DiffRequest
	if o.whole {
		stale, err := s.stale(ctx, o, sink)
		if err != nil {
			return nil, err
		}
		s.m.h.Sometimes("flow: a sink had rows that its flow has not", len(stale) > 0)
		if len(stale) > 0 {
			shaped = append(shaped, DiffRequest{Delete: true, Rows: stale})
		}
	}
	for _, r := range o.requests {
		rows := make([]dataflow.Row, len(r.Rows))
		for i, row := range r.Rows {
			var err error
			if r.Delete {
				rows[i], err = sink.Key(row)
			} else {
				rows[i], err = sink.Row(row, s.now)
			}
			if err != nil {
				return nil, err
			}
		}
		shaped = append(shaped, DiffRequest{Delete: r.Delete, Rows: rows})
	}
	s.before = append(s.before, shaped...)
	return shaped, nil
}

// stale are the keys of the rows that the sink has, or is about to have, and the flow whose whole result
// this is has not: from before it was restarted or replaced. Those that have expired stay.
func (s *shaping) stale(ctx context.Context, o output, sink *planner.Sink) ([]dataflow.Row, error) {
	// Nothing that an earlier life of this node still has on its way may come after this look.
	ctx, cancel := s.m.h.Clock().WithTimeout(ctx, s.m.cfg.CallTimeout)
	defer cancel()
	stamp, err := s.m.stamp(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.frontend.Write(ctx, WriteRequest{Table: s.table.ID, Stamp: stamp}); err != nil {
		return nil, err
	}
	contents, _, err := s.frontend.Snapshot(ctx, s.table.ID)
	if err != nil {
		return nil, err
	}
	has := map[dataflow.Row]dataflow.Row{} // rows by key
	put := func(row dataflow.Row) error {
		key, err := sink.KeyOf(row)
		has[key] = row
		return err
	}
	for _, c := range contents {
		if err := put(c.Row); err != nil {
			return nil, err
		}
	}
	for _, r := range s.before {
		for _, row := range r.Rows {
			if r.Delete {
				delete(has, row)
			} else if err := put(row); err != nil {
				return nil, err
			}
		}
	}
	for _, row := range inserted(o.requests) {
		key, err := sink.Key(row)
		if err != nil {
			return nil, err
		}
		delete(has, key)
	}
	maps.DeleteFunc(has, func(_, row dataflow.Row) bool { return o.expired(row) })
	return slices.Sorted(maps.Keys(has)), nil
}

// expired tells whether a row of the sink is of a group that is over.
func (o *output) expired(row dataflow.Row) bool {
	w := o.query.Window
	if w == nil {
		return false
	}
	data, err := row.Unpack()
	return err == nil && !data[w.Output].IsNull() && data[w.Output].Int() < o.horizon
}

// silence makes sure that nothing of a flow will be written into a sink any more.
func (m *Manager) silence(ctx context.Context, flow catalog.FlowID, sink catalog.Name) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	q := m.context.sink(m.h, sink)
	q.discard(flow)
	a := q.attempt
	if a == nil && q.fenced {
		return nil
	}
	frontend, err := m.frontend()
	if err != nil {
		return err
	}
	table, err := m.fetchTablePKSchema(ctx, sink)
	switch {
	case err != nil:
		return err
	case table == nil:
		q.attempt = nil
		return nil
	}
	stamp, err := m.stamp(ctx)
	if err != nil {
		return err
	}
	if a != nil {
		// It may be on its way. A later stamp keeps it out; what it has of other flows is written anew.
		m.h.Sometimes("flow: a flow was removed while a write of unknown outcome was on its way", true)
		q.pushFront(slices.DeleteFunc(slices.Clone(a.outputs), func(o output) bool { return o.flow == flow }))
	}
	q.attempt = &attempt{request: WriteRequest{Table: table.ID, Stamp: stamp}}
	_, err = m.try(ctx, frontend, q)
	return err
}
