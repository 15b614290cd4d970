package dataflow

// aggregation is an aggregate, compiled.
type aggregation struct {
	Aggregate
	arg    typed
	column int // of arg if it is a plain column, else -1
	// inOrder: the values themselves are kept, as min and max and the different values need.
	inOrder bool
	// overflow is the error of a sum out of range.
	overflow *RowError
}

func newAggregation(a Aggregate, columns []Column) (aggregation, error) {
	arg, _, err := a.compile(columns)
	if err != nil {
		return aggregation{}, err
	}
	compiled := aggregation{Aggregate: a, arg: arg, column: -1, overflow: rowError(ErrOverflow, a.Over(columns))}
	if a.Func != AggCountAll && a.Arg.Func == FuncColumn {
		compiled.column = a.Arg.Column
	}
	compiled.inOrder = a.Distinct || a.Func == AggMin || a.Func == AggMax
	return compiled, nil
}

// accumulator is the state of an aggregate in a group. What an aggregate does not need is zero.
type accumulator struct {
	// count is how many values there are, trues how many of them are true.
	count, trues int64
	ints         wide
	floats       *exactSum
	values       *bag // encoded
}

// add lets the value come diff times, or go -diff times. The value is encoded too, if the aggregate
// keeps values.
func (a *accumulator) add(agg *aggregation, d Datum, encoded string, diff int64) {
	if d.IsNull() {
		return
	}
	if agg.inOrder {
		if a.values == nil {
			a.values = new(bag)
		}
		before := a.values.addPart(encoded, diff)
		if !agg.Distinct {
			a.count += diff
			return
		}
		// What the others see is whether the value is there.
		if diff = sign(before+diff) - sign(before); diff == 0 {
			return
		}
	}
	a.count += diff
	switch agg.Func {
	case AggSum, AggAvg:
		if d.kind == KindFloat64 {
			if a.floats == nil {
				a.floats = new(exactSum)
			}
			a.floats.add(d.float(), diff)
		} else {
			a.ints = a.ints.addProduct(d.num, diff)
		}
	case AggAny, AggAll:
		a.trues += d.num * diff
	}
}

// sign is 1 for what is there. What is there less than zero times is wrong, and not counted.
func sign(count int64) int64 {
	if count > 0 {
		return 1
	}
	return 0
}

// isZero tells whether the state is that of no values.
func (a *accumulator) isZero() bool {
	return a.count == 0 && a.trues == 0 && a.ints.isZero() &&
		(a.floats == nil || a.floats.isZero()) && (a.values == nil || a.values.len == 0)
}

// result is the aggregate's value in a group of that many rows. Negative counts are an error
// without a place.
func (a *accumulator) result(agg *aggregation, rows int64) (Datum, *RowError) {
	if agg.Func == AggCountAll {
		return Int(rows), nil
	}
	if a.count < 0 || a.count == 0 && !a.isZero() || a.values != nil && a.values.negative > 0 {
		return Datum{}, errNegative
	}
	if agg.Func == AggCount {
		return Int(a.count), nil
	}
	if a.count == 0 {
		return Datum{}, nil
	}
	switch agg.Func {
	case AggMin:
		d, _ := decodeDatum(a.values.first().key)
		return d, nil
	case AggMax:
		d, _ := decodeDatum(a.values.last().key)
		return d, nil
	case AggSum:
		if a.floats != nil {
			return Float(a.floats.float64()), nil
		}
		v, ok := a.ints.int64()
		if !ok {
			return Datum{}, agg.overflow
		}
		return Datum{kind: agg.arg.Kind, num: v}, nil
	case AggAvg:
		sum := a.ints.float64()
		if a.floats != nil {
			sum = a.floats.float64()
		}
		return Float(sum / float64(a.count)), nil
	case AggAny:
		return Bool(a.trues > 0), nil
	default:
		return Bool(a.trues >= a.count), nil
	}
}

// errNegative stands for [ErrNegativeMultiplicity] in a group that the caller knows.
var errNegative = new(RowError)

func (a *accumulator) size() Size {
	s := Size{Bytes: 48}
	if a.floats != nil {
		s.Bytes += 8*len(a.floats.words) + 56
	}
	if a.values != nil {
		s = s.plus(Size{a.values.len, a.values.bytes + 40*a.values.len})
	}
	return s
}
