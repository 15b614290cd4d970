package dataflowtest_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/dataflowtest"
	"github.com/simrun-dev/simrun/system/dataflow/naive"
)

// example is a plan with all that it reads.
type example struct {
	plan   dataflow.Plan
	inputs naive.Inputs
}

var examples = rapid.Custom(func(t *rapid.T) example {
	e := example{inputs: naive.Inputs{Catalog: dataflowtest.Catalog(t), Now: func(uint64) int64 { return 10 }}}
	e.inputs.Updates = map[dataflow.SourceID][]dataflow.Update{}
	e.plan = dataflowtest.Plan(t, e.inputs.Catalog, 4)
	for _, id := range e.plan.Sources() {
		e.inputs.Updates[id] = dataflowtest.Updates(t, e.inputs.Catalog[id], 12, 0, 4)
	}
	return e
})

// TestReach: the generators bring forth every operator, function, aggregate and error, and these
// matter: the operator's output has rows.
func TestReach(t *testing.T) {
	reached := map[string]int{}
	for seed := range 3000 {
		e := examples.Example(seed)
		c, err := naive.Evaluate(e.plan, e.inputs, 4)
		require.NoError(t, err)
		if len(c.Rows) > 0 {
			visit(e.plan, reached)
		}
		for _, failed := range c.Errors {
			for _, cause := range causes {
				if errors.Is(failed.Err, cause) {
					reached[cause.Error()]++
				}
			}
		}
	}
	for _, name := range everything {
		require.Greater(t, reached[name], 2, "%s in %v", name, reached)
	}
}

func visit(p dataflow.Plan, reached map[string]int) {
	reached[string(p.Op)]++
	if p.Outer {
		reached["outer"]++
	}
	for _, e := range p.Exprs {
		visitExpr(e, reached)
	}
	for _, a := range p.Aggregates {
		reached[string(a.Func)]++
		if a.Distinct {
			reached["distinct "+string(a.Func)]++
		}
	}
	for _, in := range p.Inputs {
		visit(in, reached)
	}
}

func visitExpr(e dataflow.Expr, reached map[string]int) {
	reached[string(e.Func)]++
	for _, a := range e.Args {
		visitExpr(a, reached)
	}
}

var causes = []error{
	dataflow.ErrDivisionByZero, dataflow.ErrOverflow, dataflow.ErrInvalidCast, dataflow.ErrInvalidArgument,
	dataflow.ErrNegativeMultiplicity,
}

var everything = []string{
	"get", "constant", "map", "filter", "project", "reduce", "distinct", "union", "negate", "threshold", "join",
	"outer", "topk", "expire",
	"count(*)", "count", "sum", "min", "max", "avg", "any", "all",
	"distinct sum", "distinct count", "distinct avg", "distinct min",
	"column", "literal", "+", "-", "*", "/", "%", "neg", "abs", "=", "<>", "<", "<=", ">", ">=", "and", "or", "not",
	"is null", "case", "coalesce", "nullif", "greatest", "least", "in", "cast", "date_bin", "date_trunc", "like",
	"concat", "length", "lower", "upper", "trim", "substr", "starts_with",
	"division by zero", "out of range", "invalid cast", "invalid argument", "negative multiplicity",
}
