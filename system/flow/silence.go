package flow

import (
	"context"
	"slices"

	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// silence makes sure that nothing of a flow will be written into a sink any more.
func (m *Manager) silence(ctx context.Context, flow catalog.FlowID, sink catalog.Name) error {
	q := m.context.sink(m.h, sink)
	q.begin()
	defer q.end()
	q.discard(flow)
	a := q.attempt
	if a == nil && q.fenced {
		return nil
	}
	frontend, err := m.frontend()
	if err != nil {
		return err
	}
	table, err := m.existingTable(ctx, sink)
	switch {
	case err != nil:
		return err
	case table == nil:
		if a != nil {
			strand(a.outputs)
		}
		q.attempting(nil)
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
	q.attempting(&attempt{request: WriteRequest{Table: table.ID, Stamp: stamp}})
	_, err = m.try(ctx, frontend, q)
	return err
}
