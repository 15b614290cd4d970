package planner

import (
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/sql"
)

func (sc *scope) unary(e *sql.Unary) (typed, error) {
	switch e.Op {
	case sql.Not:
		return sc.logic(e, dataflow.FuncNot, e.X)
	case sql.Neg, sql.Plus:
		return sc.sign(e)
	}
	return typed{}, sql.Unsupported(e)
}

// sign plans a sign, before which a NULL is an integer. A plus changes nothing, of what has a sign.
func (sc *scope) sign(e *sql.Unary) (typed, error) {
	x, err := sc.expr(e.X)
	if err != nil {
		return typed{}, err
	}
	if x.isNull() {
		return coerce(e.X, x, dataflow.KindInt64)
	}
	negated, err := sc.check(e, dataflow.Call(dataflow.FuncNeg, x.Expr))
	if err != nil || e.Op == sql.Neg {
		return negated, err
	}
	return x, nil
}

// binaryFuncs are the functions behind operators.
var binaryFuncs = map[sql.BinaryOp]dataflow.Func{
	sql.Or: dataflow.FuncOr, sql.And: dataflow.FuncAnd,
	sql.Eq: dataflow.FuncEq, sql.NotEq: dataflow.FuncNe,
	sql.Less: dataflow.FuncLt, sql.LessEq: dataflow.FuncLe, sql.Greater: dataflow.FuncGt, sql.GreaterEq: dataflow.FuncGe,
	sql.Add: dataflow.FuncAdd, sql.Sub: dataflow.FuncSub, sql.Mul: dataflow.FuncMul, sql.Div: dataflow.FuncDiv, sql.Mod: dataflow.FuncMod,
	sql.Concat: dataflow.FuncConcat,
}

func (sc *scope) binary(e *sql.Binary) (typed, error) {
	switch e.Op {
	case sql.Or, sql.And:
		return sc.logic(e, binaryFuncs[e.Op], e.X, e.Y)
	case sql.IsDistinct, sql.IsNotDistinct:
		return sc.distinct(e)
	case sql.Add, sql.Sub, sql.Mul, sql.Div:
		return sc.arithmetic(e)
	}
	f, ok := binaryFuncs[e.Op]
	if !ok {
		return typed{}, sql.Unsupported(e)
	}
	return sc.apply(e, f, e.X, e.Y)
}

// logic plans AND, OR and NOT, where a NULL is a bool.
func (sc *scope) logic(n sql.Node, f dataflow.Func, list ...sql.Expr) (typed, error) {
	exprs := make([]dataflow.Expr, len(list))
	for i, e := range list {
		t, err := sc.predicate(e)
		if err != nil {
			return typed{}, err
		}
		exprs[i] = t.Expr
	}
	return sc.check(n, dataflow.Call(f, exprs...))
}

// predicate plans an expression that is a bool.
func (sc *scope) predicate(e sql.Expr) (typed, error) {
	t, err := sc.expr(e)
	if err != nil {
		return t, err
	}
	if t.isNull() {
		return coerce(e, t, dataflow.KindBool)
	}
	if t.ColumnType.Kind != dataflow.KindBool {
		return t, invalid(e, "%s is of kind %v, and a condition is needed here", e, t.ColumnType.Kind)
	}
	return t, nil
}

// arithmetic plans + - * /, whose operands may be of different kinds: a timestamp and an interval.
func (sc *scope) arithmetic(e *sql.Binary) (typed, error) {
	x, err := sc.expr(e.X)
	if err != nil {
		return typed{}, err
	}
	y, err := sc.expr(e.Y)
	if err != nil {
		return typed{}, err
	}
	if x, err = coerce(e.X, x, beside(e.Op, y.ColumnType.Kind)); err != nil {
		return typed{}, err
	}
	kind := beside(e.Op, x.ColumnType.Kind)
	if e.Op == sql.Sub && x.ColumnType.Kind == dataflow.KindTimestamp && y.isString() {
		if _, err := sql.ParseInterval(y.Literal.Text()); err != nil {
			kind = dataflow.KindTimestamp
		}
	}
	if y, err = coerce(e.Y, y, kind); err != nil {
		return typed{}, err
	}
	return sc.check(e, dataflow.Call(binaryFuncs[e.Op], x.Expr, y.Expr))
}

// beside is the kind of a bare NULL or a string beside an operand: an interval if that is a timestamp.
func beside(op sql.BinaryOp, kind dataflow.Kind) dataflow.Kind {
	switch {
	case kind == dataflow.KindNull:
		return dataflow.KindInt64
	case kind == dataflow.KindTimestamp, kind == dataflow.KindInterval && (op == sql.Add || op == sql.Sub):
		return dataflow.KindInterval
	case kind == dataflow.KindInterval:
		return dataflow.KindInt64
	}
	return kind
}

