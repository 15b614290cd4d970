package naive

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/simrun-dev/simrun/system/dataflow"
)

// environment is what an expression sees: a row, and its columns.
type environment struct {
	columns []dataflow.Column
	row     []dataflow.Datum
}

// kind is the kind of the expression's values.
func (env environment) kind(e dataflow.Expr) dataflow.Kind {
	args := make([]dataflow.Kind, len(e.Args))
	for i, a := range e.Args {
		args[i] = env.kind(a)
	}
	either := func(kinds []dataflow.Kind) dataflow.Kind {
		if slices.Contains(kinds, dataflow.KindFloat64) {
			return dataflow.KindFloat64
		}
		return kinds[0]
	}
	switch e.Func {
	case dataflow.FuncColumn:
		return env.columns[e.Column].Type.Kind
	case dataflow.FuncLiteral, dataflow.FuncCast:
		return e.Kind
	case dataflow.FuncNeg, dataflow.FuncAbs:
		return args[0]
	case dataflow.FuncAdd, dataflow.FuncSub, dataflow.FuncMul, dataflow.FuncDiv, dataflow.FuncMod:
		timestamps := 0
		for _, k := range args {
			if k == dataflow.KindTimestamp {
				timestamps++
			}
		}
		switch {
		case timestamps == 2:
			return dataflow.KindInterval
		case timestamps == 1:
			return dataflow.KindTimestamp
		case slices.Contains(args, dataflow.KindInterval):
			return dataflow.KindInterval
		}
		return either(args)
	case dataflow.FuncCase:
		var values []dataflow.Kind
		for i := 1; i < len(args); i += 2 {
			values = append(values, args[i])
		}
		if len(args)%2 == 1 {
			values = append(values, args[len(args)-1])
		}
		return either(values)
	case dataflow.FuncCoalesce, dataflow.FuncNullIf, dataflow.FuncGreatest, dataflow.FuncLeast:
		return either(args)
	case dataflow.FuncDateBin, dataflow.FuncDateTrunc:
		return dataflow.KindTimestamp
	case dataflow.FuncLength:
		return dataflow.KindInt64
	case dataflow.FuncConcat, dataflow.FuncLower, dataflow.FuncUpper, dataflow.FuncTrim, dataflow.FuncSubstr:
		return dataflow.KindString
	default:
		return dataflow.KindBool
	}
}

// as evaluates an expression whose ints are to be floats if the whole is.
func (env environment) as(kind dataflow.Kind, e dataflow.Expr) (dataflow.Datum, *dataflow.RowError) {
	d, err := env.eval(e)
	if err == nil && kind == dataflow.KindFloat64 && d.Kind() == dataflow.KindInt64 {
		d = dataflow.Float(floatOf(d))
	}
	return d, err
}

// eval computes an expression that makes sense.
func (env environment) eval(e dataflow.Expr) (dataflow.Datum, *dataflow.RowError) {
	switch e.Func {
	case dataflow.FuncColumn:
		return env.row[e.Column], nil
	case dataflow.FuncLiteral:
		return e.Literal, nil
	case dataflow.FuncAnd, dataflow.FuncOr:
		return env.junction(e)
	case dataflow.FuncCase:
		return env.choose(e)
	case dataflow.FuncCoalesce:
		for _, a := range e.Args {
			if d, err := env.as(env.kind(e), a); err != nil || !d.IsNull() {
				return d, err
			}
		}
		return dataflow.Null(), nil
	}
	// All others evaluate all arguments, and the first failure counts.
	numeric := dataflow.KindNull
	for _, a := range e.Args {
		if env.kind(a) == dataflow.KindFloat64 {
			numeric = dataflow.KindFloat64
		}
	}
	var args []dataflow.Datum
	for _, a := range e.Args {
		d, err := env.as(numeric, a)
		if err != nil {
			return d, err
		}
		args = append(args, d)
	}
	d, err := apply(e, env.kind(e), args)
	if err != nil {
		failed := dataflow.NewRowError(err, e.Over(env.columns))
		return dataflow.Null(), &failed
	}
	return d, nil
}

