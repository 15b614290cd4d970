package dataflow

import (
	"slices"
	"strconv"
	"strings"
)

// Func names what an expression does. The names are part of the encoding of plans.
type Func string

const (
	FuncColumn  Func = "column"  // the value of Column
	FuncLiteral Func = "literal" // Literal, of Kind

	FuncAdd Func = "+"
	FuncSub Func = "-"
	FuncMul Func = "*"
	FuncDiv Func = "/"
	FuncMod Func = "%"
	FuncNeg Func = "neg"
	FuncAbs Func = "abs"

	FuncEq Func = "="
	FuncNe Func = "<>"
	FuncLt Func = "<"
	FuncLe Func = "<="
	FuncGt Func = ">"
	FuncGe Func = ">="

	FuncAnd    Func = "and"
	FuncOr     Func = "or"
	FuncNot    Func = "not"
	FuncIsNull Func = "is null"

	FuncCase     Func = "case" // condition, value, condition, value, ..., and perhaps the value else
	FuncCoalesce Func = "coalesce"
	FuncNullIf   Func = "nullif"
	FuncGreatest Func = "greatest"
	FuncLeast    Func = "least"
	FuncIn       Func = "in" // value, list...

	FuncCast      Func = "cast"       // to Kind
	FuncDateBin   Func = "date_bin"   // interval, timestamp, and perhaps an origin
	FuncDateTrunc Func = "date_trunc" // unit, timestamp

	FuncLike       Func = "like" // string, pattern
	FuncConcat     Func = "concat"
	FuncLength     Func = "length" // in characters
	FuncLower      Func = "lower"
	FuncUpper      Func = "upper"
	FuncTrim       Func = "trim"
	FuncSubstr     Func = "substr" // string, first character (counted from 1), and perhaps how many
	FuncStartsWith Func = "starts_with"
)

// Expr is a scalar expression over the columns of a row. It is plain data, to be built with the
// functions below, sent and compared; types are checked by [Compile], or with the plan
// it stands in.
//
// Ints and floats mix: ints then become floats, rounded to nearest. Functions of a NULL are NULL
// unless said otherwise.
type Expr struct {
	Func    Func   `cbor:"1,keyasint"`
	Column  int    `cbor:"2,keyasint,omitempty"`
	Literal Datum  `cbor:"3,keyasint,omitzero"`
	Kind    Kind   `cbor:"4,keyasint,omitempty"`
	Args    []Expr `cbor:"5,keyasint,omitempty"`
}

// Call applies a function. Those below say the same in fewer words.
func Call(f Func, args ...Expr) Expr { return Expr{Func: f, Args: args} }

// Col is the value of the column at that position, from 0.
func Col(column int) Expr { return Expr{Func: FuncColumn, Column: column} }

// Lit is a constant. For NULL see [NullOf].
func Lit(d Datum) Expr { return Expr{Func: FuncLiteral, Literal: d, Kind: d.kind} }

// NullOf is NULL as a value of that kind.
func NullOf(kind Kind) Expr { return Expr{Func: FuncLiteral, Kind: kind} }

// Add is a + b: of numbers, of a timestamp and an interval, or of intervals.
func Add(a, b Expr) Expr { return Call(FuncAdd, a, b) }

// Sub is a - b: of numbers, of timestamps (an interval), a timestamp less an interval, or of
// intervals.
func Sub(a, b Expr) Expr { return Call(FuncSub, a, b) }

// Mul is a * b: of numbers, or of an interval and an int.
func Mul(a, b Expr) Expr { return Call(FuncMul, a, b) }

// Div is a / b: of numbers, or of an interval and an int. Ints are rounded toward zero, and
// division by zero is an error; floats divide as IEEE 754 says, by zero too.
func Div(a, b Expr) Expr { return Call(FuncDiv, a, b) }

// Mod is the remainder of a / b rounded toward zero. It has the sign of a.
func Mod(a, b Expr) Expr { return Call(FuncMod, a, b) }

// Neg is -a, of a number or an interval.
func Neg(a Expr) Expr { return Call(FuncNeg, a) }

// Abs is a without its sign, of a number or an interval.
func Abs(a Expr) Expr { return Call(FuncAbs, a) }

// Eq is a = b. Comparisons are NULL if a or b is; otherwise as [Datum.Compare] says.
func Eq(a, b Expr) Expr { return Call(FuncEq, a, b) }

// Ne is a <> b.
func Ne(a, b Expr) Expr { return Call(FuncNe, a, b) }

// Lt is a < b.
func Lt(a, b Expr) Expr { return Call(FuncLt, a, b) }

// Le is a <= b.
func Le(a, b Expr) Expr { return Call(FuncLe, a, b) }

// Gt is a > b.
func Gt(a, b Expr) Expr { return Call(FuncGt, a, b) }

// Ge is a >= b.
func Ge(a, b Expr) Expr { return Call(FuncGe, a, b) }

// And is false if any argument is, even if another is NULL or fails; else the first failure;
// else NULL if any is; else true.
func And(args ...Expr) Expr { return Call(FuncAnd, args...) }

// Or is true if any argument is, even if another is NULL or fails; else the first failure; else
// NULL if any is; else false.
func Or(args ...Expr) Expr { return Call(FuncOr, args...) }

// Not is true for false and false for true.
func Not(a Expr) Expr { return Call(FuncNot, a) }

// IsNull tells whether a is NULL.
func IsNull(a Expr) Expr { return Call(FuncIsNull, a) }

// Between is low <= a AND a <= high.
func Between(a, low, high Expr) Expr { return And(Ge(a, low), Le(a, high)) }

