package dataflow

import "fmt"

// AggregateFunc names an aggregate. The names are part of the encoding of plans.
type AggregateFunc string

const (
	AggCountAll AggregateFunc = "count(*)"
	AggCount    AggregateFunc = "count"
	AggSum      AggregateFunc = "sum"
	AggMin      AggregateFunc = "min"
	AggMax      AggregateFunc = "max"
	AggAvg      AggregateFunc = "avg"
	AggAny      AggregateFunc = "any"
	AggAll      AggregateFunc = "all"
)

// Aggregate is a function of the rows of a group. All but [CountAll] see the values of Arg that
// are not NULL, each as often as its row is there, or once if Distinct. If there are none, all
// but the counts are NULL.
type Aggregate struct {
	Func     AggregateFunc `cbor:"1,keyasint"`
	Arg      Expr          `cbor:"2,keyasint,omitzero"`
	Distinct bool          `cbor:"3,keyasint,omitempty"`
}

// CountAll counts rows.
func CountAll() Aggregate { return Aggregate{Func: AggCountAll} }

// Count counts values.
func Count(arg Expr) Aggregate { return Aggregate{Func: AggCount, Arg: arg} }

// Sum adds up ints, intervals or floats. It is exact; a sum of ints or intervals that is out of
// range is the error [ErrOverflow], while it is, and a sum of floats is rounded once.
func Sum(arg Expr) Aggregate { return Aggregate{Func: AggSum, Arg: arg} }

// Min is the least value, of any kind.
func Min(arg Expr) Aggregate { return Aggregate{Func: AggMin, Arg: arg} }

// Max is the greatest value, of any kind.
func Max(arg Expr) Aggregate { return Aggregate{Func: AggMax, Arg: arg} }

// Avg is the mean of ints or floats, a float: the exact sum, rounded, divided by the count.
func Avg(arg Expr) Aggregate { return Aggregate{Func: AggAvg, Arg: arg} }

// Any tells whether any bool is true.
func Any(arg Expr) Aggregate { return Aggregate{Func: AggAny, Arg: arg} }

// All tells whether all bools are true.
func All(arg Expr) Aggregate { return Aggregate{Func: AggAll, Arg: arg} }

// Of is the aggregate over the different values.
func (a Aggregate) Of(distinct bool) Aggregate {
	a.Distinct = distinct
	return a
}

// String is "sum(#1)", or "count(DISTINCT #1)".
func (a Aggregate) String() string { return a.Over(nil) }

// Over is String, only that columns are called by their names, as [Expr.Over] says.
func (a Aggregate) Over(columns []Column) string {
	switch {
	case a.Func == AggCountAll:
		return string(a.Func)
	case a.Distinct:
		return fmt.Sprintf("%s(DISTINCT %s)", a.Func, a.Arg.Over(columns))
	}
	return fmt.Sprintf("%s(%s)", a.Func, a.Arg.Over(columns))
}

// compile checks the aggregate, and returns its argument and the type of its result. The error
// is a [*TypeError].
func (a Aggregate) compile(columns []Column) (arg typed, result ColumnType, err error) {
	if a.Func == AggCountAll {
		if a.Distinct {
			return arg, result, &TypeError{a.String(), "count(*) can't be of distinct values"}
		}
		return arg, Type(KindInt64), nil
	}
	if arg, err = compile(a.Arg, columns); err != nil {
		return arg, result, err
	}
	result = arg.ColumnType
	refuse := func() (typed, ColumnType, error) {
		return arg, result, &TypeError{a.String(), fmt.Sprintf("there is no %s of kind %v", a.Func, arg.Kind)}
	}
	switch a.Func {
	case AggCount:
		result = Type(KindInt64)
	case AggMin, AggMax:
	case AggSum:
		if !arg.Kind.numeric() && arg.Kind != KindInterval {
			return refuse()
		}
	case AggAvg:
		if !arg.Kind.numeric() {
			return refuse()
		}
		result.Kind = KindFloat64
	case AggAny, AggAll:
		if arg.Kind != KindBool {
			return refuse()
		}
	default:
		return arg, result, &TypeError{a.String(), fmt.Sprintf("there is no aggregate %q", string(a.Func))}
	}
	return arg, result, nil
}
