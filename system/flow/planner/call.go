package planner

import (
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/sql"
)

// alike are the functions whose arguments are of one kind, with how many they take.
var alike = map[string]struct {
	dataflow.Func
	least, most int
}{
	"abs":         {dataflow.FuncAbs, 1, 1},
	"coalesce":    {dataflow.FuncCoalesce, 1, many},
	"nullif":      {dataflow.FuncNullIf, 2, 2},
	"greatest":    {dataflow.FuncGreatest, 1, many},
	"least":       {dataflow.FuncLeast, 1, many},
	"concat":      {dataflow.FuncConcat, 1, many},
	"length":      {dataflow.FuncLength, 1, 1},
	"char_length": {dataflow.FuncLength, 1, 1},
	"lower":       {dataflow.FuncLower, 1, 1},
	"upper":       {dataflow.FuncUpper, 1, 1},
	"trim":        {dataflow.FuncTrim, 1, 1},
	"starts_with": {dataflow.FuncStartsWith, 2, 2},
	"mod":         {dataflow.FuncMod, 2, 2},
}

const many = 1 << 20

// call plans a function call. Aggregates never get here but where they can't stand.
func (sc *scope) call(e *sql.Call) (typed, error) {
	if f, ok := alike[e.Name]; ok {
		if err := arity(e, f.least, f.most); err != nil {
			return typed{}, err
		}
		return sc.apply(e, f.Func, e.Args...)
	}
	switch e.Name {
	case "date_bin":
		return sc.dateBin(e)
	case "date_trunc":
		return sc.dateTrunc(e)
	case "tumble_start", "tumble_end":
		start, end, err := sc.tumble(e)
		if e.Name == "tumble_end" {
			return end, err
		}
		return start, err
	case "tumble":
		return typed{}, invalid(e, "tumble(...) stands in GROUP BY, and by itself in SELECT; use tumble_start or tumble_end here")
	case "substr", "substring":
		return sc.substr(e)
	case "now", "current_timestamp", "localtimestamp":
		if sc.flow {
			return typed{}, sql.UnsupportedAt(e.Position(), "a flow that depends on the time of day, by "+e.Name+",")
		}
		return literal(dataflow.Timestamp(sc.now))
	}
	if aggregates[e.Name] != "" {
		return typed{}, invalid(e, "the aggregate %s can't stand here", e.Name)
	}
	return typed{}, sql.Unsupported(e)
}

func arity(e *sql.Call, least, most int) error {
	if e.Star || e.Distinct {
		return sql.Unsupported(e)
	}
	switch n := len(e.Args); {
	case n < least:
		return invalid(e, "%s takes at least %d arguments, not %d", e.Name, least, n)
	case n > most:
		return invalid(e, "%s takes at most %d arguments, not %d", e.Name, most, n)
	}
	return nil
}

// of plans an argument, a NULL or a string literal in the place of a kind being one of it.
func (sc *scope) of(e sql.Expr, kind dataflow.Kind) (typed, error) {
	t, err := sc.expr(e)
	if err != nil {
		return t, err
	}
	if t, err = coerce(e, t, kind); err != nil {
		return t, err
	}
	if t.ColumnType.Kind != kind {
		return t, invalid(e, "%s is of kind %v, not %v", e, t.ColumnType.Kind, kind)
	}
	return t, nil
}

// window plans a size, a timestamp and perhaps an origin.
func (sc *scope) window(e *sql.Call, size, ts int) (list []dataflow.Expr, err error) {
	if err := arity(e, 2, 3); err != nil {
		return nil, err
	}
	for _, arg := range []struct {
		i    int
		kind dataflow.Kind
	}{{size, dataflow.KindInterval}, {ts, dataflow.KindTimestamp}, {2, dataflow.KindTimestamp}} {
		if arg.i == len(e.Args) {
			break
		}
		t, err := sc.of(e.Args[arg.i], arg.kind)
		if err != nil {
			return nil, err
		}
		if arg.i == size && t.Func == dataflow.FuncLiteral && t.Literal.Int() <= 0 {
			return nil, invalid(e.Args[size], "a window of %v: its size must be more than nothing", t.Literal)
		}
		list = append(list, t.Expr)
	}
	return list, nil
}

// dateBin is date_bin(size, ts [, origin]).
func (sc *scope) dateBin(e *sql.Call) (typed, error) {
	list, err := sc.window(e, 0, 1)
	if err != nil {
		return typed{}, err
	}
	return sc.check(e, dataflow.Call(dataflow.FuncDateBin, list...))
}

// tumble is tumble(ts, size [, origin]): where the window that ts lies in starts and ends.
func (sc *scope) tumble(e *sql.Call) (start, end typed, err error) {
	list, err := sc.window(e, 1, 0)
	if err != nil {
		return start, end, err
	}
	bin := dataflow.Call(dataflow.FuncDateBin, list...)
	if start, err = sc.check(e, bin); err != nil {
		return start, end, err
	}
	end, err = sc.check(e, dataflow.Add(bin, list[0]))
	return start, end, err
}

func (sc *scope) dateTrunc(e *sql.Call) (typed, error) {
	if err := arity(e, 2, 2); err != nil {
		return typed{}, err
	}
	unit, err := sc.of(e.Args[0], dataflow.KindString)
	if err != nil {
		return typed{}, err
	}
	ts, err := sc.of(e.Args[1], dataflow.KindTimestamp)
	if err != nil {
		return typed{}, err
	}
	return sc.check(e, dataflow.Call(dataflow.FuncDateTrunc, unit.Expr, ts.Expr))
}

func (sc *scope) substr(e *sql.Call) (typed, error) {
	if err := arity(e, 2, 3); err != nil {
		return typed{}, err
	}
	kinds := slices.Repeat([]dataflow.Kind{dataflow.KindInt64}, len(e.Args))
	kinds[0] = dataflow.KindString
	list := make([]dataflow.Expr, len(e.Args))
	for i, arg := range e.Args {
		t, err := sc.of(arg, kinds[i])
		if err != nil {
			return typed{}, err
		}
		list[i] = t.Expr
	}
	return sc.check(e, dataflow.Call(dataflow.FuncSubstr, list...))
}
