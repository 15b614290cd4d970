package flow

import (
	"context"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
)

// shaping turns the rows of queries into those of a sink.
type shaping struct {
	m        *Manager
	frontend FrontendInvoker
	table    *catalog.Table
	now      int64
	before   []DiffRequest // that were shaped already
	whole    map[*landing]bool
}

// follows tells whether what an output changes is in the table, or comes there before it. It is not if the
// table was made in place of the one that has had it: then the flow is to begin anew.
func (s *shaping) follows(o output) bool {
	if o.whole {
		s.whole[o.landing] = true
	}
	if at, _ := o.landing.at(); s.whole[o.landing] || at == s.table.ID {
		return true
	}
	s.m.h.Sometimes("flow: a sink was made anew under its flow", true)
	o.landing.lose()
	return false
}

// shape is an output as requests to its sink.
func (s *shaping) shape(ctx context.Context, o output, sink *planner.Sink) ([]DiffRequest, error) {
	var shaped []DiffRequest
	if o.whole {
		stale, err := s.stale(ctx, o, sink)
		if err != nil {
			return nil, err
		}
		s.m.h.Sometimes("flow: a sink had rows that its flow has not", len(stale) > 0)
		if len(stale) > 0 {
			shaped = append(shaped, DiffRequest{Delete: true, Whole: true, Rows: stale})
		}
	}
	comes := map[dataflow.Row]bool{}
	for _, row := range inserted(o.requests) {
		key, err := sink.Key(row)
		if err != nil {
			return nil, err
		}
		comes[key] = true
	}
	for _, r := range o.requests {
		rows := make([]dataflow.Row, 0, len(r.Rows))
		for _, row := range r.Rows {
			if !r.Delete {
				full, err := sink.Row(row, s.now)
				if err != nil {
					return nil, err
				}
				rows = append(rows, full)
				continue
			}
			key, err := sink.Key(row)
			if err != nil {
				return nil, err
			}
			if !comes[key] { // else it is replaced
				rows = append(rows, key)
			}
		}
		s.m.h.Sometimes("flow: a row of a result went", r.Delete && len(rows) > 0)
		if len(rows) > 0 {
			shaped = append(shaped, DiffRequest{Delete: r.Delete, Rows: rows})
		}
	}
	s.before = append(s.before, shaped...)
	return shaped, nil
}

// stale are the rows that the sink has, or is about to have, and the flow whose whole result this is has
// not: from before it was restarted or replaced. Those that have expired stay, and all do if there are others
// that write into the sink. They are whole rows: should another flow come to share the sink before they are
// taken out, what that has written under their keys stays.
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
	// In this order: of a flow that there was not after the look, there is nothing in it.
	if shared, err := s.m.shared(ctx, o.flow, s.table.Name); shared || err != nil {
		return nil, err
	}
	has := map[dataflow.Row]dataflow.Row{} // rows by key
	for _, c := range contents {
		key, err := sink.KeyOf(c.Row)
		if err != nil {
			return nil, err
		}
		has[key] = c.Row
	}
	for _, r := range s.before {
		if err := r.apply(has, sink.KeyOf); err != nil {
			return nil, err
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
	return slices.Sorted(maps.Values(has)), nil
}

// shared tells whether another flow than id, on any node, writes into a sink.
func (m *Manager) shared(ctx context.Context, id catalog.FlowID, sink catalog.Name) (bool, error) {
	if m.context.sharedSink(id, sink) {
		return true, nil
	}
	flows, _, err := m.flowMeta.Flows(ctx)
	return slices.ContainsFunc(flows, func(f *catalog.Flow) bool { return f.ID != id && f.Sink == sink }), err
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
