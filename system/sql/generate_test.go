package sql_test

import (
	"math"

	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/sql"
)

// generator draws syntax trees, of those that the parser can return.
type generator struct{ t *rapid.T }

var names = rapid.OneOf(
	rapid.SampledFrom([]string{"a", "ts", "n1", "_x", "Number", "select", "time", "values", "interval", "exists", "row", "day", "é", "over", "current_date"}),
	rapid.StringN(1, 5, -1),
)

func (g generator) chance(percent int) bool {
	return rapid.IntRange(0, 99).Draw(g.t, "chance") < percent
}

func (g generator) pick(n int) int { return rapid.IntRange(0, n-1).Draw(g.t, "pick") }

func (g generator) word() string { return names.Draw(g.t, "name") }

func (g generator) ident() sql.Ident { return sql.Ident{Name: g.word()} }

func (g generator) alias() *sql.Ident {
	if g.chance(50) {
		return nil
	}
	i := g.ident()
	return &i
}

func (g generator) name() sql.Name { return sql.Name{Parts: list(g, 1, 3, g.word)} }

// list draws from least to most elements. No elements are nil.
func list[T any](g generator, least, most int, draw func() T) []T {
	n := least + g.pick(most-least+1)
	if n == 0 {
		return nil
	}
	s := make([]T, n)
	for i := range s {
		s[i] = draw()
	}
	return s
}

func (g generator) maybe(depth int) sql.Expr {
	if g.chance(60) {
		return nil
	}
	return g.expr(depth)
}

func (g generator) statement() sql.Statement {
	switch g.pick(11) {
	case 0:
		return &sql.DropTable{IfExists: g.chance(50), Name: g.name()}
	case 1:
		return &sql.DropFlow{IfExists: g.chance(50), Name: g.name()}
	case 2:
		return &sql.FlushFlow{Name: g.name()}
	case 3:
		return &sql.Show{What: sql.Shown(g.pick(2))}
	case 4:
		return &sql.Delete{Table: g.name(), Where: g.maybe(3)}
	case 5:
		return g.insert()
	case 6:
		return g.createTable()
	case 7, 8:
		return g.createFlow()
	case 9:
		return &sql.Explain{Statement: g.query(3)}
	default:
		return g.query(3)
	}
}

func (g generator) insert() sql.Statement {
	return &sql.Insert{
		Table:   g.name(),
		Columns: list(g, 0, 3, g.ident),
		Rows: list(g, 1, 3, func() []sql.Expr {
			return list(g, 1, 4, func() sql.Expr {
				if g.chance(10) {
					return &sql.DefaultLit{}
				}
				return g.expr(2)
			})
		}),
	}
}

func (g generator) createTable() sql.Statement {
	s := &sql.CreateTable{
		IfNotExists: g.chance(50),
		Name:        g.name(),
		Columns: list(g, 1, 4, func() sql.ColumnDef {
			return sql.ColumnDef{
				Name: g.word(), Type: g.dataType(), Null: sql.Nullability(g.pick(3)), Default: g.maybe(2),
				Comment: rapid.String().Draw(g.t, "comment"),
			}
		}),
		TimeIndex:  g.alias(),
		PrimaryKey: list(g, 0, 3, g.ident),
		Options: list(g, 0, 3, func() sql.Option {
			return sql.Option{Key: rapid.String().Draw(g.t, "key"), Value: g.literal(4)}
		}),
	}
	if g.chance(30) {
		s.Engine = g.word()
	}
	return s
}

func (g generator) createFlow() sql.Statement {
	s := &sql.CreateFlow{
		OrReplace: g.chance(30), IfNotExists: g.chance(30), Name: g.name(), Sink: g.name(),
		Comment: rapid.String().Draw(g.t, "comment"), Query: g.query(3),
	}
	if g.chance(50) {
		s.ExpireAfter = &sql.ExpireAfter{Seconds: rapid.Int64().Draw(g.t, "seconds")}
	}
	return s
}

func (g generator) dataType() sql.DataType {
	t := sql.DataType{Kind: sql.TypeKind(g.pick(int(sql.TypeInterval) + 1))}
	switch t.Kind {
	case sql.TypeTimestamp:
		t.Precision = 3 * g.pick(4)
	case sql.TypeDecimal:
		t.Precision = 1 + g.pick(38)
		t.Scale = g.pick(t.Precision + 1)
	}
	return t
}

func (g generator) query(depth int) sql.Query {
	tail := sql.Tail{OrderBy: list(g, 0, 2, func() sql.OrderItem {
		return sql.OrderItem{Expr: g.expr(depth - 1), Desc: g.chance(50), Nulls: sql.NullsOrder(g.pick(3))}
	})}
	if g.chance(60) {
		tail.OrderBy = nil
	}
	if g.chance(20) {
		tail.Limit, tail.Offset = g.maybe(1), g.maybe(1)
	}
	if depth > 0 && g.chance(25) {
		return &sql.SetOp{Op: sql.SetOperator(g.pick(3)), All: g.chance(50), Left: g.query(depth - 1), Right: g.query(depth - 1), Tail: tail}
	}
	return &sql.Select{
		Distinct: g.chance(20),
		Items: list(g, 1, 3, func() sql.SelectItem {
			if g.chance(10) {
				return sql.SelectItem{Expr: &sql.Star{Table: list(g, 0, 3, g.word)}}
			}
			return sql.SelectItem{Expr: g.expr(depth - 1), Alias: g.alias()}
		}),
		From:    list(g, 0, 2, func() sql.TableExpr { return g.table(depth - 1) }),
		Where:   g.maybe(depth),
		GroupBy: list(g, 0, 2, func() sql.Expr { return g.expr(depth - 1) }),
		Having:  g.maybe(depth - 1),
		Tail:    tail,
	}
}

