package naive

import (
	"math"
	"math/big"
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
)

// reduce collects the groups with all their rows, and then looks at each.
func (in Inputs) reduce(p dataflow.Plan, out *contents, tuples []tuple) {
	columns := in.columns(p.Inputs[0])
	groups := map[dataflow.Row][]tuple{} // the tuples hold the aggregates' arguments
	for _, t := range tuples {
		env := environment{columns: columns, row: t.data}
		key, err := env.evalAll(p.Exprs)
		var args []dataflow.Datum
		if err == nil {
			args, err = env.arguments(p.Aggregates)
		}
		if err != nil {
			out.fail(*err, t.count)
			continue
		}
		k := dataflow.Pack(key...)
		groups[k] = append(groups[k], tuple{args, t.count})
	}
	if one := dataflow.Pack(); p.Default != "" && groups[one] == nil {
		groups[one] = []tuple{}
	}
	for key, group := range groups {
		row, err := result(p, columns, key, group)
		switch {
		case err != nil:
			out.fail(*err, 1)
		case row != nil:
			out.add(dataflow.Pack(row...), 1)
		}
	}
}

func (env environment) evalAll(exprs []dataflow.Expr) ([]dataflow.Datum, *dataflow.RowError) {
	var data []dataflow.Datum
	for _, e := range exprs {
		d, err := env.eval(e)
		if err != nil {
			return nil, err
		}
		data = append(data, d)
	}
	return data, nil
}

func (env environment) arguments(aggregates []dataflow.Aggregate) ([]dataflow.Datum, *dataflow.RowError) {
	exprs := make([]dataflow.Expr, len(aggregates))
	for i, a := range aggregates {
		if exprs[i] = a.Arg; a.Func == dataflow.AggCountAll {
			exprs[i] = dataflow.Lit(dataflow.Bool(true))
		}
	}
	return env.evalAll(exprs)
}

// result is the group's row; nil if there is no group.
func result(p dataflow.Plan, columns []dataflow.Column, key dataflow.Row, group []tuple) ([]dataflow.Datum, *dataflow.RowError) {
	total := int64(0)
	for _, t := range group {
		total += t.count
	}
	wrong := negative(unpack(key))
	row := unpack(key)
	empty, broken, overflow := total == 0, total < 0, (*dataflow.RowError)(nil)
	for i, a := range p.Aggregates {
		v := valuesOf(a, i, group)
		empty = empty && (a.Func == dataflow.AggCountAll || v.isNothing(a))
		broken = broken || a.Func != dataflow.AggCountAll && v.isWrong(a)
		d, err := v.result(a, columns, total)
		if overflow == nil {
			overflow = err
		}
		row = append(row, d)
	}
	switch {
	case empty && p.Default != "":
		return unpack(p.Default), nil
	case empty:
		return nil, nil
	case broken || total == 0:
		return nil, &wrong
	case overflow != nil:
		return nil, overflow
	}
	if row == nil {
		row = []dataflow.Datum{}
	}
	return row, nil
}

// counted is a value with its count.
type counted struct {
	value dataflow.Datum
	n     int64
}

// values are an aggregate's arguments in a group, without NULL, each once with its count.
type values struct {
	counts []counted // in order
	// of counts, or of values that are there if only different values matter
	count, trues          int64
	sum                   *big.Rat
	plusInf, minInf, nans int64
}

