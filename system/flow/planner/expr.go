package planner

import (
	"errors"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/sql"
)

// typed is an expression with its type. A bare NULL has [dataflow.KindNull] until what stands beside it
// gives it one.
type typed struct {
	dataflow.Expr
	dataflow.ColumnType
}

func (t typed) isNull() bool { return t.ColumnType.Kind == dataflow.KindNull }

// isString tells whether the expression is a string literal, which other kinds can be written as.
func (t typed) isString() bool {
	return t.Func == dataflow.FuncLiteral && t.ColumnType.Kind == dataflow.KindString && !t.Literal.IsNull()
}

// check finds the type of an expression that stands for a node.
func (sc *scope) check(n sql.Node, e dataflow.Expr) (typed, error) {
	c, err := dataflow.Compile(e, dataflow.Schema{Columns: sc.columns})
	if err != nil {
		var wrong *dataflow.TypeError
		if errors.As(err, &wrong) {
			return typed{}, invalid(n, "%s: %s", sql.Construct(n), wrong.Reason)
		}
		return typed{}, invalid(n, "%v", err)
	}
	return typed{e, c.Type()}, nil
}

func literal(d dataflow.Datum) (typed, error) {
	return typed{dataflow.Lit(d), dataflow.Type(d.Kind())}, nil
}

// value is expr whose NULLs have a kind, that of a string if nothing says better.
func (sc *scope) value(e sql.Expr) (typed, error) {
	t, err := sc.expr(e)
	if err == nil && t.isNull() {
		return coerce(e, t, dataflow.KindString)
	}
	return t, err
}

// expr plans an expression.
func (sc *scope) expr(e sql.Expr) (typed, error) {
	if sc.intercept != nil {
		if t, done, err := sc.intercept(e); done || err != nil {
			return t, err
		}
	}
	switch e := e.(type) {
	case *sql.Column:
		i, err := sc.column(e)
		if err != nil {
			return typed{}, err
		}
		return typed{dataflow.Col(i), sc.columns[i].Type}, nil
	case *sql.IntLit:
		return literal(dataflow.Int(e.Value))
	case *sql.FloatLit:
		return literal(dataflow.Float(e.Value))
	case *sql.StringLit:
		return literal(dataflow.String(e.Value))
	case *sql.BoolLit:
		return literal(dataflow.Bool(e.Value))
	case *sql.NullLit:
		return typed{dataflow.NullOf(dataflow.KindNull), dataflow.ColumnType{Nullable: true}}, nil
	case *sql.IntervalLit:
		ms, err := milliseconds(e.Value)
		if err != nil {
			return typed{}, sql.UnsupportedAt(e.Position(), "INTERVAL of "+err.Error())
		}
		return literal(dataflow.Interval(ms))
	case *sql.Unary:
		return sc.unary(e)
	case *sql.Binary:
		return sc.binary(e)
	case *sql.Is:
		return sc.is(e)
	case *sql.Like:
		return sc.like(e)
	case *sql.Between:
		return sc.between(e)
	case *sql.In:
		return sc.in(e)
	case *sql.Case:
		return sc.caseOf(e)
	case *sql.Cast:
		return sc.cast(e)
	case *sql.Call:
		return sc.call(e)
	}
	return typed{}, sql.Unsupported(e)
}

// milliseconds is an interval that has a fixed length.
func milliseconds(v sql.Interval) (int64, error) {
	const perDay, perMilli = 86_400_000, 1_000_000
	switch {
	case v.Months != 0:
		return 0, errors.New("months, which have no fixed length,")
	case v.Nanoseconds%perMilli != 0:
		return 0, errors.New("less than a millisecond")
	default:
		return int64(v.Days)*perDay + v.Nanoseconds/perMilli, nil
	}
}

// coerce gives a NULL its kind, and reads a string literal as what it stands for. All else stays.
func coerce(n sql.Node, t typed, kind dataflow.Kind) (typed, error) {
	switch {
	case t.isNull():
		return typed{dataflow.NullOf(kind), dataflow.Type(kind).OrNull()}, nil
	case t.isString() && (kind == dataflow.KindTimestamp || kind == dataflow.KindInterval):
		d, err := parse(t.Literal.Text(), kind)
		if err != nil {
			return typed{}, invalid(n, "%v is not of kind %v: %v", t.Literal, kind, err)
		}
		return literal(d)
	}
	return t, nil
}

func parse(text string, kind dataflow.Kind) (dataflow.Datum, error) {
	if kind == dataflow.KindTimestamp {
		ms, err := dataflow.ParseTimestamp(text)
		return dataflow.Timestamp(ms), err
	}
	v, err := sql.ParseInterval(text)
	if err != nil {
		return dataflow.Null(), err
	}
	ms, err := milliseconds(v)
	return dataflow.Interval(ms), err
}

// exprs plans expressions that are to be of one kind, so that NULLs and string literals among them
// take that of the others.
func (sc *scope) exprs(list ...sql.Expr) ([]typed, error) {
	all := make([]typed, len(list))
	kind := dataflow.KindNull
	for i, e := range list {
		t, err := sc.expr(e)
		if err != nil {
			return nil, err
		}
		all[i] = t
		if !t.isNull() && (kind == dataflow.KindNull || kind == dataflow.KindString) {
			kind = t.ColumnType.Kind
		}
	}
	if kind == dataflow.KindNull {
		kind = dataflow.KindString
	}
	for i := range all {
		var err error
		if all[i], err = coerce(list[i], all[i], kind); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func args(list []typed) []dataflow.Expr {
	exprs := make([]dataflow.Expr, len(list))
	for i, t := range list {
		exprs[i] = t.Expr
	}
	return exprs
}

// apply applies a function to expressions of one kind.
func (sc *scope) apply(n sql.Node, f dataflow.Func, list ...sql.Expr) (typed, error) {
	all, err := sc.exprs(list...)
	if err != nil {
		return typed{}, err
	}
	return sc.check(n, dataflow.Call(f, args(all)...))
}