// apply applies a function whose values are of that kind. The error is the cause of a row error.
func apply(e dataflow.Expr, kind dataflow.Kind, args []dataflow.Datum) (dataflow.Datum, error) {
	null := slices.Contains(args, dataflow.Null())
	switch e.Func {
	case dataflow.FuncIsNull:
		return dataflow.Bool(null), nil
	case dataflow.FuncNullIf:
		if args[0] == args[1] {
			return dataflow.Null(), nil
		}
		return args[0], nil
	case dataflow.FuncGreatest, dataflow.FuncLeast:
		args = slices.DeleteFunc(args, dataflow.Datum.IsNull)
		slices.SortFunc(args, dataflow.Datum.Compare)
		switch {
		case len(args) == 0:
			return dataflow.Null(), nil
		case e.Func == dataflow.FuncLeast:
			return args[0], nil
		}
		return args[len(args)-1], nil
	case dataflow.FuncIn:
		switch {
		case !args[0].IsNull() && slices.Contains(args[1:], args[0]):
			return dataflow.Bool(true), nil
		case null:
			return dataflow.Null(), nil
		}
		return dataflow.Bool(false), nil
	}
	if null {
		return dataflow.Null(), nil
	}
	switch e.Func {
	case dataflow.FuncNot:
		return dataflow.Bool(!args[0].Bool()), nil
	case dataflow.FuncEq, dataflow.FuncNe, dataflow.FuncLt, dataflow.FuncLe, dataflow.FuncGt, dataflow.FuncGe:
		return compare(e.Func, args[0].Compare(args[1])), nil
	case dataflow.FuncCast:
		return cast(e, args[0])
	case dataflow.FuncDateBin, dataflow.FuncDateTrunc:
		return window(e, args)
	case dataflow.FuncLike, dataflow.FuncConcat, dataflow.FuncLength, dataflow.FuncLower, dataflow.FuncUpper,
		dataflow.FuncTrim, dataflow.FuncSubstr, dataflow.FuncStartsWith:
		return text(e, args)
	default:
		return arithmetic(e, kind, args)
	}
}

func (env environment) junction(e dataflow.Expr) (dataflow.Datum, *dataflow.RowError) {
	decisive := dataflow.Bool(e.Func == dataflow.FuncOr)
	var failed *dataflow.RowError
	result := dataflow.Bool(!decisive.Bool())
	for _, a := range e.Args {
		d, err := env.eval(a)
		switch {
		case err == nil && d == decisive:
			return decisive, nil
		case err != nil && failed == nil:
			failed = err
		case err == nil && d.IsNull():
			result = dataflow.Null()
		}
	}
	if failed != nil {
		return dataflow.Null(), failed
	}
	return result, nil
}

func (env environment) choose(e dataflow.Expr) (dataflow.Datum, *dataflow.RowError) {
	args := e.Args
	for ; len(args) >= 2; args = args[2:] {
		d, err := env.eval(args[0])
		switch {
		case err != nil:
			return d, err
		case d.Bool():
			return env.as(env.kind(e), args[1])
		}
	}
	if len(args) == 1 {
		return env.as(env.kind(e), args[0])
	}
	return dataflow.Null(), nil
}

func compare(f dataflow.Func, c int) dataflow.Datum {
	return dataflow.Bool(map[dataflow.Func]bool{
		dataflow.FuncEq: c == 0, dataflow.FuncNe: c != 0,
		dataflow.FuncLt: c < 0, dataflow.FuncLe: c <= 0,
		dataflow.FuncGt: c > 0, dataflow.FuncGe: c >= 0,
	}[f])
}

func bigInt(v int64) *big.Int          { return big.NewInt(v) }
func toBig(d dataflow.Datum) *big.Int  { return big.NewInt(d.Int()) }
func sub(a, b *big.Int) *big.Int       { return new(big.Int).Sub(a, b) }
func floatOf(d dataflow.Datum) float64 { f, _ := new(big.Float).SetInt(toBig(d)).Float64(); return f }
func inRange(v *big.Int) bool          { return v.IsInt64() }
func number(k dataflow.Kind, v int64) dataflow.Datum {
	switch k {
	case dataflow.KindTimestamp:
		return dataflow.Timestamp(v)
	case dataflow.KindInterval:
		return dataflow.Interval(v)
	default:
		return dataflow.Int(v)
	}
}

