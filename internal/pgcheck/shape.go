package pgcheck

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/simrun-dev/simrun/system/sql"
)

// list writes a node of a shape: its name and what is below it.
func list(name string, below ...string) string {
	return "(" + strings.Join(append([]string{name}, below...), " ") + ")"
}

const none = "-"

// chain writes a conjunction or disjunction. One within the left side is part of it, as it is in
// PostgreSQL's trees.
func chain(op, left, right string) string {
	if prefix := "(" + op + " "; strings.HasPrefix(left, prefix) {
		return strings.TrimSuffix(left, ")") + " " + right + ")"
	}
	return list(op, left, right)
}

func number(text string) string {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return list("int", strconv.FormatInt(i, 10))
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return list("number", text)
	}
	return list("float", strconv.FormatFloat(f, 'g', -1, 64))
}

// Shape writes a query of system/sql as nested lists.
func Shape(q sql.Query) string {
	switch q := q.(type) {
	case *sql.SetOp:
		all := ""
		if q.All {
			all = " ALL"
		}
		return list(q.Op.String()+all, Shape(q.Left), Shape(q.Right), tail(q.Tail))
	case *sql.Select:
		name := "select"
		if q.Distinct {
			name = "select-distinct"
		}
		var items, from, group []string
		for _, i := range q.Items {
			items = append(items, list("item", expr(i.Expr), "as:"+alias(i.Alias)))
		}
		for _, t := range q.From {
			from = append(from, table(t))
		}
		for _, e := range q.GroupBy {
			group = append(group, expr(e))
		}
		return list(name, list("items", items...), list("from", from...), expr(q.Where), list("group", group...), expr(q.Having), tail(q.Tail))
	}
	panic(fmt.Sprintf("query %T", q))
}

func alias(i *sql.Ident) string {
	if i == nil {
		return none
	}
	return i.Name
}

func tail(t sql.Tail) string {
	var order []string
	for _, o := range t.OrderBy {
		direction := "asc"
		if o.Desc {
			direction = "desc"
		}
		order = append(order, list(direction, expr(o.Expr), [...]string{"default", "first", "last"}[o.Nulls]))
	}
	return list("tail", list("order", order...), expr(t.Limit), expr(t.Offset))
}

func table(t sql.TableExpr) string {
	switch t := t.(type) {
	case *sql.Table:
		return list("table", strings.Join(t.Name.Parts, "."), alias(t.Alias))
	case *sql.Derived:
		return list("derived", Shape(t.Query), alias(t.Alias))
	case *sql.Join:
		kind := [...]string{sql.InnerJoin: "inner", sql.LeftJoin: "left", sql.RightJoin: "right", sql.FullJoin: "full", sql.CrossJoin: "inner"}[t.Kind]
		var using []string
		for _, u := range t.Using {
			using = append(using, u.Name)
		}
		return list(kind, table(t.Left), table(t.Right), expr(t.On), list("using", using...))
	}
	panic(fmt.Sprintf("table %T", t))
}

func exprs(es []sql.Expr) []string {
	var out []string
	for _, e := range es {
		out = append(out, expr(e))
	}
	return out
}

// negated writes a node, or one that denies it.
func negated(not bool, shape string) string {
	if not {
		return list("NOT", shape)
	}
	return shape
}

func not(n bool, op string) string {
	if n {
		return "not-" + op
	}
	return op
}

func expr(e sql.Expr) string {
	switch e := e.(type) {
	case nil:
		return none
	case *sql.Column:
		return list("column", append(append([]string{}, e.Table...), e.Name)...)
	case *sql.Star:
		return list("column", append(append([]string{}, e.Table...), "*")...)
	case *sql.IntLit:
		return number(strconv.FormatInt(e.Value, 10))
	case *sql.FloatLit:
		return list("float", strconv.FormatFloat(e.Value, 'g', -1, 64))
	case *sql.StringLit:
		return list("string", strconv.Quote(e.Value))
	case *sql.BoolLit:
		return list("bool", strconv.FormatBool(e.Value))
	case *sql.NullLit:
		return "null"
	case *sql.IntervalLit:
		return list("interval", strconv.Quote(e.Value.String()))
	case *sql.Unary:
		return list(e.Op.String(), expr(e.X))
	case *sql.Binary:
		if e.Op == sql.And || e.Op == sql.Or {
			return chain(e.Op.String(), expr(e.X), expr(e.Y))
		}
		return list(e.Op.String(), expr(e.X), expr(e.Y))
	case *sql.Is:
		return list("is", strconv.FormatBool(e.Not), [...]string{"null", "true", "false", "unknown"}[e.What], expr(e.X))
	case *sql.Like:
		op := "like"
		if e.NoCase {
			op = "ilike"
		}
		pattern := expr(e.Pattern)
		if e.Escape != nil {
			pattern = list("call", "like_escape", pattern, expr(e.Escape))
		}
		return list(not(e.Not, op), expr(e.X), pattern)
	case *sql.Between:
		return list(not(e.Not, "between"), expr(e.X), expr(e.Low), expr(e.High))
	case *sql.In:
		if e.Query != nil {
			return negated(e.Not, list("in-query", expr(e.X), Shape(e.Query)))
		}
		return list(not(e.Not, "in"), append([]string{expr(e.X)}, exprs(e.List)...)...)
	case *sql.Exists:
		return list("exists", Shape(e.Query))
	case *sql.Subquery:
		return list("subquery", Shape(e.Query))
	case *sql.Case:
		parts := []string{expr(e.Operand)}
		for _, w := range e.Whens {
			parts = append(parts, list("when", expr(w.Cond), expr(w.Then)))
		}
		return list("case", append(parts, expr(e.Else))...)
	case *sql.Cast:
		return list("cast", typeNames[e.Type.Kind], expr(e.X))
	case *sql.Call:
		name := "call"
		if e.Distinct {
			name = "call-distinct"
		}
		args := exprs(e.Args)
		if e.Star {
			args = []string{"*"}
		}
		return list(name, append([]string{e.Name}, args...)...)
	}
	panic(fmt.Sprintf("expression %T", e))
}

// typeNames are PostgreSQL's names of types that both sides have.
var typeNames = map[sql.TypeKind]string{
	sql.TypeBool: "bool", sql.TypeInt16: "int2", sql.TypeInt32: "int4", sql.TypeInt64: "int8", sql.TypeFloat32: "float4",
	sql.TypeFloat64: "float8", sql.TypeString: "text", sql.TypeDate: "date", sql.TypeTimestamp: "timestamp",
	sql.TypeInterval: "interval", sql.TypeDecimal: "numeric",
}
