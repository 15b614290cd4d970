package dataflow_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/dataflowtest"
	"github.com/simrun-dev/simrun/system/dataflow/naive"
)

// TestExprEqualsNaive: what an expression computes of a row is what it means.
func TestExprEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema := dataflowtest.Schema(t)
		e := dataflowtest.Expr(t, schema.Columns, dataflowtest.Kind(t), 4)
		row := dataflowtest.Row(t, schema)
		compiled, err := dataflow.Compile(e, schema)
		require.NoError(t, err)
		got, err := compiled.Eval(row)

		constant := dataflow.Constant(schema.Columns, dataflow.RowCount{Row: row, Count: 1})
		want, wrong := naive.Evaluate(constant.Map(e), naive.Inputs{}, 0)
		require.NoError(t, wrong)
		if err != nil {
			require.Empty(t, want.Rows)
			require.Equal(t, want.Errors[0].Err, err, "%v of %v", e, row)
			return
		}
		require.Empty(t, want.Errors)
		require.Equal(t, want.Rows[0].Row, row+dataflow.Pack(got), "%v of %v", e, row)
		if got.IsNull() {
			require.True(t, compiled.Type().Nullable, "%v", e)
		} else {
			require.Equal(t, compiled.Type().Kind, got.Kind(), "%v", e)
		}
	})
}

// constant evaluates an expression without columns.
func constant(t require.TestingT, e dataflow.Expr) (dataflow.Datum, error) {
	compiled, err := dataflow.Compile(e, dataflow.Schema{})
	require.NoError(t, err)
	return compiled.Eval("")
}

// TestDateBinEqualsLoop finds windows by going from one to the next.
func TestDateBinEqualsLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 30).Draw(t, "size")
		ts := rapid.Int64Range(-200, 200).Draw(t, "ts")
		origin := rapid.Int64Range(-200, 200).Draw(t, "origin")
		start := origin
		for start > ts {
			start -= size
		}
		for start+size <= ts {
			start += size
		}
		l := func(d dataflow.Datum) dataflow.Expr { return dataflow.Lit(d) }
		got, err := constant(t, dataflow.DateBin(l(dataflow.Interval(size)), l(dataflow.Timestamp(ts)), l(dataflow.Timestamp(origin))))
		require.NoError(t, err)
		require.Equal(t, dataflow.Timestamp(start), got)
		end, err := constant(t, dataflow.TumbleEnd(l(dataflow.Timestamp(ts)), l(dataflow.Interval(size)), l(dataflow.Timestamp(origin))))
		require.NoError(t, err)
		require.Equal(t, dataflow.Timestamp(start+size), end)
	})
}

