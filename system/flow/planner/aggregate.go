package planner

import (
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/sql"
)

var aggregates = map[string]dataflow.AggregateFunc{
	"count": dataflow.AggCount, "sum": dataflow.AggSum, "min": dataflow.AggMin, "max": dataflow.AggMax,
	"avg": dataflow.AggAvg, "bool_and": dataflow.AggAll, "bool_or": dataflow.AggAny, "every": dataflow.AggAll,
}

func isAggregate(e sql.Expr) (*sql.Call, bool) {
	c, ok := e.(*sql.Call)
	return c, ok && aggregates[c.Name] != ""
}

func hasAggregate(e sql.Expr) bool {
	found := false
	sql.Inspect(e, func(n sql.Node) bool {
		if c, ok := n.(*sql.Call); ok && aggregates[c.Name] != "" {
			found = true
		}
		_, nested := n.(sql.Query)
		return !nested
	})
	return found
}

// groupKey is an expression that rows are grouped by.
type groupKey struct {
	typed // over the columns of the table
	at    sql.Node
	name  string
	call  *sql.Call // the tumble that it is the start or end of
}

// grouping is what comes between the rows of the table and the rows of the result: a row for each
// group, of its keys and its aggregates.
type grouping struct {
	base       *scope
	keys       []groupKey
	aggregates []dataflow.Aggregate
	types      []dataflow.ColumnType // of the aggregates
}

// scope is that of expressions over groups. An aggregate that occurs in one is added.
func (g *grouping) scope() *scope {
	sc := &scope{options: g.base.options, table: g.base.table, alias: g.base.alias, columns: g.columns()}
	sc.intercept = func(e sql.Expr) (typed, bool, error) {
		if call, ok := isAggregate(e); ok {
			t, err := g.aggregate(call)
			sc.columns = g.columns()
			return t, true, err
		}
		return g.key(e)
	}
	return sc
}

func (g *grouping) columns() []dataflow.Column {
	var columns []dataflow.Column
	for _, k := range g.keys {
		columns = append(columns, dataflow.Column{Name: k.name, Type: k.ColumnType})
	}
	for i, a := range g.aggregates {
		columns = append(columns, dataflow.Column{Name: a.String(), Type: g.types[i]})
	}
	return columns
}

// key finds the key that an expression is; done is false if it is none and its parts may be.
func (g *grouping) key(e sql.Expr) (t typed, done bool, err error) {
	if hasAggregate(e) {
		return t, false, nil
	}
	column, plain := e.(*sql.Column)
	base, baseErr := g.base.expr(e)
	if baseErr == nil {
		for i, k := range g.keys {
			if k.Equal(base.Expr) {
				return typed{dataflow.Col(i), k.ColumnType}, true, nil
			}
		}
	}
	if !plain {
		return t, false, nil
	}
	if i := g.tumbled(column); i >= 0 {
		return typed{dataflow.Col(i), g.keys[i].ColumnType}, true, nil
	}
	if baseErr != nil {
		return t, true, baseErr
	}
	return t, true, invalid(e, "column %q is neither grouped by nor in an aggregate: add it to GROUP BY", column.Name)
}

// tumbled finds the key of a tumble that a column names.
func (g *grouping) tumbled(c *sql.Column) int {
	return slices.IndexFunc(g.keys, func(k groupKey) bool { return k.call != nil && len(c.Table) == 0 && k.name == c.Name })
}

// aggregate adds an aggregate, unless it is there, and returns its column.
func (g *grouping) aggregate(call *sql.Call) (typed, error) {
	a := dataflow.Aggregate{Func: aggregates[call.Name], Distinct: call.Distinct}
	switch {
	case call.Star && call.Name == "count" && !call.Distinct:
		a = dataflow.CountAll()
	case call.Star || len(call.Args) != 1:
		return typed{}, invalid(call, "%s takes one argument, not %d", call.Name, len(call.Args))
	default:
		for _, arg := range call.Args {
			if hasAggregate(arg) {
				return typed{}, invalid(arg, "an aggregate can't stand in another")
			}
		}
		arg, err := g.base.value(call.Args[0])
		if err != nil {
			return typed{}, err
		}
		a.Arg = arg.Expr
	}
	if i := slices.IndexFunc(g.aggregates, func(b dataflow.Aggregate) bool {
		return a.Func == b.Func && a.Distinct == b.Distinct && a.Arg.Equal(b.Arg)
	}); i >= 0 {
		return typed{dataflow.Col(len(g.keys) + i), g.types[i]}, nil
	}
	probe := dataflow.Constant(g.base.columns).Reduce(nil, a)
	s, err := probe.Schema(nil)
	if err != nil {
		return typed{}, invalid(call, "%s: %v", sql.Construct(call), reason(err))
	}
	g.aggregates = append(g.aggregates, a)
	g.types = append(g.types, s.Columns[0].Type)
	return typed{dataflow.Col(len(g.keys) + len(g.aggregates) - 1), s.Columns[0].Type}, nil
}

// defaults are what the aggregates say of no rows.
func (g *grouping) defaults() []dataflow.Expr {
	list := make([]dataflow.Expr, len(g.aggregates))
	for i, a := range g.aggregates {
		list[i] = dataflow.NullOf(g.types[i].Kind)
		if a.Func == dataflow.AggCount || a.Func == dataflow.AggCountAll {
			list[i] = dataflow.Lit(dataflow.Int(0))
		}
	}
	return list
}
