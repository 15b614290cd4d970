package dataflow_test

import (
	"fmt"
	"testing"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

const benchRows = 1_000_000

var benchSchema = dataflow.NewSchema(
	dataflow.Column{Name: "group", Type: dataflow.Type(dataflow.KindString)},
	dataflow.Column{Name: "value", Type: dataflow.Type(dataflow.KindInt64)},
	dataflow.Column{Name: "at", Type: dataflow.Type(dataflow.KindTimestamp)},
	dataflow.Column{Name: "float", Type: dataflow.Type(dataflow.KindFloat64)},
)

// benchUpdates are n rows in that many groups, a thousand rows a time: with a thousand groups every
// group changes at every time.
func benchUpdates(n, groups int) []dataflow.Update {
	updates := make([]dataflow.Update, n)
	for i := range updates {
		row := dataflow.Pack(
			dataflow.String(fmt.Sprintf("group-%d", i*7919%groups)), dataflow.Int(int64(i%1000)),
			dataflow.Timestamp(int64(i)), dataflow.Float(float64(i)/8))
		updates[i] = dataflow.Update{Row: row, Time: uint64(i / 1000), Diff: 1}
	}
	return updates
}

// benchmark pushes all updates to all sources of the plan, and runs. An operation is all of it.
func benchmark(b *testing.B, plan dataflow.Plan, updates []dataflow.Update) {
	catalog := dataflow.Catalog{}
	for _, id := range plan.Sources() {
		catalog[id] = benchSchema
	}
	b.ReportAllocs()
	for b.Loop() {
		flow, err := dataflow.New(plan, dataflow.Config{Sources: catalog})
		if err != nil {
			b.Fatal(err)
		}
		for _, id := range plan.Sources() {
			if err := flow.Push(id, updates); err != nil {
				b.Fatal(err)
			}
			if err := flow.Advance(id, persist.Empty()); err != nil {
				b.Fatal(err)
			}
		}
		changes := 0
		for more := true; more; {
			more = flow.Step(1 << 14)
			changes += len(flow.Take().Updates)
		}
		if changes == 0 {
			b.Fatal("no output")
		}
	}
	b.ReportMetric(float64(b.N*len(updates)*len(plan.Sources()))/b.Elapsed().Seconds(), "updates/s")
}

func BenchmarkReduce(b *testing.B) {
	updates := benchUpdates(benchRows, 1000)
	key, value := []dataflow.Expr{dataflow.Col(0)}, dataflow.Col(1)
	window := dataflow.DateBin(dataflow.Lit(dataflow.Interval(60_000)), dataflow.Col(2))
	b.Run("count+sum, 100 groups", func(b *testing.B) {
		benchmark(b, dataflow.Get("s").Reduce(key, dataflow.CountAll(), dataflow.Sum(value)), benchUpdates(benchRows, 100))
	})
	for _, c := range []struct {
		name string
		plan dataflow.Plan
	}{
		{"count+sum", dataflow.Get("s").Reduce(key, dataflow.CountAll(), dataflow.Sum(value))},
		{"sum of floats", dataflow.Get("s").Reduce(key, dataflow.Sum(dataflow.Col(3)))},
		{"min+max", dataflow.Get("s").Reduce(key, dataflow.Min(value), dataflow.Max(value))},
		{"windows", dataflow.Get("s").Map(window).Expire(4, 0).Reduce([]dataflow.Expr{dataflow.Col(0), dataflow.Col(4)}, dataflow.CountAll())},
		{"distinct", dataflow.Get("s").Project(0, 1).Distinct()},
		{"filter+count+sum", dataflow.Get("s").Filter(dataflow.Lt(value, dataflow.Lit(dataflow.Int(500)))).Reduce(key, dataflow.CountAll(), dataflow.Sum(value))},
	} {
		b.Run(c.name, func(b *testing.B) { benchmark(b, c.plan, updates) })
	}
}

func BenchmarkJoin(b *testing.B) {
	benchmark(b, dataflow.Get("l").Join(dataflow.Get("r"), dataflow.On{Left: 2, Right: 2}), benchUpdates(benchRows/5, 1000))
}

func BenchmarkTopK(b *testing.B) {
	order := []dataflow.Order{{Column: 1, Desc: true}}
	benchmark(b, dataflow.Get("s").TopK([]int{0}, order, 3, 0), benchUpdates(benchRows/5, 1000))
}

func BenchmarkArrangement(b *testing.B) {
	updates := benchUpdates(benchRows/5, 1000)
	b.ReportAllocs()
	for b.Loop() {
		a, err := dataflow.NewArrangement(benchSchema, []int{0}, 0)
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; i < len(updates); i += 1000 {
			at := uint64(i / 1000)
			if err := a.Apply(dataflow.Output{Lower: persist.At(at), Upper: persist.At(at + 1), Updates: updates[i : i+1000]}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N*len(updates))/b.Elapsed().Seconds(), "updates/s")
}

func BenchmarkEval(b *testing.B) {
	e := dataflow.And(
		dataflow.Gt(dataflow.Add(dataflow.Col(1), dataflow.Lit(dataflow.Int(1))), dataflow.Lit(dataflow.Int(10))),
		dataflow.Like(dataflow.Col(0), dataflow.Lit(dataflow.String("group-%"))))
	compiled, err := dataflow.Compile(e, benchSchema)
	if err != nil {
		b.Fatal(err)
	}
	row := benchUpdates(1000, 10)[999].Row
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compiled.Eval(row); err != nil {
			b.Fatal(err)
		}
	}
}