func TestExpressions(t *testing.T) {
	i := func(v int64) dataflow.Expr { return dataflow.Lit(dataflow.Int(v)) }
	f := func(v float64) dataflow.Expr { return dataflow.Lit(dataflow.Float(v)) }
	s := func(v string) dataflow.Expr { return dataflow.Lit(dataflow.String(v)) }
	ts := func(v int64) dataflow.Expr { return dataflow.Lit(dataflow.Timestamp(v)) }
	iv := func(v int64) dataflow.Expr { return dataflow.Lit(dataflow.Interval(v)) }
	b := func(v bool) dataflow.Expr { return dataflow.Lit(dataflow.Bool(v)) }
	null := dataflow.NullOf(dataflow.KindBool)
	fails := dataflow.Eq(dataflow.Div(i(1), i(0)), i(1))
	yes, no, unknown := dataflow.Bool(true), dataflow.Bool(false), dataflow.Null()

	for _, c := range []struct {
		expr dataflow.Expr
		want any // a datum or an error
	}{
		{dataflow.Add(i(math.MaxInt64), i(1)), dataflow.ErrOverflow},
		{dataflow.Sub(i(math.MinInt64), i(1)), dataflow.ErrOverflow},
		{dataflow.Mul(i(1<<32), i(1<<31)), dataflow.ErrOverflow},
		{dataflow.Mul(i(-1<<32), i(1<<31)), dataflow.Int(math.MinInt64)},
		{dataflow.Neg(i(math.MinInt64)), dataflow.ErrOverflow},
		{dataflow.Abs(i(math.MinInt64)), dataflow.ErrOverflow},
		{dataflow.Div(i(math.MinInt64), i(-1)), dataflow.ErrOverflow},
		{dataflow.Mod(i(math.MinInt64), i(-1)), dataflow.Int(0)},
		{dataflow.Div(i(-7), i(2)), dataflow.Int(-3)},
		{dataflow.Mod(i(-7), i(2)), dataflow.Int(-1)},
		{dataflow.Div(i(7), i(0)), dataflow.ErrDivisionByZero},
		{dataflow.Mod(i(7), i(0)), dataflow.ErrDivisionByZero},
		{dataflow.Div(dataflow.NullOf(dataflow.KindInt64), i(0)), unknown},
		{dataflow.Div(f(1), f(0)), dataflow.Float(math.Inf(1))},
		{dataflow.Div(f(0), i(0)), dataflow.Float(math.NaN())},
		{dataflow.Div(i(7), f(2)), dataflow.Float(3.5)},
		{dataflow.Sub(ts(5), ts(7)), dataflow.Interval(-2)},
		{dataflow.Add(ts(5), iv(-7)), dataflow.Timestamp(-2)},

		{dataflow.Eq(dataflow.NullOf(dataflow.KindInt64), i(1)), unknown},
		{dataflow.Eq(f(math.NaN()), f(math.NaN())), yes},
		{dataflow.Lt(f(math.Inf(1)), f(math.NaN())), yes},
		{dataflow.Lt(i(1), f(1.5)), yes},
		{dataflow.And(null, b(false)), no},
		{dataflow.And(b(true), null), unknown},
		{dataflow.Or(null, b(true)), yes},
		{dataflow.Or(null, b(false)), unknown},
		{dataflow.Not(null), unknown},
		{dataflow.And(fails, b(false)), no},
		{dataflow.Or(fails, b(true)), yes},
		{dataflow.And(null, fails), dataflow.ErrDivisionByZero},
		{dataflow.Case(b(false), fails, b(true)), yes},
		{dataflow.Case(null, b(true)), unknown},
		{dataflow.Coalesce(null, b(true), fails), yes},
		{dataflow.In(i(1), i(2), dataflow.NullOf(dataflow.KindInt64)), unknown},
		{dataflow.In(i(1), dataflow.NullOf(dataflow.KindInt64), i(1)), yes},
		{dataflow.Between(i(3), i(1), i(3)), yes},
		{dataflow.Greatest(i(1), dataflow.NullOf(dataflow.KindInt64), i(2)), dataflow.Int(2)},

		{dataflow.DateBin(iv(10), ts(-1)), dataflow.Timestamp(-10)},
		{dataflow.DateBin(iv(10), ts(-10)), dataflow.Timestamp(-10)},
		{dataflow.DateBin(iv(10), ts(-11)), dataflow.Timestamp(-20)},
		{dataflow.DateBin(iv(10), ts(2), ts(3)), dataflow.Timestamp(-7)},
		{dataflow.DateBin(iv(10), ts(13), ts(3)), dataflow.Timestamp(13)},
		{dataflow.DateBin(iv(0), ts(13)), dataflow.ErrInvalidArgument},
		{dataflow.DateBin(iv(10), ts(math.MinInt64)), dataflow.ErrOverflow},
		{dataflow.DateBin(iv(math.MaxInt64), ts(math.MaxInt64), ts(math.MinInt64)), dataflow.Timestamp(math.MaxInt64 - 1)},
		{dataflow.DateTrunc("week", ts(0)), dataflow.Timestamp(-3 * 86_400_000)},
		{dataflow.DateTrunc("year", ts(-1)), dataflow.Timestamp(-365 * 86_400_000)},
		{dataflow.DateTrunc("year", ts(math.MinInt64)), dataflow.ErrOverflow},

		{dataflow.Cast(f(-1.9), dataflow.KindInt64), dataflow.Int(-1)},
		{dataflow.Cast(f(1<<63), dataflow.KindInt64), dataflow.ErrOverflow},
		{dataflow.Cast(f(-1<<63), dataflow.KindInt64), dataflow.Int(math.MinInt64)},
		{dataflow.Cast(f(math.NaN()), dataflow.KindInt64), dataflow.ErrOverflow},
		{dataflow.Cast(s(" 12 "), dataflow.KindInt64), dataflow.Int(12)},
		{dataflow.Cast(s("12x"), dataflow.KindInt64), dataflow.ErrInvalidCast},
		{dataflow.Cast(s("2026-01-02 03:04:05.006"), dataflow.KindTimestamp), dataflow.Timestamp(1767323045006)},
		{dataflow.Cast(s("1 hour 30 minutes"), dataflow.KindInterval), dataflow.Interval(5_400_000)},
		{dataflow.Cast(s("-5s"), dataflow.KindInterval), dataflow.Interval(-5000)},
		{dataflow.Cast(s("1 month"), dataflow.KindInterval), dataflow.ErrInvalidCast},
		{dataflow.Cast(dataflow.Cast(ts(-1), dataflow.KindString), dataflow.KindTimestamp), dataflow.Timestamp(-1)},

		{dataflow.Like(s("aXbXc"), s("a%X_")), yes},
		{dataflow.Like(s("50%"), s(`50\%`)), yes},
		{dataflow.Like(s("500"), s(`50\%`)), no},
		{dataflow.Like(s("é"), s("_")), yes},
		{dataflow.Call(dataflow.FuncSubstr, s("abc"), i(0), i(2)), dataflow.String("a")},
		{dataflow.Call(dataflow.FuncSubstr, s("aéc"), i(2)), dataflow.String("éc")},
		{dataflow.Call(dataflow.FuncSubstr, s("abc"), i(2), i(-1)), dataflow.ErrInvalidArgument},
		{dataflow.Concat(s("a"), dataflow.NullOf(dataflow.KindString)), unknown},
	} {
		got, err := constant(t, c.expr)
		if cause, ok := c.want.(error); ok {
			require.ErrorIs(t, err, cause, "%v", c.expr)
			continue
		}
		require.NoError(t, err, "%v", c.expr)
		require.Equal(t, c.want, got, "%v", c.expr)
	}
}

