package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/pipeline"
)

// BenchmarkPipeline runs a whole pipeline for ten virtual seconds, with ten transactions in each.
func BenchmarkPipeline(b *testing.B) {
	const virtual = 10
	began := time.Now()
	for b.Loop() {
		w := sim.New(sim.Config{Seed: 1})
		cfg := orders()
		deploy(w, cfg)
		w.Go("user", func() {
			defer w.Stop()
			writes := pipeline.DialSource(w.Host(), cfg)
			setUp(w, cfg, writes)
			for n := range 10 * virtual {
				row := pipeline.EncodeValue(dataflow.String(fmt.Sprintf("customer %d", n%7)), dataflow.Int(int64(n)))
				if _, err := writes.Commit(context.Background(), "", []source.Mutation{source.Put(fmt.Sprintf("orders/%d", n%20), row)}); err != nil {
					b.Error(err)
				}
				w.Sleep(100 * time.Millisecond)
			}
		})
		if err := w.Run(); err != nil {
			b.Error(err)
		}
		w.Close()
	}
	b.ReportMetric(float64(virtual*b.N)/time.Since(began).Seconds(), "sim-s/s")
}