func arithmetic(e dataflow.Expr, kind dataflow.Kind, args []dataflow.Datum) (dataflow.Datum, error) {
	if kind == dataflow.KindFloat64 {
		return dataflow.Float(floating(e.Func, args)), nil
	}
	a, b := toBig(args[0]), new(big.Int)
	if len(args) == 2 {
		b = toBig(args[1])
	}
	v := new(big.Int)
	switch e.Func {
	case dataflow.FuncAdd:
		v.Add(a, b)
	case dataflow.FuncSub:
		v.Sub(a, b)
	case dataflow.FuncMul:
		v.Mul(a, b)
	case dataflow.FuncDiv, dataflow.FuncMod:
		if b.Sign() == 0 {
			return dataflow.Null(), dataflow.ErrDivisionByZero
		}
		if v.Quo(a, b); e.Func == dataflow.FuncMod {
			v.Rem(a, b)
		}
	case dataflow.FuncNeg:
		v.Neg(a)
	case dataflow.FuncAbs:
		v.Abs(a)
	default:
		panic("naive: no function " + string(e.Func))
	}
	if !inRange(v) {
		return dataflow.Null(), dataflow.ErrOverflow
	}
	return number(kind, v.Int64()), nil
}

func floating(f dataflow.Func, args []dataflow.Datum) float64 {
	a, b := args[0].Float(), 0.0
	if len(args) == 2 {
		b = args[1].Float()
	}
	switch f {
	case dataflow.FuncAdd:
		return a + b
	case dataflow.FuncSub:
		return a - b
	case dataflow.FuncMul:
		return a * b
	case dataflow.FuncDiv:
		return a / b
	case dataflow.FuncMod:
		return math.Mod(a, b)
	case dataflow.FuncNeg:
		return 0 - a
	default:
		return max(a, 0-a)
	}
}

func cast(e dataflow.Expr, d dataflow.Datum) (dataflow.Datum, error) {
	switch from, to := d.Kind(), e.Kind; {
	case from == to:
		return d, nil
	case to == dataflow.KindString:
		return dataflow.String(strings.Trim(strings.TrimSuffix(strings.TrimPrefix(d.String(), "INTERVAL "), ".0"), "'")), nil
	case from == dataflow.KindString:
		return parse(e, strings.TrimSpace(d.Text()))
	case to == dataflow.KindBool:
		return dataflow.Bool(d.Int() != 0), nil
	case from == dataflow.KindBool:
		return dataflow.Int(map[bool]int64{true: 1}[d.Bool()]), nil
	case to == dataflow.KindFloat64:
		return dataflow.Float(floatOf(d)), nil
	case from == dataflow.KindFloat64:
		if f := d.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			if v, _ := big.NewFloat(f).Int(nil); inRange(v) {
				return dataflow.Int(v.Int64()), nil
			}
		}
		return dataflow.Null(), dataflow.ErrOverflow
	default:
		return number(to, d.Int()), nil
	}
}

func parse(e dataflow.Expr, s string) (dataflow.Datum, error) {
	switch e.Kind {
	case dataflow.KindBool:
		if i := slices.Index([]string{"true", "t", "false", "f"}, strings.ToLower(s)); i >= 0 {
			return dataflow.Bool(i < 2), nil
		}
	case dataflow.KindInt64:
		if v, err := strconv.ParseInt(s, 10, 64); err == nil {
			return dataflow.Int(v), nil
		}
	case dataflow.KindFloat64:
		if v, err := strconv.ParseFloat(s, 64); err == nil || math.IsInf(v, 0) {
			return dataflow.Float(v), nil
		}
	case dataflow.KindTimestamp:
		if v, err := dataflow.ParseTimestamp(s); err == nil {
			return dataflow.Timestamp(v), nil
		}
	case dataflow.KindInterval:
		if v, err := dataflow.ParseInterval(s); err == nil {
			return dataflow.Interval(v), nil
		}
	}
	return dataflow.Null(), dataflow.ErrInvalidCast
}