func (g generator) table(depth int) sql.TableExpr {
	switch {
	case depth > 0 && g.chance(30):
		j := &sql.Join{Kind: sql.JoinKind(g.pick(5)), Left: g.table(depth - 1), Right: g.table(depth - 1)}
		switch {
		case j.Kind == sql.CrossJoin:
		case g.chance(50):
			j.On = g.expr(depth - 1)
		default:
			j.Using = list(g, 1, 2, g.ident)
		}
		return j
	case depth > 0 && g.chance(20):
		return &sql.Derived{Query: g.query(depth - 1), Alias: g.alias()}
	default:
		return &sql.Table{Name: g.name(), Alias: g.alias()}
	}
}

// literal draws one of the first n kinds of literals.
func (g generator) literal(n int) sql.Expr {
	switch g.pick(n) {
	case 0:
		return &sql.IntLit{Value: rapid.Int64().Draw(g.t, "int")}
	case 1:
		return &sql.FloatLit{Value: rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(g.t, "float")}
	case 2:
		return &sql.StringLit{Value: rapid.String().Draw(g.t, "string")}
	case 3:
		return &sql.BoolLit{Value: g.chance(50)}
	case 4:
		return &sql.NullLit{}
	default:
		return &sql.IntervalLit{Value: sql.Interval{
			Months:      rapid.Int32Range(-math.MaxInt32, math.MaxInt32).Draw(g.t, "months"),
			Days:        rapid.Int32Range(-math.MaxInt32, math.MaxInt32).Draw(g.t, "days"),
			Nanoseconds: rapid.Int64Range(-math.MaxInt64, math.MaxInt64).Draw(g.t, "nanoseconds"),
		}}
	}
}

func (g generator) expr(depth int) sql.Expr {
	if depth <= 0 || g.chance(20) {
		if g.chance(50) {
			return g.literal(6)
		}
		return &sql.Column{Table: list(g, 0, 3, g.word), Name: g.word()}
	}
	x := func() sql.Expr { return g.expr(depth - 1) }
	switch g.pick(13) {
	case 0, 1, 2:
		return &sql.Binary{Op: sql.BinaryOp(g.pick(int(sql.Pow) + 1)), X: x(), Y: x()}
	case 3:
		return g.unary(x())
	case 4:
		return &sql.Is{X: x(), Not: g.chance(50), What: sql.Truth(g.pick(4))}
	case 5:
		l := &sql.Like{X: x(), Pattern: x(), Not: g.chance(50), NoCase: g.chance(50)}
		if g.chance(30) {
			l.Escape = x()
		}
		return l
	case 6:
		return &sql.Between{X: x(), Low: x(), High: x(), Not: g.chance(50)}
	case 7:
		return g.in(depth - 1)
	case 8:
		return &sql.Exists{Query: g.query(depth - 1)}
	case 9:
		return &sql.Subquery{Query: g.query(depth - 1)}
	case 10:
		return &sql.Case{
			Operand: g.maybe(depth - 1), Else: g.maybe(depth - 1),
			Whens: list(g, 1, 2, func() sql.When { return sql.When{Cond: x(), Then: x()} }),
		}
	case 11:
		return &sql.Cast{X: x(), Type: g.dataType()}
	default:
		c := &sql.Call{Name: g.word(), Args: list(g, 0, 3, x)}
		if c.Args == nil {
			c.Star = g.chance(50)
		} else {
			c.Distinct = g.chance(20)
		}
		return c
	}
}

// unary draws an operator before x. The parser makes the minus before a number a part of it.
func (g generator) unary(x sql.Expr) sql.Expr {
	op := sql.UnaryOp(g.pick(3))
	switch n := x.(type) {
	case *sql.IntLit:
		if op == sql.Neg && n.Value != math.MinInt64 {
			op = sql.Plus
		}
	case *sql.FloatLit:
		if op == sql.Neg {
			op = sql.Plus
		}
	}
	return &sql.Unary{Op: op, X: x}
}

// in draws an IN. The parser makes a list of one subquery a query.
func (g generator) in(depth int) sql.Expr {
	e := &sql.In{X: g.expr(depth), Not: g.chance(50)}
	if g.chance(30) {
		e.Query = g.query(depth)
		return e
	}
	e.List = list(g, 1, 3, func() sql.Expr { return g.expr(depth) })
	if q, ok := e.List[0].(*sql.Subquery); ok && len(e.List) == 1 {
		e.Query, e.List = q.Query, nil
	}
	return e
}
