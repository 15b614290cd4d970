package naive_test

import (
	"fmt"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/naive"
)

func ExampleEvaluate() {
	plan := dataflow.Get("t").Reduce([]dataflow.Expr{dataflow.Col(0)}, dataflow.Max(dataflow.Col(1)))
	update := func(key string, value int64, time uint64, diff int64) dataflow.Update {
		return dataflow.Update{Row: dataflow.Pack(dataflow.String(key), dataflow.Int(value)), Time: time, Diff: diff}
	}
	inputs := naive.Inputs{
		Catalog: dataflow.Catalog{"t": dataflow.NewSchema(
			dataflow.Column{Name: "k", Type: dataflow.Type(dataflow.KindString)},
			dataflow.Column{Name: "v", Type: dataflow.Type(dataflow.KindInt64)},
		)},
		Updates: map[dataflow.SourceID][]dataflow.Update{"t": {
			update("a", 1, 3, +1), update("a", 2, 4, +1), update("b", 5, 4, +1), update("a", 2, 5, -1),
		}},
	}
	for at := range uint64(6) {
		contents, err := naive.Evaluate(plan, inputs, at)
		fmt.Println(at, contents.Rows, err)
	}
	// Output:
	// 0 [] <nil>
	// 1 [] <nil>
	// 2 [] <nil>
	// 3 [('a', 1):+1] <nil>
	// 4 [('a', 2):+1 ('b', 5):+1] <nil>
	// 5 [('a', 1):+1 ('b', 5):+1] <nil>
}