// distinct plans IS [NOT] DISTINCT FROM, for which NULL is a value like any other.
func (sc *scope) distinct(e *sql.Binary) (typed, error) {
	all, err := sc.exprs(e.X, e.Y)
	if err != nil {
		return typed{}, err
	}
	x, y := all[0].Expr, all[1].Expr
	differ := dataflow.Case(
		dataflow.And(dataflow.IsNull(x), dataflow.IsNull(y)), dataflow.Lit(dataflow.Bool(false)),
		dataflow.Or(dataflow.IsNull(x), dataflow.IsNull(y)), dataflow.Lit(dataflow.Bool(true)),
		dataflow.Ne(x, y))
	if e.Op == sql.IsNotDistinct {
		differ = dataflow.Not(differ)
	}
	return sc.check(e, differ)
}

func (sc *scope) is(e *sql.Is) (typed, error) {
	var test dataflow.Expr
	if e.What == sql.IsNull {
		x, err := sc.value(e.X)
		if err != nil {
			return typed{}, err
		}
		test = dataflow.IsNull(x.Expr)
	} else {
		x, err := sc.predicate(e.X)
		if err != nil {
			return typed{}, err
		}
		no := dataflow.Lit(dataflow.Bool(false))
		switch e.What {
		case sql.IsTrue:
			test = dataflow.Coalesce(x.Expr, no)
		case sql.IsFalse:
			test = dataflow.Coalesce(dataflow.Not(x.Expr), no)
		default:
			test = dataflow.IsNull(x.Expr)
		}
	}
	if e.Not {
		test = dataflow.Not(test)
	}
	return sc.check(e, test)
}

func (sc *scope) like(e *sql.Like) (typed, error) {
	switch {
	case e.NoCase:
		return typed{}, sql.Unsupported(e)
	case e.Escape != nil:
		return typed{}, sql.UnsupportedAt(e.Escape.Position(), "ESCAPE")
	}
	t, err := sc.apply(e, dataflow.FuncLike, e.X, e.Pattern)
	if err == nil && e.Not {
		return sc.check(e, dataflow.Not(t.Expr))
	}
	return t, err
}

func (sc *scope) between(e *sql.Between) (typed, error) {
	all, err := sc.exprs(e.X, e.Low, e.High)
	if err != nil {
		return typed{}, err
	}
	t := dataflow.Between(all[0].Expr, all[1].Expr, all[2].Expr)
	if e.Not {
		t = dataflow.Not(t)
	}
	return sc.check(e, t)
}

func (sc *scope) in(e *sql.In) (typed, error) {
	if e.Query != nil {
		return typed{}, sql.Unsupported(e)
	}
	t, err := sc.apply(e, dataflow.FuncIn, append([]sql.Expr{e.X}, e.List...)...)
	if err == nil && e.Not {
		return sc.check(e, dataflow.Not(t.Expr))
	}
	return t, err
}

func (sc *scope) caseOf(e *sql.Case) (typed, error) {
	var conditions []dataflow.Expr
	var values []sql.Expr
	for i := range e.Whens {
		when := &e.Whens[i]
		condition, err := sc.when(e.Operand, when)
		if err != nil {
			return typed{}, err
		}
		conditions = append(conditions, condition.Expr)
		values = append(values, when.Then)
	}
	if e.Else != nil {
		values = append(values, e.Else)
	}
	all, err := sc.exprs(values...)
	if err != nil {
		return typed{}, err
	}
	var list []dataflow.Expr
	for i, t := range all {
		if i < len(conditions) {
			list = append(list, conditions[i])
		}
		list = append(list, t.Expr)
	}
	return sc.check(e, dataflow.Case(list...))
}

// when is the condition of a branch.
func (sc *scope) when(operand sql.Expr, w *sql.When) (typed, error) {
	if operand == nil {
		return sc.predicate(w.Cond)
	}
	return sc.apply(w, dataflow.FuncEq, operand, w.Cond)
}

func (sc *scope) cast(e *sql.Cast) (typed, error) {
	kind, err := Kind(e.Type)
	if err != nil {
		return typed{}, err
	}
	x, err := sc.expr(e.X)
	if err != nil {
		return typed{}, err
	}
	if x, err = coerce(e.X, x, kind); err != nil || x.ColumnType.Kind == kind {
		return x, err
	}
	return sc.check(e, dataflow.Cast(x.Expr, kind))
}
