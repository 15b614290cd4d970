package dataflowtest

import (
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/dataflow"
)

// Expr is any expression over the columns with values of the kind, of functions nested up to
// depth.
func Expr(t *rapid.T, columns []dataflow.Column, kind dataflow.Kind, depth int) dataflow.Expr {
	g := exprs{t, columns}
	return g.expr(kind, depth)
}

// exprs generates expressions.
type exprs struct {
	t       *rapid.T
	columns []dataflow.Column
}

func (g exprs) expr(kind dataflow.Kind, depth int) dataflow.Expr {
	if depth <= 0 || rapid.IntRange(0, 3).Draw(g.t, "leaf") == 0 {
		return g.leaf(kind)
	}
	depth--
	of := func(kinds ...dataflow.Kind) []dataflow.Expr {
		args := make([]dataflow.Expr, len(kinds))
		for i, k := range kinds {
			args[i] = g.expr(k, depth)
		}
		return args
	}
	generic := []func() dataflow.Expr{
		func() dataflow.Expr { return dataflow.Case(of(dataflow.KindBool, kind, dataflow.KindBool, kind)...) },
		func() dataflow.Expr { return dataflow.Case(of(dataflow.KindBool, kind, kind)...) },
		func() dataflow.Expr { return dataflow.Coalesce(of(kind, kind)...) },
		func() dataflow.Expr { return dataflow.NullIf(g.expr(kind, depth), g.expr(kind, depth)) },
		func() dataflow.Expr { return dataflow.Greatest(of(kind, kind, kind)...) },
		func() dataflow.Expr { return dataflow.Least(of(kind, kind)...) },
		func() dataflow.Expr { return g.cast(kind, depth) },
	}
	specific := g.specific(kind, of)
	if len(specific) == 0 || rapid.IntRange(0, 2).Draw(g.t, "generic") == 0 {
		specific = generic
	}
	return rapid.SampledFrom(specific).Draw(g.t, "function")()
}

// leaf is a column or a literal.
func (g exprs) leaf(kind dataflow.Kind) dataflow.Expr {
	var leaves []dataflow.Expr
	for i, c := range g.columns {
		if c.Type.Kind == kind {
			leaves = append(leaves, dataflow.Col(i))
		}
	}
	if len(leaves) > 0 && rapid.IntRange(0, 3).Draw(g.t, "literal") > 0 {
		return rapid.SampledFrom(leaves).Draw(g.t, "column")
	}
	if rapid.IntRange(0, 7).Draw(g.t, "null literal") == 0 {
		return dataflow.NullOf(kind)
	}
	return dataflow.Lit(Datum(g.t, dataflow.Type(kind)))
}

// casts tells from which kinds there are casts to a kind.
var casts = map[dataflow.Kind][]dataflow.Kind{
	dataflow.KindBool:      {dataflow.KindString, dataflow.KindInt64},
	dataflow.KindInt64:     {dataflow.KindString, dataflow.KindFloat64, dataflow.KindBool, dataflow.KindTimestamp, dataflow.KindInterval},
	dataflow.KindFloat64:   {dataflow.KindString, dataflow.KindInt64},
	dataflow.KindTimestamp: {dataflow.KindString, dataflow.KindInt64},
	dataflow.KindInterval:  {dataflow.KindString, dataflow.KindInt64},
	dataflow.KindString: {dataflow.KindBool, dataflow.KindInt64, dataflow.KindFloat64, dataflow.KindTimestamp,
		dataflow.KindInterval, dataflow.KindString},
}

func (g exprs) cast(kind dataflow.Kind, depth int) dataflow.Expr {
	from := rapid.SampledFrom(casts[kind]).Draw(g.t, "from")
	return dataflow.Cast(g.expr(from, depth), kind)
}

// specific are the functions with values of the kind.
func (g exprs) specific(kind dataflow.Kind, of func(...dataflow.Kind) []dataflow.Expr) []func() dataflow.Expr {
	const (
		b  = dataflow.KindBool
		i  = dataflow.KindInt64
		f  = dataflow.KindFloat64
		ts = dataflow.KindTimestamp
		iv = dataflow.KindInterval
		s  = dataflow.KindString
	)
	call := func(fn dataflow.Func, kinds ...dataflow.Kind) func() dataflow.Expr {
		return func() dataflow.Expr { return dataflow.Call(fn, of(kinds...)...) }
	}
	switch kind {
	case b:
		k := Kind(g.t)
		return []func() dataflow.Expr{
			call(dataflow.FuncEq, k, k), call(dataflow.FuncNe, k, k), call(dataflow.FuncLt, k, k),
			call(dataflow.FuncLe, k, k), call(dataflow.FuncGt, k, k), call(dataflow.FuncGe, i, f),
			call(dataflow.FuncAnd, b, b, b), call(dataflow.FuncOr, b, b), call(dataflow.FuncNot, b),
			call(dataflow.FuncIsNull, k), call(dataflow.FuncIn, k, k, k),
			call(dataflow.FuncLike, s, s), call(dataflow.FuncStartsWith, s, s),
			func() dataflow.Expr {
				args := of(k, k, k)
				return dataflow.Between(args[0], args[1], args[2])
			},
		}
	case i:
		return []func() dataflow.Expr{
			call(dataflow.FuncAdd, i, i), call(dataflow.FuncSub, i, i), call(dataflow.FuncMul, i, i),
			call(dataflow.FuncDiv, i, i), call(dataflow.FuncMod, i, i), call(dataflow.FuncNeg, i),
			call(dataflow.FuncAbs, i), call(dataflow.FuncLength, s),
		}
	case f:
		return []func() dataflow.Expr{
			call(dataflow.FuncAdd, f, i), call(dataflow.FuncSub, i, f), call(dataflow.FuncMul, f, f),
			call(dataflow.FuncDiv, f, f), call(dataflow.FuncMod, f, f), call(dataflow.FuncNeg, f),
			call(dataflow.FuncAbs, f), call(dataflow.FuncCoalesce, i, f), call(dataflow.FuncCase, b, f, i),
		}
	case ts:
		unit := rapid.SampledFrom([]string{"millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"})
		return []func() dataflow.Expr{
			call(dataflow.FuncAdd, ts, iv), call(dataflow.FuncAdd, iv, ts), call(dataflow.FuncSub, ts, iv),
			call(dataflow.FuncDateBin, iv, ts), call(dataflow.FuncDateBin, iv, ts, ts),
			func() dataflow.Expr { return dataflow.DateTrunc(unit.Draw(g.t, "unit"), of(ts)[0]) },
			func() dataflow.Expr {
				args := of(ts, iv)
				return dataflow.TumbleEnd(args[0], args[1])
			},
		}
	case iv:
		return []func() dataflow.Expr{
			call(dataflow.FuncSub, ts, ts), call(dataflow.FuncAdd, iv, iv), call(dataflow.FuncSub, iv, iv),
			call(dataflow.FuncMul, iv, i), call(dataflow.FuncDiv, iv, i), call(dataflow.FuncNeg, iv),
		}
	default:
		return []func() dataflow.Expr{
			call(dataflow.FuncConcat, s, s), call(dataflow.FuncLower, s), call(dataflow.FuncUpper, s),
			call(dataflow.FuncTrim, s), call(dataflow.FuncSubstr, s, i), call(dataflow.FuncSubstr, s, i, i),
		}
	}
}
