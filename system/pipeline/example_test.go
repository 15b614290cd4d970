package pipeline_test

import (
	"context"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/pipeline"
)

// A whole pipeline in a simulated world: orders of a source, a flow and a view that both add them up by customer, and a
// view of the flow's result.
func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	cfg := orders()
	deploy(w, cfg)
	w.Go("user", func() {
		defer w.Stop()
		h := w.Host()
		writes := pipeline.DialSource(h, cfg)
		setUp(w, cfg, writes)
		order := func(id, customer string, amount int64) source.Mutation {
			return source.Put("orders/"+id, pipeline.EncodeValue(dataflow.String(customer), dataflow.Int(amount)))
		}
		_, _ = writes.Commit(context.Background(), "1", []source.Mutation{order("1", "ann", 10), order("2", "bob", 7)})
		at, err := writes.Commit(context.Background(), "2", []source.Mutation{order("1", "ann", 12), order("3", "ann", 30)})
		if err != nil {
			fmt.Println(err)
			return
		}
		client := pipeline.NewClient(h, cfg)
		for _, view := range []string{"spent", "reported"} {
			var answer pipeline.Answer
			for err != nil || answer.At < at { // until it is complete up to the second transaction
				w.Sleep(100 * time.Millisecond)
				answer, err = client.Peek(context.Background(), view, 0)
			}
			fmt.Println(view)
			for _, r := range answer.Rows {
				fmt.Println(" ", r.Row)
			}
		}
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// spent
	//   ('ann', 42)
	//   ('bob', 7)
	// reported
	//   ('ann', 42)
	//   ('bob', 7)
}

// orders is a pipeline of one table.
func orders() pipeline.Config {
	words, whole := dataflow.Type(dataflow.KindString), dataflow.Type(dataflow.KindInt64)
	table := dataflow.Get("orders")
	return pipeline.Config{
		Topology: pipeline.Topology{
			Blob: "blob", Consensus: "consensus", Coord: "coord", Source: "source",
			Captures: []string{"capture"}, Frontends: []string{"frontend"}, FlowNodes: []string{"flow"},
			Mirrors: []string{"mirror"}, Controllers: []string{"controller"}, Replicas: []string{"replica"},
		},
		Tables: []pipeline.Table{{
			Name: "orders", Prefix: "orders/",
			Columns: []dataflow.Column{{Name: "id", Type: words}, {Name: "customer", Type: words}, {Name: "amount", Type: whole}},
		}},
		Flows: []pipeline.Flow{{
			Name: "report", Sink: "reports", SQL: "SELECT customer, sum(amount) AS spent, max(as_of) AS as_of FROM orders GROUP BY customer",
			Columns: []dataflow.Column{{Name: "customer", Type: words}, {Name: "spent", Type: whole.OrNull()}, {Name: pipeline.AsOfColumn, Type: whole.OrNull()}},
		}},
		Views: []pipeline.View{
			{ID: 1, Name: "spent", Tables: []string{"orders"}, Key: []int{0}, Plan: table.Reduce([]dataflow.Expr{dataflow.Col(1)}, dataflow.Sum(dataflow.Col(2)))},
			{ID: 2, Name: "reported", Sinks: []string{"reports"}, Key: []int{0}, Plan: dataflow.Get("reports").Filter(dataflow.IsNull(dataflow.Col(2))).Project(0, 1)},
		},
	}
}

// deploy gives each of the pipeline's processes a machine. One that fails to start, because what it needs is not up
// yet, is started again.
func deploy(w *sim.World, cfg pipeline.Config) {
	run := func(name string, start func(h host.Host) error) {
		w.NewNode(name, func(h host.Host) {
			for start(h) != nil {
				h.Clock().Sleep(100 * time.Millisecond)
			}
		})
	}
	t := cfg.Topology
	run(t.Blob, func(h host.Host) error { _, err := pipeline.StartBlob(h); return err })
	run(t.Consensus, func(h host.Host) error { _, err := pipeline.StartConsensus(h); return err })
	run(t.Coord, func(h host.Host) error { _, err := pipeline.StartCoord(h, coord.StoreConfig{}); return err })
	run(t.Source, func(h host.Host) error { _, err := pipeline.StartSource(h, source.Config{}); return err })
	roles := []struct {
		machines []string
		start    func(host.Host) error
	}{
		{t.Captures, func(h host.Host) error { _, err := pipeline.StartCapture(h, cfg, pipeline.Dial(h, cfg)); return err }},
		{t.Frontends, func(h host.Host) error { _, err := pipeline.StartFrontend(h, cfg, pipeline.Dial(h, cfg)); return err }},
		{t.FlowNodes, func(h host.Host) error {
			_, err := pipeline.StartFlowNode(h, cfg, pipeline.Dial(h, cfg), nil)
			return err
		}},
		{t.Mirrors, func(h host.Host) error { _, err := pipeline.StartMirror(h, cfg, pipeline.Dial(h, cfg)); return err }},
		{t.Controllers, func(h host.Host) error { _, err := pipeline.StartController(h, cfg, pipeline.Dial(h, cfg)); return err }},
		{t.Replicas, func(h host.Host) error {
			_, err := pipeline.StartReplica(h, cfg, pipeline.Dial(h, cfg), nil)
			return err
		}},
	}
	for _, r := range roles {
		for _, name := range r.machines {
			run(name, r.start)
		}
	}
}

// setUp makes what has to be there once.
func setUp(w *sim.World, cfg pipeline.Config, writes *source.Client) {
	h := w.Host()
	links, sql := pipeline.Dial(h, cfg), pipeline.DialFrontends(h, cfg)
	for {
		_, err := writes.AddSpan(context.Background(), 1, "orders/", "orders0")
		if err == nil {
			err = pipeline.Setup(context.Background(), h, cfg, links, sql)
		}
		if err == nil {
			return
		}
		w.Sleep(100 * time.Millisecond)
	}
}
