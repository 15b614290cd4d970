package frontend

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/sql"
)

// expireAfter is how many seconds a flow's rows live.
func expireAfter(s *sql.CreateFlow) (seconds int64, err error) {
	switch {
	case s.ExpireAfter == nil:
		return catalog.NoExpiry, nil
	case s.ExpireAfter.Seconds < 0:
		return 0, invalidAt(s.ExpireAfter, "EXPIRE AFTER a negative time")
	case s.ExpireAfter.Seconds > catalog.MaxExpireAfter:
		return 0, invalidAt(s.ExpireAfter, "EXPIRE AFTER %d seconds is too long: at most %d; leave it out if nothing is to expire",
			s.ExpireAfter.Seconds, catalog.MaxExpireAfter)
	}
	return s.ExpireAfter.Seconds, nil
}

// createFlow puts a flow into the catalog and has its node run it.
func (f *Frontend) createFlow(ctx context.Context, s *sql.CreateFlow) (Result, error) {
	name := catalog.Qualify(s.Name)
	if s.OrReplace && s.IfNotExists {
		return Result{}, sql.UnsupportedAt(s.Position(), "OR REPLACE with IF NOT EXISTS")
	}
	if len(f.cfg.Nodes) == 0 {
		return Result{}, fmt.Errorf("%w: there are no flow nodes", ErrUnavailable)
	}
	errExists := &catalog.ExistsError{What: "flow", Name: name}
	_, err := f.catalog.Flow(ctx, name)
	switch {
	case err == nil && s.IfNotExists:
		return Result{Text: "flow exists"}, nil
	case err == nil && !s.OrReplace:
		return Result{}, planner.At(&s.Name, errExists)
	case err != nil && !isMissing(err):
		return Result{}, err
	}
	wanted, err := f.validate(ctx, s)
	if err != nil {
		return Result{}, err
	}
	made, old, err := f.catalog.PutFlow(ctx, name, func(old *catalog.Flow) (*catalog.Flow, error) {
		if old != nil && !s.OrReplace {
			return nil, errExists
		}
		next := *wanted
		if old != nil {
			next.Node = old.Node // which has to stop it
		}
		return &next, nil
	})
	switch {
	case errors.Is(err, errExists) && s.IfNotExists:
		return Result{Text: "flow exists"}, nil
	case errors.Is(err, errExists):
		return Result{}, planner.At(&s.Name, err)
	case err != nil:
		return Result{}, err
	}
	args := flow.ArgsOf(made)
	args.OrReplace = s.OrReplace
	_, err = f.call(ctx, made.Node, flow.FlowRequest{Create: &args})
	switch {
	case flow.IsRefused(err):
		f.h.Sometimes("frontend: a flow was taken back because its node refused it", true)
		if undo := f.catalog.UndoFlow(ctx, made, old); undo != nil {
			return Result{}, fmt.Errorf("%w: the node refuses the flow (%w), and it could not be taken back: %w", ErrUnknown, err, undo)
		}
		return Result{}, placed(&s.Name, err)
	case err != nil:
		return Result{}, fmt.Errorf("%w: flow %s is in the catalog, and does not run yet: %w", ErrUnknown, name, err)
	}
	return Result{Text: "created flow " + name.String()}, nil
}

// validate plans a flow and looks at its sink, so that what is wrong is told with its place.
func (f *Frontend) validate(ctx context.Context, s *sql.CreateFlow) (*catalog.Flow, error) {
	after, err := expireAfter(s)
	if err != nil {
		return nil, err
	}
	query, err := planner.Flow(s.Query, f.resolve(ctx), after)
	if err != nil {
		return nil, err
	}
	sinkName := catalog.Qualify(s.Sink)
	sink, err := f.catalog.Table(ctx, sinkName)
	switch {
	case isMissing(err):
		if _, err := query.SinkTable(sinkName); err != nil {
			return nil, planner.At(s.Query, err)
		}
	case err != nil:
		return nil, err
	case sink.ID == query.Table.ID:
		return nil, invalidAt(&s.Sink, "a flow can't write into %s, which it reads", sinkName)
	default:
		if _, err := query.FitSink(sink); err != nil {
			return nil, planner.At(&s.Sink, err)
		}
	}
	return &catalog.Flow{
		Name: catalog.Qualify(s.Name), Node: f.place(query.Table.ID), Sink: sinkName, Sources: []catalog.TableID{query.Table.ID},
		ExpireAfter: after, Query: s.Query.String(), Comment: s.Comment,
	}, nil
}

// place chooses the node of a flow: that of its table, so that a table's changes go to one node.
func (f *Frontend) place(table catalog.TableID) string {
	return f.cfg.Nodes[int(table)%len(f.cfg.Nodes)]
}

// call asks a node for something.
func (f *Frontend) call(ctx context.Context, node string, r flow.FlowRequest) (flow.FlowResponse, error) {
	to := f.nodes[node]
	if to == nil {
		return flow.FlowResponse{}, fmt.Errorf("%w: the catalog has a flow on node %s, of which this frontend does not know", ErrUnavailable, node)
	}
	ctx, cancel := f.h.Clock().WithTimeout(ctx, f.cfg.FlowTimeout)
	defer cancel()
	return to.Handle(ctx, r)
}

// flow finds a flow that a statement names.
func (f *Frontend) flow(ctx context.Context, name *sql.Name) (*catalog.Flow, error) {
	fl, err := f.catalog.Flow(ctx, catalog.Qualify(*name))
	if isMissing(err) {
		return nil, planner.At(name, err)
	}
	return fl, err
}

// dropFlow takes a flow out of the catalog and has its node stop it.
func (f *Frontend) dropFlow(ctx context.Context, s *sql.DropFlow) (Result, error) {
	name := catalog.Qualify(s.Name)
	dropped, revision, err := f.catalog.DropFlow(ctx, name)
	switch {
	case isMissing(err) && s.IfExists:
		return Result{Text: "no such flow"}, nil
	case isMissing(err):
		return Result{}, planner.At(&s.Name, err)
	case err != nil:
		return Result{}, err
	}
	if _, err := f.call(ctx, dropped.Node, flow.FlowRequest{Drop: &flow.DropFlow{ID: dropped.ID, Revision: revision, Sink: dropped.Sink, Earlier: dropped.Earlier}}); err != nil {
		return Result{}, fmt.Errorf("%w: flow %s is out of the catalog, and may run yet: %w", ErrUnknown, name, err)
	}
	return Result{Text: "dropped flow " + name.String()}, nil
}

func (f *Frontend) flushFlow(ctx context.Context, s *sql.FlushFlow) (Result, error) {
	fl, err := f.flow(ctx, &s.Name)
	if err != nil {
		return Result{}, err
	}
	r, err := f.call(ctx, fl.Node, flow.FlowRequest{Flush: &flow.FlushFlow{ID: fl.ID, Revision: fl.Revision}})
	if err != nil {
		return Result{}, placed(&s.Name, err)
	}
	return Result{Affected: r.Rows, Text: "flushed flow " + fl.Name.String()}, nil
}
