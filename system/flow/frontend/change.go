package frontend

import (
	"context"
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/sql"
)

// inserting is an INSERT with its values known.
type inserting struct {
	columns []int              // of the table, in the statement's order; those filled with now() at the end
	given   [][]dataflow.Datum // the rows, of these columns
	full    []dataflow.Row     // the rows, of all columns
}

func (f *Frontend) insert(ctx context.Context, s *sql.Insert) (Result, error) {
	t, err := f.named(ctx, &s.Table)
	if err != nil {
		return Result{}, err
	}
	in, err := evaluate(t.Table, s, f.now())
	if err != nil {
		return Result{}, err
	}
	var made []relation.Change
	seq, err := t.relation.Update(ctx, func(uint64) ([]relation.Change, error) {
		e := t.rows.edit()
		for _, row := range in.full {
			e.put(row)
		}
		made = e.changes()
		return made, nil
	})
	if err != nil {
		return Result{}, err
	}
	if seq > 0 {
		f.mirror(t, in.request(t, batch(seq, made)))
	}
	return Result{Affected: len(in.full), Text: "inserted " + counted(len(in.full))}, nil
}

// evaluate finds the values of an INSERT.
func evaluate(t *catalog.Table, s *sql.Insert, now int64) (*inserting, error) {
	in := &inserting{}
	if s.Columns == nil {
		for i := range t.Columns {
			in.columns = append(in.columns, i)
		}
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		at := t.Find(c.Name)
		switch {
		case at == catalog.NoColumn:
			return nil, invalidAt(c, "table %s has no column %q", t.Name, c.Name)
		case slices.Contains(in.columns, at):
			return nil, invalidAt(c, "column %q is named twice", c.Name)
		}
		in.columns = append(in.columns, at)
	}
	named := len(in.columns)
	for i, c := range t.Columns {
		_, ok := c.Missing()
		switch {
		case slices.Contains(in.columns, i):
		case c.DefaultNow: // once for all nodes
			in.columns = append(in.columns, i)
		case !ok:
			return nil, invalidAt(s, "column %q is left out: it is NOT NULL and has no default", c.Name)
		}
	}
	for _, exprs := range s.Rows {
		if len(exprs) != named {
			return nil, invalidAt(exprs[0], "a row of %d values for %d columns", len(exprs), named)
		}
		row := make([]dataflow.Datum, len(in.columns))
		for i, at := range in.columns {
			var err error
			if row[i], err = valueOf(exprs, i, t.Columns[at], now); err != nil {
				return nil, err
			}
		}
		in.add(t, row)
	}
	return in, nil
}

// valueOf is a value of a row: that of the expression at i, or the column's default.
func valueOf(exprs []sql.Expr, i int, c catalog.Column, now int64) (dataflow.Datum, error) {
	left := i >= len(exprs)
	if !left {
		if _, left = exprs[i].(*sql.DefaultLit); !left {
			return planner.Value(exprs[i], c, now)
		}
	}
	if c.DefaultNow {
		return dataflow.Timestamp(now), nil
	}
	d, ok := c.Missing()
	if !ok {
		return d, invalidAt(exprs[i], "column %q has no default, and is NOT NULL", c.Name)
	}
	return d, nil
}

// add adds a row.
func (in *inserting) add(t *catalog.Table, row []dataflow.Datum) {
	full := make([]dataflow.Datum, len(t.Columns))
	for i, c := range t.Columns {
		if at := slices.Index(in.columns, i); at >= 0 {
			full[i] = row[at]
		} else {
			full[i], _ = c.Missing()
		}
	}
	in.given = append(in.given, row)
	in.full = append(in.full, dataflow.Pack(full...))
}

// request is the INSERT as it is mirrored: the columns as the statement has them, unless rows of it
// replaced each other, or others.
func (in *inserting) request(t *table, b flow.Batch) flow.InsertRequest {
	r := insertRequest(t, b)
	if len(r.Retracted) > 0 || len(r.Rows) != len(in.full) {
		return r
	}
	r.Columns, r.Rows = nil, packed(in.given)
	for _, at := range in.columns {
		r.Columns = append(r.Columns, t.Columns[at].Name)
	}
	return r
}

func (f *Frontend) delete(ctx context.Context, s *sql.Delete) (Result, error) {
	t, err := f.named(ctx, &s.Table)
	if err != nil {
		return Result{}, err
	}
	condition, err := planner.Condition(s.Where, t.Table, f.now())
	if err != nil {
		return Result{}, err
	}
	var made []relation.Change
	n := 0
	seq, err := t.relation.Update(ctx, func(uint64) ([]relation.Change, error) {
		n = 0
		e := t.rows.edit()
		for _, c := range t.rows.sorted() {
			d, err := condition.Eval(c.Row)
			if err != nil {
				return nil, invalidAt(s.Where, "%s: %v", s.Where, err)
			}
			if d.Bool() {
				e.change(string(c.Row), -c.Count)
				n += int(c.Count)
			}
		}
		made = e.changes()
		return made, nil
	})
	if err != nil {
		return Result{}, err
	}
	if seq > 0 {
		f.mirror(t, insertRequest(t, batch(seq, made)))
	}
	return Result{Affected: n, Text: "deleted " + counted(n)}, nil
}
