package frontend

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/sql"
)

// query evaluates a SELECT over the newest contents of its table.
func (f *Frontend) query(ctx context.Context, q sql.Query) (Result, error) {
	p, err := planner.Select(q, f.resolve(ctx), f.now())
	if err != nil {
		return Result{}, err
	}
	var rows []dataflow.RowCount
	if p.Table != nil {
		t := f.open(p.Table)
		if _, err := t.relation.View(ctx, func() { rows = t.rows.sorted() }); err != nil {
			return Result{}, err
		}
	}
	out, err := evaluatePlan(p, rows)
	if err != nil {
		return Result{}, err
	}
	r := Result{Columns: make([]string, len(p.Columns))}
	for i, c := range p.Columns {
		r.Columns[i] = c.Name
	}
	if len(out.Errors) > 0 {
		return r, invalidAt(q, "%v", out.Errors[0].Err)
	}
	for _, u := range out.Updates {
		for range u.Diff {
			r.Rows = append(r.Rows, u.Row)
		}
	}
	dataflow.SortRows(r.Rows, p.Order)
	if s, ok := q.(*sql.Select); ok {
		r.Rows, err = limited(r.Rows, s)
	}
	return r, err
}

// evaluatePlan is the result of a plan over rows of its table.
func evaluatePlan(p *planner.Query, rows []dataflow.RowCount) (dataflow.Output, error) {
	graph, err := dataflow.New(p.Plan, dataflow.Config{Sources: p.Catalog()})
	if err != nil {
		return dataflow.Output{}, err
	}
	if p.Table != nil {
		updates := make([]dataflow.Update, len(rows))
		for i, r := range rows {
			updates[i] = dataflow.Update{Row: r.Row, Diff: r.Count}
		}
		source := planner.Source(p.Table.ID)
		if err := graph.Push(source, updates); err != nil {
			return dataflow.Output{}, err
		}
		if err := graph.Advance(source, persist.At(1)); err != nil {
			return dataflow.Output{}, err
		}
	}
	return graph.Run(), nil
}

// limited cuts what LIMIT and OFFSET leave.
func limited(rows []dataflow.Row, s *sql.Select) ([]dataflow.Row, error) {
	number := catalog.Column{Name: "LIMIT", Kind: dataflow.KindInt64}
	for _, cut := range []struct {
		expr sql.Expr
		keep func(n int)
	}{
		{s.Offset, func(n int) { rows = rows[n:] }},
		{s.Limit, func(n int) { rows = rows[:n] }},
	} {
		if cut.expr == nil {
			continue
		}
		d, err := planner.Value(cut.expr, number, 0)
		if err != nil {
			return nil, err
		}
		if d.Int() < 0 {
			return nil, invalidAt(cut.expr, "%d rows: it can't be less than none", d.Int())
		}
		cut.keep(int(min(d.Int(), int64(len(rows)))))
	}
	return rows, nil
}

// explain tells the plan of a query or a flow.
func (f *Frontend) explain(ctx context.Context, s *sql.Explain) (Result, error) {
	switch inner := s.Statement.(type) {
	case *sql.CreateFlow:
		after, err := expireAfter(inner)
		if err != nil {
			return Result{}, err
		}
		p, err := planner.Flow(inner.Query, f.resolve(ctx), after)
		if err != nil {
			return Result{}, err
		}
		return Result{Text: p.Plan.String() + describe(p)}, nil
	case sql.Query:
		p, err := planner.Select(inner, f.resolve(ctx), f.now())
		if err != nil {
			return Result{}, err
		}
		return Result{Text: p.Plan.String()}, nil
	}
	return Result{}, sql.UnsupportedAt(s.Position(), "EXPLAIN of "+sql.Construct(s.Statement))
}

// describe tells what a flow's plan says of the sink.
func describe(p *planner.Query) string {
	key := make([]string, len(p.Key))
	for i, c := range p.Key {
		key[i] = p.Columns[c].Name
	}
	text := "key (" + strings.Join(key, ", ") + ")"
	if p.TimeIndex != catalog.NoColumn {
		text += " time index " + strconv.Quote(p.Columns[p.TimeIndex].Name)
	}
	if p.Window != nil {
		text += fmt.Sprintf(" expires %v after %v", dataflow.Interval(p.Window.After), p.Window.Time)
	}
	return text + "\n"
}