func valuesOf(a dataflow.Aggregate, i int, group []tuple) values {
	v := values{sum: new(big.Rat)}
	for _, t := range group {
		d := t.data[i]
		at, found := slices.BinarySearchFunc(v.counts, d, func(c counted, d dataflow.Datum) int { return c.value.Compare(d) })
		switch {
		case d.IsNull():
		case found:
			v.counts[at].n += t.count
		default:
			v.counts = slices.Insert(v.counts, at, counted{d, t.count})
		}
	}
	v.counts = slices.DeleteFunc(v.counts, func(c counted) bool { return c.n == 0 })
	for _, c := range v.counts {
		d, n := c.value, c.n
		if a.Distinct {
			n = min(max(n, 0), 1)
		}
		v.count += n
		switch d.Kind() {
		case dataflow.KindBool:
			if d.Bool() {
				v.trues += n
			}
		case dataflow.KindFloat64:
			v.addFloat(d.Float(), n)
		case dataflow.KindInt64, dataflow.KindInterval:
			v.sum.Add(v.sum, new(big.Rat).Mul(new(big.Rat).SetInt64(d.Int()), new(big.Rat).SetInt64(n)))
		}
	}
	return v
}

func (v *values) addFloat(f float64, n int64) {
	switch {
	case math.IsNaN(f):
		v.nans += n
	case math.IsInf(f, 1):
		v.plusInf += n
	case math.IsInf(f, -1):
		v.minInf += n
	default:
		v.sum.Add(v.sum, new(big.Rat).Mul(new(big.Rat).SetFloat64(f), new(big.Rat).SetInt64(n)))
	}
}

// keepsValues tells whether the aggregate depends on which values there are, not on sums alone.
func keepsValues(a dataflow.Aggregate) bool {
	return a.Distinct || a.Func == dataflow.AggMin || a.Func == dataflow.AggMax
}

// isNothing tells whether the aggregate can't tell its values from none.
func (v values) isNothing(a dataflow.Aggregate) bool {
	if keepsValues(a) && len(v.counts) > 0 {
		return false
	}
	switch a.Func {
	case dataflow.AggSum, dataflow.AggAvg:
		return v.count == 0 && v.sum.Sign() == 0 && v.plusInf == 0 && v.minInf == 0 && v.nans == 0
	case dataflow.AggAny, dataflow.AggAll:
		return v.count == 0 && v.trues == 0
	default:
		return v.count == 0
	}
}

// isWrong tells whether there can't be such values, as far as the aggregate can tell.
func (v values) isWrong(a dataflow.Aggregate) bool {
	if keepsValues(a) && slices.ContainsFunc(v.counts, func(c counted) bool { return c.n < 0 }) {
		return true
	}
	return v.count < 0 || v.count == 0 && !v.isNothing(a)
}

func (v values) result(a dataflow.Aggregate, columns []dataflow.Column, total int64) (dataflow.Datum, *dataflow.RowError) {
	switch {
	case a.Func == dataflow.AggCountAll:
		return dataflow.Int(total), nil
	case a.Func == dataflow.AggCount:
		return dataflow.Int(v.count), nil
	case v.count == 0: // there may be values, wrong ones
		return dataflow.Null(), nil
	}
	least, greatest := v.counts[0].value, v.counts[len(v.counts)-1].value
	switch a.Func {
	case dataflow.AggMin:
		return least, nil
	case dataflow.AggMax:
		return greatest, nil
	case dataflow.AggAny:
		return dataflow.Bool(v.trues > 0), nil
	case dataflow.AggAll:
		return dataflow.Bool(v.trues >= v.count), nil
	case dataflow.AggAvg:
		return dataflow.Float(v.float() / float64(v.count)), nil
	}
	if least.Kind() == dataflow.KindFloat64 {
		return dataflow.Float(v.float()), nil
	}
	if !v.sum.Num().IsInt64() {
		err := dataflow.NewRowError(dataflow.ErrOverflow, a.Over(columns))
		return dataflow.Null(), &err
	}
	if least.Kind() == dataflow.KindInterval {
		return dataflow.Interval(v.sum.Num().Int64()), nil
	}
	return dataflow.Int(v.sum.Num().Int64()), nil
}

func (v values) float() float64 {
	switch {
	case v.nans != 0 || v.plusInf != 0 && v.minInf != 0:
		return math.NaN()
	case v.plusInf != 0:
		return math.Inf(1)
	case v.minInf != 0:
		return math.Inf(-1)
	}
	f, _ := v.sum.Float64()
	return f
}
