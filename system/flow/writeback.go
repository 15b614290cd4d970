package flow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
)

// GenerateWritebackRequest is what waits to be written, by sink, in order. It stays where it is: only
// SendWritebackRequests takes it away, once it is known to be written.
func (m *Manager) GenerateWritebackRequest() map[catalog.Name][]DiffRequest {
	all := map[catalog.Name][]DiffRequest{}
	for _, q := range m.context.allSinks() {
		q.begin()
		all[q.name] = q.requests()
		q.end()
	}
	return all
}

// SendWritebackRequests writes what flows have put out into their sinks, and returns how many rows that
// was. One sink's trouble does not keep it from the others, nor does a slow one. What could not be written
// is written first the next time; a sink that is gone, and rows that don't fit it, are passed over, with an
// error in the log or with the flow.
//
// A write whose outcome is unknown is repeated as it was, under the same stamp, until the outcome is
// known: so that it is done once, and before any later one.
func (m *Manager) SendWritebackRequests(ctx context.Context) (rows int, err error) {
	rows, failed := m.writeBack(ctx)
	var errs []error
	for _, sink := range slices.SortedFunc(maps.Keys(failed), catalog.Name.Compare) {
		errs = append(errs, fmt.Errorf("sink %s: %w", sink, failed[sink]))
	}
	return rows, errors.Join(errs...)
}

// writeBack is SendWritebackRequests with the errors by sink. All sinks are written at once.
func (m *Manager) writeBack(ctx context.Context) (rows int, failed map[catalog.Name]error) {
	sinks := slices.DeleteFunc(m.context.allSinks(), (*sinkQueue).empty)
	written, errs := make([]int, len(sinks)), make([]error, len(sinks))
	writing := host.NewWaitGroup(m.h, "write-back")
	for i, q := range sinks {
		writing.Go(m.h, "write-back into "+q.name.String(), func() { written[i], errs[i] = m.drain(ctx, q) })
	}
	writing.Wait()
	failed = map[catalog.Name]error{}
	for i, q := range sinks {
		rows += written[i]
		if errs[i] != nil {
			failed[q.name] = errs[i]
		}
	}
	return rows, failed
}

// drain writes what waits for a sink now, and not what comes meanwhile.
func (m *Manager) drain(ctx context.Context, q *sinkQueue) (rows int, err error) {
	q.begin()
	defer q.end()
	if q.idle() {
		return 0, nil // somebody else was faster
	}
	frontend, err := m.frontend()
	if err != nil {
		return 0, err
	}
	if q.attempt != nil {
		if rows, err = m.try(ctx, frontend, q); err != nil {
			return rows, err
		}
	}
	n, err := m.writeWaiting(ctx, frontend, q)
	rows += n
	if err == nil && q.apart {
		n, err = m.writeWaiting(ctx, frontend, q)
		rows += n
		q.apart = err != nil
	}
	return rows, err
}

// writeWaiting writes what waits for a sink: all at once, or flow by flow.
func (m *Manager) writeWaiting(ctx context.Context, frontend FrontendInvoker, q *sinkQueue) (rows int, err error) {
	waiting := q.take()
	for len(waiting) > 0 {
		portion := q.portion(waiting)
		a, err := m.prepare(ctx, frontend, q, portion)
		if err != nil {
			q.pushFront(waiting)
			return rows, err
		}
		waiting = waiting[len(portion):]
		if a == nil {
			continue
		}
		q.attempting(a)
		n, err := m.try(ctx, frontend, q)
		rows += n
		if err != nil {
			q.pushFront(waiting)
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
		landed(a.outputs, a.request.Table)
		m.tell(a.wrote(m.node, q.name))
	case errors.Is(err, ErrTableNotFound):
		m.h.Logf("flow: the sink %s is gone, %d rows are not written", q.name, countRows(a.request.Requests))
		strand(a.outputs)
	case errors.Is(err, ErrInvalidInsert) && !sameFlow(a.outputs):
		q.pushFront(a.outputs)
		q.apart = true
	case errors.Is(err, ErrInvalidInsert):
		for _, o := range a.outputs {
			o.errs.push(err)
			o.landing.refuse(err)
		}
	default:
		return 0, err
	}
	q.attempting(nil)
	return rows, nil
}

func (m *Manager) write(ctx context.Context, frontend FrontendInvoker, w WriteRequest) error {
	ctx, cancel := m.h.Clock().WithTimeout(ctx, m.cfg.CallTimeout)
	defer cancel()
	return frontend.Write(ctx, w)
}

// prepare turns outputs into a write; nil if nothing is left of them.
func (m *Manager) prepare(ctx context.Context, frontend FrontendInvoker, q *sinkQueue, outputs []output) (*attempt, error) {
	table, err := m.existingTable(ctx, q.name)
	switch {
	case err != nil:
		return nil, err
	case table == nil:
		m.h.Sometimes("flow: results were left over for a sink that is gone", true)
		m.h.Logf("flow: the sink %s is gone, the results of %d runs are not written", q.name, len(outputs))
		strand(outputs)
		return nil, nil
	}
	a := &attempt{request: WriteRequest{Table: table.ID}}
	shaping := &shaping{m: m, frontend: frontend, table: table, now: m.ticks.tick(), whole: map[*landing]bool{}}
	for _, o := range outputs {
		sink, err := o.query.FitSink(table)
		if err != nil {
			o.errs.push(err)
			continue
		}
		if !shaping.follows(o) {
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
		landed(a.outputs, table.ID)
		return nil, nil // nothing fits, or the flow has no rows and nor has the sink
	}
	if a.request.Stamp, err = m.stamp(ctx); err != nil {
		return nil, err // not with the attempt, which has no stamp
	}
	return a, nil
}
