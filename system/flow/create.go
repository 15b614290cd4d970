package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	if r, ok := m.context.dropRevision(args.ID); ok && r >= args.Revision {
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
	args.Sources = []catalog.TableID{query.Table.ID}
	src, err := m.openSource(ctx, query.Table)
	if err != nil {
		return nil, err
	}
	if !exists {
		// The last step that can fail.
		if _, err := m.createTableFromRelation(ctx, args.Sink, query); err != nil {
			m.context.release()
			return nil, err
		}
	}
	r := &registration{args: args, query: query, sub: src.subscribe(args.ID), errs: newErrCollector(m.h, m.cfg.MaxErrors)}
	if err := m.place(ctx, r, old); err != nil {
		src.unsubscribe(r.sub)
		m.context.release()
		return nil, err
	}
	if old != nil {
		err = m.supersede(ctx, old, r)
	}
	r.life, r.end = host.WithCancel(m.h, context.Background())
	m.context.register(r)
	m.context.release() // it may read another table than before
	m.tell(FlowCreated{Node: m.node, Flow: args.ID, Revision: args.Revision, Worker: r.worker.number})
	if err != nil {
		m.startRefill(r)
	}
	return r, err
}

// plan turns the text of a flow into a plan over its sources, which are all it may read.
func (m *Manager) plan(ctx context.Context, args *CreateFlowArgs) (*planner.Query, error) {
	if args.ExpireAfter < catalog.NoExpiry || args.ExpireAfter > maxExpireAfter {
		return nil, fmt.Errorf("%w: EXPIRE AFTER %d s", ErrInvalidQuery, args.ExpireAfter)
	}
	var sources []*catalog.Table
	for _, id := range args.Sources {
		t, err := m.meta.TableByID(ctx, id)
		if err != nil {
			return nil, planned(err)
		}
		sources = append(sources, t)
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
		i := slices.IndexFunc(sources, func(t *catalog.Table) bool { return t.Name == name })
		if i < 0 {
			return nil, &catalog.NotFoundError{What: "table", Name: name}
		}
		return sources[i], nil
	}, args.ExpireAfter)
	return query, planned(err)
}

// maxExpireAfter is how many seconds are not too many milliseconds to be told apart from now.
const maxExpireAfter = 1 << 50

// fits tells whether the sink exists; if it does and is not fit for the query, that is an error.
func (m *Manager) fits(ctx context.Context, name catalog.Name, query *planner.Query) (exists bool, err error) {
	table, err := m.tryFetchExistingTable(ctx, name)
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
func (m *Manager) place(ctx context.Context, r, old *registration) (err error) {
	if old != nil {
		r.worker = old.worker
	} else if r.worker, err = m.getWorkerHandleForCreateFlow(); err != nil {
		return err
	}
	// Whether the worker has done it must not be left open.
	return r.worker.createFlow(context.WithoutCancel(ctx), createRequest{
		args: r.args, query: r.query, sub: r.sub, sink: m.context.sink(m.h, r.args.Sink), errs: r.errs, tell: m.tell, node: m.node,
	})
}

// supersede clears away what a flow leaves that was replaced.
func (m *Manager) supersede(ctx context.Context, old, by *registration) error {
	m.h.Sometimes("flow: a flow was replaced", true)
	old.end()
	if s := m.context.source(old.query.Table.ID); s != nil {
		s.unsubscribe(old.sub)
	}
	if old.args.Sink == by.args.Sink {
		// What it left comes before what its successor says.
		return nil
	}
	return m.silence(ctx, old.args.ID, old.args.Sink)
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
	if r != nil {
		r.end()
	}
	errs = append(errs, m.silence(ctx, drop.ID, drop.Sink))
	err := errors.Join(errs...)
	if err == nil {
		m.tell(FlowRemoved{Node: m.node, Flow: drop.ID})
	}
	return err
}
