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
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/sql"
)

// CreateFlow makes a flow run and returns its id; nil if there was nothing to do, because it exists and
// the arguments say that this is all right, or because they have been carried out before. The flow starts
// with what its tables hold: see [RefillTask].
//
// Whatever can be wrong is found before anything is changed, and what was changed is undone when
// something fails after that: a flow that was not created leaves nothing behind, one that was not replaced
// goes on. The errors for which that is sure are told by [IsRefused]. After another one the flow may not
// run yet, and its sink may have been made; asking again does no harm.
func (m *Manager) CreateFlow(ctx context.Context, args CreateFlowArgs) (*catalog.FlowID, error) {
	m.ddl.Lock()
	defer m.ddl.Unlock()
	old := m.context.flow(args.ID)
	if done, err := m.settled(old, &args); done || err != nil {
		if done {
			err = m.clear(ctx, args.ID)
		}
		return nil, err
	}
	r, err := m.create(ctx, args, old)
	if err != nil {
		return nil, err
	}
	m.startRefill(r)
	return &args.ID, nil
}

// settled tells whether nothing is to be done, given the flow of that id, nil if there is none.
func (m *Manager) settled(old *registration, args *CreateFlowArgs) (done bool, err error) {
	if r, ok := m.context.dropRevision(args.ID); ok && args.Revision != 0 && r >= args.Revision {
		return false, fmt.Errorf("%w: flow %s", ErrSuperseded, args.Name)
	}
	switch {
	case old == nil:
		return false, nil
	case args.Revision != 0 && old.args.Revision > args.Revision:
		return false, fmt.Errorf("%w: flow %s", ErrSuperseded, args.Name)
	case args.Revision != 0 && old.args.Revision == args.Revision && (args.OrReplace || args.CreateIfNotExists):
		m.h.Sometimes("flow: a request to create was carried out before", true)
		return true, nil
	case args.OrReplace:
		return false, nil
	case args.CreateIfNotExists:
		return true, nil
	}
	return false, fmt.Errorf("%w: %s", ErrFlowExists, args.Name)
}

// create starts a flow in place of old, which may be nil. Its refill is not started.
func (m *Manager) create(ctx context.Context, args CreateFlowArgs, old *registration) (*registration, error) {
	query, err := m.plan(ctx, &args)
	if err != nil {
		return nil, err
	}
	exists, err := m.fits(ctx, args.Sink, query)
	if err != nil {
		return nil, err
	}
	graph, err := dataflow.New(query.Plan, dataflow.Config{Sources: query.Catalog()})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidQuery, err)
	}
	src, err := m.openSource(ctx, query.Table)
	if err != nil {
		return nil, err
	}
	if !exists {
		// The last step that can fail, but for a worker that is gone.
		if _, err := m.createTableFromRelation(ctx, args.Sink, query); err != nil {
			m.context.tidy()
			return nil, err
		}
	}
	r := &registration{
		args: args, query: query, sub: src.subscribe(args.ID), errs: newErrCollector(m.h, m.cfg.MaxErrors), landing: newLanding(m.h),
	}
	if err := m.place(ctx, r, old, graph); err != nil {
		src.unsubscribe(r.sub)
		m.context.tidy()
		return nil, err
	}
	r.life, r.end = host.WithCancel(m.h, context.Background())
	m.context.register(r) // before what the other one has left is discarded, of which a flush must not say that it is written
	err = m.supersede(ctx, old, r)
	m.context.tidy() // it may read another table than before
	m.tell(FlowCreated{Node: m.node, Flow: args.ID, Revision: args.Revision, Worker: r.worker.number})
	if err != nil {
		m.startRefill(r)
	}
	return r, err
}

// plan turns the text of a flow into a plan over its source, which is all it may read.
func (m *Manager) plan(ctx context.Context, args *CreateFlowArgs) (*planner.Query, error) {
	if args.ExpireAfter < catalog.NoExpiry || args.ExpireAfter > catalog.MaxExpireAfter {
		return nil, fmt.Errorf("%w: EXPIRE AFTER %d s", ErrInvalidQuery, args.ExpireAfter)
	}
	if len(args.Sources) != 1 {
		return nil, fmt.Errorf("%w: a flow reads one table, not %d", ErrInvalidQuery, len(args.Sources))
	}
	source, err := m.meta.TableByID(ctx, args.Sources[0])
	if err != nil {
		return nil, planned(err)
	}
	parsed, err := sql.ParseStatement(args.SQL)
	if err != nil {
		return nil, planned(err)
	}
	q, ok := parsed.(sql.Query)
	if !ok {
		return nil, fmt.Errorf("%w: a flow's query is a SELECT", ErrInvalidQuery)
	}
	query, err := m.engine(q, func(name catalog.Name) (*catalog.Table, error) {
		if source.Name != name {
			return nil, &catalog.NotFoundError{What: "table", Name: name}
		}
		return source, nil
	}, args.ExpireAfter)
	return query, planned(err)
}

// fits tells whether the sink exists; if it does and is not fit for the query, that is an error.
func (m *Manager) fits(ctx context.Context, name catalog.Name, query *planner.Query) (exists bool, err error) {
	table, err := m.existingTable(ctx, name)
	if err != nil || table == nil {
		return false, err
	}
	if table.ID == query.Table.ID {
		return true, fmt.Errorf("%w: a flow can't write into %s, which it reads", ErrInvalidQuery, name)
	}
	if _, err := query.FitSink(table); err != nil {
		return true, fmt.Errorf("%w: %w", ErrInvalidQuery, err)
	}
	return true, nil
}

