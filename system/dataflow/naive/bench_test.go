package naive_test

import (
	"testing"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/naive"
)

func BenchmarkEvaluate(b *testing.B) {
	schema := dataflow.NewSchema(dataflow.Column{Name: "v", Type: dataflow.Type(dataflow.KindInt64)})
	inputs := naive.Inputs{Catalog: dataflow.Catalog{"t": schema}, Updates: map[dataflow.SourceID][]dataflow.Update{}}
	for i := range int64(1000) {
		inputs.Updates["t"] = append(inputs.Updates["t"], dataflow.Update{Row: dataflow.Pack(dataflow.Int(i)), Diff: 1})
	}
	key := dataflow.Mod(dataflow.Col(0), dataflow.Lit(dataflow.Int(10)))
	plan := dataflow.Get("t").Reduce([]dataflow.Expr{key}, dataflow.Sum(dataflow.Col(0)))
	for b.Loop() {
		if _, err := naive.Evaluate(plan, inputs, 0); err != nil {
			b.Fatal(err)
		}
	}
}