func window(e dataflow.Expr, args []dataflow.Datum) (dataflow.Datum, error) {
	if e.Func == dataflow.FuncDateTrunc {
		return truncate(e, args[0].Text(), args[1].Int())
	}
	size, ts, origin := toBig(args[0]), toBig(args[1]), new(big.Int)
	if len(args) == 3 {
		origin = toBig(args[2])
	}
	if size.Sign() <= 0 {
		return dataflow.Null(), dataflow.ErrInvalidArgument
	}
	// Euclidean division rounds down for a positive divisor.
	n := new(big.Int).Div(sub(ts, origin), size)
	start := n.Add(n.Mul(n, size), origin)
	if !inRange(start) {
		return dataflow.Null(), dataflow.ErrOverflow
	}
	return dataflow.Timestamp(start.Int64()), nil
}

func truncate(e dataflow.Expr, unit string, ms int64) (dataflow.Datum, error) {
	t := time.UnixMilli(ms).UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	nanos := t.Nanosecond()
	switch unit {
	case "year":
		month = 1
		fallthrough
	case "quarter":
		for month%3 != 1 {
			month--
		}
		fallthrough
	case "month":
		day = 1
		fallthrough
	case "day", "week":
		if unit == "week" {
			for days := t.Weekday(); days != time.Monday; days = (days + 6) % 7 {
				day--
			}
		}
		hour = 0
		fallthrough
	case "hour":
		minute = 0
		fallthrough
	case "minute":
		second = 0
		fallthrough
	case "second":
		nanos = 0
	}
	start := time.Date(year, month, day, hour, minute, second, nanos, time.UTC)
	v := new(big.Int).Mul(bigInt(start.Unix()), bigInt(1000))
	if v.Add(v, bigInt(int64(start.Nanosecond()/1e6))); !inRange(v) {
		return dataflow.Null(), dataflow.ErrOverflow
	}
	return dataflow.Timestamp(v.Int64()), nil
}

func text(e dataflow.Expr, args []dataflow.Datum) (dataflow.Datum, error) {
	s := args[0].Text()
	switch e.Func {
	case dataflow.FuncLike:
		return dataflow.Bool(like(s, args[1].Text())), nil
	case dataflow.FuncConcat:
		s = ""
		for _, a := range args {
			s += a.Text()
		}
		return dataflow.String(s), nil
	case dataflow.FuncLength:
		return dataflow.Int(int64(len([]rune(s)))), nil
	case dataflow.FuncLower:
		return dataflow.String(strings.ToLower(s)), nil
	case dataflow.FuncUpper:
		return dataflow.String(strings.ToUpper(s)), nil
	case dataflow.FuncTrim:
		for strings.HasPrefix(s, " ") {
			s = s[1:]
		}
		for strings.HasSuffix(s, " ") {
			s = s[:len(s)-1]
		}
		return dataflow.String(s), nil
	case dataflow.FuncStartsWith:
		prefix := args[1].Text()
		return dataflow.Bool(len(s) >= len(prefix) && s[:len(prefix)] == prefix), nil
	default:
		return substring(e, s, args[1:])
	}
}

func substring(e dataflow.Expr, s string, args []dataflow.Datum) (dataflow.Datum, error) {
	from := toBig(args[0])
	end := new(big.Int).Lsh(bigInt(1), 100)
	if len(args) == 2 {
		if args[1].Int() < 0 {
			return dataflow.Null(), dataflow.ErrInvalidArgument
		}
		end = new(big.Int).Add(from, toBig(args[1]))
	}
	var kept []rune
	for i, r := range []rune(s) {
		if at := bigInt(int64(i + 1)); at.Cmp(from) >= 0 && at.Cmp(end) < 0 {
			kept = append(kept, r)
		}
	}
	return dataflow.String(string(kept)), nil
}

// like tries all ways.
func like(s, pattern string) bool {
	if pattern == "" {
		return s == ""
	}
	p, n := utf8.DecodeRuneInString(pattern)
	_, m := utf8.DecodeRuneInString(s)
	switch {
	case p == '%':
		return like(s, pattern[n:]) || s != "" && like(s[m:], pattern)
	case p == '_':
		return s != "" && like(s[m:], pattern[n:])
	case p == '\\' && len(pattern) > n:
		pattern = pattern[n:]
		_, n = utf8.DecodeRuneInString(pattern)
	}
	return strings.HasPrefix(s, pattern[:n]) && like(s[n:], pattern[n:])
}