// openSource is the source of a table, made if there is none.
func (m *Manager) openSource(ctx context.Context, table *catalog.Table) (*source, error) {
	if s := m.context.source(table.ID); s != nil {
		return s, nil
	}
	frontend, err := m.frontend()
	if err != nil {
		return nil, err
	}
	upper, err := frontend.Upper(ctx, table.ID)
	if err != nil {
		return nil, planned(err)
	}
	return m.context.addSource(newSource(m.h, m.cfg, table, upper)), nil
}

// place starts a flow on a worker: where it was, if it takes the place of another.
func (m *Manager) place(ctx context.Context, r, old *registration, graph *dataflow.Dataflow) (err error) {
	if old != nil {
		r.worker = old.worker
	} else if r.worker, err = m.getWorkerHandleForCreateFlow(); err != nil {
		return err
	}
	hold := m.cfg.HoldCap
	if m.h.Buggify("flow/hold little back") {
		hold = 1
	}
	// Whether the worker has done it must not be left open.
	return r.worker.createFlow(context.WithoutCancel(ctx), createRequest{
		args: r.args, query: r.query, graph: graph, sub: r.sub, sink: m.context.sink(m.h, r.args.Sink), landing: r.landing, errs: r.errs,
		hold: hold, tell: m.tell, node: m.node,
	})
}

// supersede clears away what earlier definitions of a flow leave: old, if the node ran that, and those of
// earlier lives.
func (m *Manager) supersede(ctx context.Context, old, by *registration) error {
	if old != nil {
		m.h.Sometimes("flow: a flow was replaced", true)
		old.end()
		if s := m.context.source(old.query.Table.ID); s != nil {
			s.unsubscribe(old.sub)
		}
		m.leave(by.args.ID, old.args.Sink)
	}
	m.leave(by.args.ID, by.args.Earlier...)
	// What they left for the sink that their successor has comes before what that says.
	m.left[by.args.ID] = slices.DeleteFunc(m.left[by.args.ID], func(n catalog.Name) bool { return n == by.args.Sink })
	return m.clear(ctx, by.args.ID)
}

// leave notes sinks into which nothing of a flow may come any more. The caller holds ddl.
func (m *Manager) leave(id catalog.FlowID, sinks ...catalog.Name) {
	for _, sink := range sinks {
		if !slices.Contains(m.left[id], sink) {
			m.left[id] = append(m.left[id], sink)
		}
	}
}

// clear makes sure that nothing of a flow's earlier definitions will be written any more. When it fails it
// has to be tried again. The caller holds ddl.
func (m *Manager) clear(ctx context.Context, id catalog.FlowID) error {
	for len(m.left[id]) > 0 {
		if err := m.silence(ctx, id, m.left[id][0]); err != nil {
			return err
		}
		m.left[id] = m.left[id][1:]
	}
	delete(m.left, id)
	return nil
}

// clearAll is clear of all flows that need it.
func (m *Manager) clearAll(ctx context.Context) error {
	m.ddl.Lock()
	defer m.ddl.Unlock()
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(m.left)) {
		errs = append(errs, m.clear(ctx, id))
	}
	return errors.Join(errs...)
}

// beginAnew lets a flow begin anew as it is defined, unless it was removed or replaced meanwhile.
func (m *Manager) beginAnew(ctx context.Context, r *registration) error {
	m.ddl.Lock()
	defer m.ddl.Unlock()
	if m.context.flow(r.args.ID) != r {
		return nil
	}
	again, err := m.create(ctx, r.args, r)
	if err == nil {
		m.startRefill(again)
	}
	return err
}

// evict stops a flow that can't begin anew as things are, and that the catalog may still have.
func (m *Manager) evict(ctx context.Context, r *registration) {
	m.h.Sometimes("flow: a flow can't begin anew", true)
	_, _ = r.worker.RemoveFlow(context.WithoutCancel(ctx), r.args.ID)
	m.context.remove(r.args.ID)
	m.context.tidy()
	r.end()
}

// RemoveFlow stops a flow. When it returns nil, nothing of it will be written any more, nor of what an
// earlier life of the node had on its way. A flow that is not there needs no stopping.
func (m *Manager) RemoveFlow(ctx context.Context, drop DropFlow) error {
	m.ddl.Lock()
	defer m.ddl.Unlock()
	r := m.context.flow(drop.ID)
	var errs []error
	for _, w := range m.workers {
		if _, err := w.RemoveFlow(context.WithoutCancel(ctx), drop.ID); err != nil {
			errs = append(errs, err)
		}
	}
	m.context.remove(drop.ID)
	m.context.drop(drop.ID, drop.Revision)
	m.leave(drop.ID, drop.Sink)
	m.leave(drop.ID, drop.Earlier...)
	if r != nil {
		r.end()
		m.leave(drop.ID, r.args.Sink) // which the catalog may have replaced without the node
		m.leave(drop.ID, r.args.Earlier...)
	}
	errs = append(errs, m.clear(ctx, drop.ID))
	m.context.tidy()
	err := errors.Join(errs...)
	if err == nil {
		m.tell(FlowRemoved{Node: m.node, Flow: drop.ID})
	}
	return err
}