// Case is CASE WHEN c1 THEN v1 WHEN c2 THEN v2 ... ELSE e END for the arguments c1, v1, c2, v2,
// ..., e; without e it is NULL if no condition is true. Only what is needed is evaluated: what
// is not chosen can't fail.
func Case(args ...Expr) Expr { return Call(FuncCase, args...) }

// Coalesce is the first argument that is not NULL. Those after it are not evaluated.
func Coalesce(args ...Expr) Expr { return Call(FuncCoalesce, args...) }

// NullIf is NULL if a = b, else a.
func NullIf(a, b Expr) Expr { return Call(FuncNullIf, a, b) }

// Greatest is the greatest of the arguments that are not NULL.
func Greatest(args ...Expr) Expr { return Call(FuncGreatest, args...) }

// Least is the least of the arguments that are not NULL.
func Least(args ...Expr) Expr { return Call(FuncLeast, args...) }

// In is true if a equals any of the list, else NULL if a or any of the list is NULL, else false.
func In(a Expr, list ...Expr) Expr { return Call(FuncIn, append([]Expr{a}, list...)...) }

// Cast turns a into a value of another kind. Bools become 0 and 1, and of ints all but 0 true.
// Floats are cut off toward zero; out of range or NaN is an error. Ints are milliseconds as
// timestamps and intervals, and the other way round. Strings are what [Datum] prints (unquoted),
// and are parsed: dates with or without time ("2026-01-02 03:04:05.006"), always UTC, intervals
// as [ParseInterval] says, and what can't be parsed is an error.
func Cast(a Expr, to Kind) Expr { return Expr{Func: FuncCast, Kind: to, Args: []Expr{a}} }

// DateBin is the start of the window of that size that ts lies in: the latest time not after ts
// that is a multiple of size from the origin, which is 1970-01-01 if not given. A size of zero
// or less is an error.
func DateBin(size, ts Expr, origin ...Expr) Expr {
	return Call(FuncDateBin, append([]Expr{size, ts}, origin...)...)
}

// TumbleStart is the start of the tumbling window that ts lies in. It belongs to the window.
func TumbleStart(ts, size Expr, origin ...Expr) Expr { return DateBin(size, ts, origin...) }

// TumbleEnd is the end of the tumbling window that ts lies in. It does not belong to the window.
func TumbleEnd(ts, size Expr, origin ...Expr) Expr {
	return Add(DateBin(size, ts, origin...), size)
}

// DateTrunc cuts ts off to a unit: millisecond, second, minute, hour, day, week (from
// Monday), month, quarter or year. The unit is a string literal.
func DateTrunc(unit string, ts Expr) Expr { return Call(FuncDateTrunc, Lit(String(unit)), ts) }

// Like matches s with a pattern, in which % stands for any string, _ for any character, and a
// backslash takes the meaning from what follows it.
func Like(s, pattern Expr) Expr { return Call(FuncLike, s, pattern) }

// Concat joins strings.
func Concat(args ...Expr) Expr { return Call(FuncConcat, args...) }

// Equal tells whether two expressions are the same, letter by letter.
func (e Expr) Equal(f Expr) bool {
	return e.Func == f.Func && e.Column == f.Column && e.Literal == f.Literal && e.Kind == f.Kind &&
		slices.EqualFunc(e.Args, f.Args, Expr.Equal)
}

// columns is how many columns a row has at least that the expression can be evaluated on.
func (e Expr) columns() int {
	n := 0
	if e.Func == FuncColumn {
		n = e.Column + 1
	}
	for _, a := range e.Args {
		n = max(n, a.columns())
	}
	return n
}

// String prints the expression in the manner of SQL; columns are #0, #1, ...
func (e Expr) String() string { return e.Over(nil) }

// Over is String, only that columns are called by their names: "a", or "a#2" if it is not the only one of that
// name. What has no name stays #2.
func (e Expr) Over(columns []Column) string {
	var b strings.Builder
	e.print(&b, columns)
	return b.String()
}

// nameOf is what a column is called.
func nameOf(column int, columns []Column) string {
	position := "#" + strconv.Itoa(column)
	if column < 0 || column >= len(columns) || columns[column].Name == "" {
		return position
	}
	name := columns[column].Name
	for i, c := range columns {
		if i != column && c.Name == name {
			return name + position
		}
	}
	return name
}

func (e Expr) print(b *strings.Builder, columns []Column) {
	list := func(separator string, args []Expr) {
		b.WriteByte('(')
		for i, a := range args {
			if i > 0 {
				b.WriteString(separator)
			}
			a.print(b, columns)
		}
		b.WriteByte(')')
	}
	switch e.Func {
	case FuncColumn:
		b.WriteString(nameOf(e.Column, columns))
	case FuncLiteral:
		b.WriteString(e.Literal.String())
		if e.Literal.IsNull() {
			b.WriteString("::" + e.Kind.String())
		}
	case FuncCast:
		list(", ", e.Args)
		b.WriteString("::" + e.Kind.String())
	case FuncAdd, FuncSub, FuncMul, FuncDiv, FuncMod, FuncEq, FuncNe, FuncLt, FuncLe, FuncGt, FuncGe, FuncAnd, FuncOr, FuncLike:
		if len(e.Args) < 2 {
			b.WriteString(string(e.Func))
			list(", ", e.Args)
			return
		}
		list(" "+strings.ToUpper(string(e.Func))+" ", e.Args)
	case FuncIsNull:
		list(", ", e.Args)
		b.WriteString(" IS NULL")
	default:
		b.WriteString(string(e.Func))
		list(", ", e.Args)
	}
}
