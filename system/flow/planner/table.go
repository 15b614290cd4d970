package planner

import (
	"slices"
	"strconv"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/sql"
)

// Table is the definition in a CREATE TABLE. It has no number yet.
func Table(s *sql.CreateTable) (catalog.Table, error) {
	t := catalog.Table{Name: catalog.Qualify(s.Name), TimeIndex: catalog.NoColumn}
	for i := range s.Columns {
		c, err := column(&s.Columns[i])
		if err != nil {
			return t, err
		}
		if t.Find(c.Name) != catalog.NoColumn {
			return t, invalid(&s.Columns[i], "a second column %q", c.Name)
		}
		t.Columns = append(t.Columns, c)
	}
	if len(t.Columns) == 0 {
		return t, invalid(s, "a table needs a column")
	}
	for i := range s.PrimaryKey {
		at, err := existing(&t, &s.PrimaryKey[i])
		if err != nil {
			return t, err
		}
		if !slices.Contains(t.PrimaryKey, at) {
			t.PrimaryKey = append(t.PrimaryKey, at)
		}
	}
	if s.TimeIndex != nil {
		at, err := existing(&t, s.TimeIndex)
		if err != nil {
			return t, err
		}
		if kind := t.Columns[at].Kind; kind != dataflow.KindTimestamp {
			return t, invalid(s.TimeIndex, "the time index %q is of kind %v, not timestamp", s.TimeIndex.Name, kind)
		}
		t.TimeIndex = at
		t.Columns[at].Nullable = false
	}
	return t, tableOptions(&t, s)
}

func existing(t *catalog.Table, name *sql.Ident) (int, error) {
	at := t.Find(name.Name)
	if at == catalog.NoColumn {
		return at, invalid(name, "there is no column %q in the table", name.Name)
	}
	return at, nil
}

func tableOptions(t *catalog.Table, s *sql.CreateTable) error {
	for i := range s.Options {
		o := &s.Options[i]
		if o.Key != "append_mode" {
			return sql.UnsupportedAt(o.Position(), "table option "+strconv.Quote(o.Key))
		}
		switch v := o.Value.(type) {
		case *sql.BoolLit:
			t.AppendMode = v.Value
		case *sql.StringLit:
			on, err := strconv.ParseBool(v.Value)
			if err != nil {
				return invalid(v, "append_mode is true or false, not %q", v.Value)
			}
			t.AppendMode = on
		default:
			return invalid(o.Value, "append_mode is true or false, not %s", o.Value)
		}
	}
	return nil
}

func column(s *sql.ColumnDef) (catalog.Column, error) {
	c := catalog.Column{Name: s.Name, Nullable: s.Null != sql.NotNull}
	var err error
	if c.Kind, err = Kind(s.Type); err != nil || s.Default == nil {
		return c, err
	}
	c.HasDefault = true
	if call, ok := s.Default.(*sql.Call); ok && isNow(call) {
		c.DefaultNow = true
		if c.Kind != dataflow.KindTimestamp {
			return c, invalid(s.Default, "the default now() of column %q, which is of kind %v", c.Name, c.Kind)
		}
		return c, nil
	}
	c.Default, err = Value(s.Default, c, 0)
	return c, err
}

func isNow(c *sql.Call) bool {
	return len(c.Args) == 0 && (c.Name == "now" || c.Name == "current_timestamp")
}

// Value is an expression without columns as a value of a column, at a time in milliseconds.
func Value(e sql.Expr, c catalog.Column, now int64) (dataflow.Datum, error) {
	sc := scope{options: options{now: now}}
	t, err := sc.expr(e)
	if err != nil {
		return dataflow.Null(), err
	}
	if t, err = coerce(e, t, c.Kind); err != nil {
		return dataflow.Null(), err
	}
	if t, err = sc.assign(e, t, c); err != nil {
		return dataflow.Null(), err
	}
	compiled, err := dataflow.Compile(t.Expr, dataflow.Schema{})
	if err != nil {
		return dataflow.Null(), invalid(e, "%v", reason(err))
	}
	d, err := compiled.Eval("")
	if err != nil {
		return dataflow.Null(), invalid(e, "%s: %v", e, err)
	}
	if d.IsNull() && !c.Nullable {
		return d, invalid(e, "NULL in column %q, which is NOT NULL", c.Name)
	}
	return d, nil
}

// assign turns a value into one of the column's kind: ints into floats and, in the column's unit, into
// timestamps, and floats into ints only if nothing is lost.
func (sc *scope) assign(e sql.Expr, t typed, c catalog.Column) (typed, error) {
	from, to := t.ColumnType.Kind, c.Kind
	switch {
	case from == to:
		return t, nil
	case from == dataflow.KindInt64 && (to == dataflow.KindFloat64 || to == dataflow.KindTimestamp):
		return sc.check(e, dataflow.Cast(t.Expr, to))
	}
	return t, invalid(e, "%s is of kind %v, and column %q of kind %v", e, from, c.Name, to)
}

// Condition plans a condition on the rows of a table, at a time in milliseconds. Nil is true.
func Condition(e sql.Expr, table *catalog.Table, now int64) (*dataflow.Compiled, error) {
	schema := table.Schema()
	if e == nil {
		return dataflow.Compile(dataflow.Lit(dataflow.Bool(true)), schema)
	}
	sc := scope{options: options{now: now}, columns: schema.Columns, table: table.Name}
	t, err := sc.predicate(e)
	if err != nil {
		return nil, err
	}
	return dataflow.Compile(t.Expr, schema)
}
