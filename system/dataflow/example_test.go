package dataflow_test

import (
	"fmt"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// Orders are counted and added up in windows of ten milliseconds, and the counts are kept for
// reading as of any time.
func Example() {
	window := dataflow.DateBin(dataflow.Lit(dataflow.Interval(10)), dataflow.Col(1))
	plan := dataflow.Get("orders").
		Reduce([]dataflow.Expr{window}, dataflow.CountAll(), dataflow.Sum(dataflow.Col(0))).
		As("window", "n", "total")
	fmt.Print(plan)

	catalog := dataflow.Catalog{"orders": dataflow.NewSchema(
		dataflow.Column{Name: "price", Type: dataflow.Type(dataflow.KindInt64)},
		dataflow.Column{Name: "at", Type: dataflow.Type(dataflow.KindTimestamp)},
	)}
	flow, err := dataflow.New(plan, dataflow.Config{Sources: catalog})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(flow.Schema())
	counts, _ := dataflow.NewArrangement(flow.Schema(), []int{0}, 0)

	order := func(price, at int64, time uint64, diff int64) dataflow.Update {
		return dataflow.Update{Row: dataflow.Pack(dataflow.Int(price), dataflow.Timestamp(at)), Time: time, Diff: diff}
	}
	flow.Push("orders", []dataflow.Update{
		order(5, 13, 1, +1), order(7, 19, 1, +1), order(9, -1, 1, +1),
		order(5, 13, 2, -1), // never mind
	})
	flow.Advance("orders", persist.At(3))
	for flow.Step(1000) {
	}
	out := flow.Take()
	for _, u := range out.Updates {
		fmt.Println(u)
	}
	counts.Apply(out)
	rows, _, err := counts.Lookup(dataflow.Pack(dataflow.Timestamp(10)), 2)
	fmt.Println(rows, err)
	_, _, err = counts.Snapshot(3)
	fmt.Println(err)
	// Output:
	// Reduce by [date_bin(INTERVAL '10 ms', #1)] [count(*), sum(#0)] as (window, n, total)
	//   Get orders
	// (window timestamp, n int64, total int64)
	// ('1969-12-31T23:59:59.990Z', 1, 9)@1:+1
	// ('1970-01-01T00:00:00.010Z', 2, 12)@1:+1
	// ('1970-01-01T00:00:00.010Z', 1, 7)@2:+1
	// ('1970-01-01T00:00:00.010Z', 2, 12)@2:-1
	// [('1970-01-01T00:00:00.010Z', 1, 7):+1] <nil>
	// dataflow: cannot read as of 3, since [0], upper [3]: the time is not before the upper yet
}

func ExampleCompile() {
	schema := dataflow.NewSchema(
		dataflow.Column{Name: "price", Type: dataflow.Type(dataflow.KindInt64).OrNull()},
		dataflow.Column{Name: "n", Type: dataflow.Type(dataflow.KindInt64)},
	)
	e := dataflow.Gt(dataflow.Div(dataflow.Col(0), dataflow.Col(1)), dataflow.Lit(dataflow.Int(3)))
	expensive, err := dataflow.Compile(e, schema)
	fmt.Println(e, expensive.Type(), err)
	for _, row := range []dataflow.Row{
		dataflow.Pack(dataflow.Int(8), dataflow.Int(2)),
		dataflow.Pack(dataflow.Null(), dataflow.Int(2)),
		dataflow.Pack(dataflow.Int(8), dataflow.Int(0)),
	} {
		fmt.Println(expensive.Eval(row))
	}
	// Output:
	// ((#0 / #1) > 3) bool? <nil>
	// true <nil>
	// NULL <nil>
	// NULL division by zero in (price / n)
}