func TestTypeErrors(t *testing.T) {
	schema := dataflow.NewSchema(dataflow.Column{Name: "a", Type: dataflow.Type(dataflow.KindInt64)})
	a, x := dataflow.Col(0), dataflow.Lit(dataflow.String("x"))
	for want, e := range map[string]dataflow.Expr{
		"dataflow: (#0 + 'x'): int64 and string don't go together":                            dataflow.Neg(dataflow.Add(a, x)),
		"dataflow: (#0 = 'x'): int64 and string don't go together":                            dataflow.Eq(a, x),
		"dataflow: #1: the input has 1 columns":                                               dataflow.Col(1),
		"dataflow: not(#0): argument 1 is of kind int64, not bool":                            dataflow.Not(a),
		"dataflow: case(#0, 'x'): condition 1 is of kind int64, not bool":                     dataflow.Case(a, x),
		"dataflow: sqrt(#0): there is no function \"sqrt\"":                                   dataflow.Call("sqrt", a),
		"dataflow: neg(#0, #0): neg does not take 2 arguments":                                dataflow.Call(dataflow.FuncNeg, a, a),
		"dataflow: neg('x'): string has no sign":                                              dataflow.Neg(x),
		"dataflow: date_trunc('eon', '1970-01-01T00:00:00.000Z'): there is no unit 'eon'":     dataflow.DateTrunc("eon", dataflow.Lit(dataflow.Timestamp(0))),
		"dataflow: ((#0) IS NULL)::timestamp: there is no cast from bool to timestamp":        dataflow.Cast(dataflow.IsNull(a), dataflow.KindTimestamp),
		"dataflow: NULL::null: a literal of kind null can't be NULL":                          dataflow.Lit(dataflow.Null()),
		"dataflow: date_bin(INTERVAL '1 ms', #0): argument 2 is of kind int64, not timestamp": dataflow.DateBin(dataflow.Lit(dataflow.Interval(1)), a),
		"dataflow: (#0 LIKE 'x'): argument 1 is of kind int64, not string":                    dataflow.Like(a, x),
		"dataflow: (#0 - INTERVAL '1 ms'): int64 and interval don't go together":              dataflow.Sub(a, dataflow.Lit(dataflow.Interval(1))),
		"dataflow: coalesce(#0, 'x'): int64 and string don't go together":                     dataflow.Coalesce(a, x),
		"dataflow: ((#0) IS NULL AND #0): argument 2 is of kind int64, not bool":              dataflow.And(dataflow.IsNull(a), a),
	} {
		_, err := dataflow.Compile(e, schema)
		var typeError *dataflow.TypeError
		require.True(t, errors.As(err, &typeError), want)
		require.EqualError(t, err, want)
	}
}
