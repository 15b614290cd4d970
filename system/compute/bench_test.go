package compute_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// BenchmarkReduce sends a million updates of 10,000 groups through a replica, from the shard to a peek, in
// simulation: network and stores cost nothing but their code, and workers take turns on one core.
func BenchmarkReduce(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint("workers=", workers), func(b *testing.B) { benchmarkReduce(b, workers) })
	}
}

func benchmarkReduce(b *testing.B, workers int) {
	const updates, batch, groups = 1_000_000, 50_000, 10_000
	for range b.N {
		withWorkers(b, 1, 1, workers, func(c *cluster) {
			controller := c.controller(b, compute.Config{})
			require.NoError(b, controller.AddReplica("r1", address("r1")))
			tab := c.table(b, "t")
			tab.write(1)
			create(b, controller, compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: protocol.Sink{Kind: protocol.Index}})
			controller.InitializationComplete()
			peek(b, controller, compute.PeekRequest{Target: 1, Timestamp: 1})
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := time.Now()
			for n := range updates / batch {
				rows := make([]persist.Update, batch)
				for i := range rows {
					rows[i] = persist.Update{Data: string(pair(int64(i%groups), int64(n*batch+i))), Time: uint64(2 + n), Diff: 1}
				}
				require.NoError(b, tab.writer.CompareAndAppend(background, rows, persist.At(uint64(2+n)), persist.At(uint64(3+n))))
			}
			count := dataflow.Get(protocol.PeekSource).Reduce(nil, dataflow.CountAll())
			got := peek(b, controller, compute.PeekRequest{Target: 1, Timestamp: 1 + updates/batch, Plan: &count})
			b.ReportMetric(updates/time.Since(began).Seconds(), "updates/s")
			require.Equal(b, counted(dataflow.Pack(dataflow.Int(groups))), got)
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
		})
	}
}

// BenchmarkPeek peeks one of 1,000 rows by its key.
func BenchmarkPeek(b *testing.B) {
	withWorkers(b, 1, 1, 1, func(c *cluster) {
		controller := c.controller(b, compute.Config{})
		require.NoError(b, controller.AddReplica("r1", address("r1")))
		tab := c.table(b, "t")
		rows := make([][2]int64, 1000)
		for i := range rows {
			rows[i] = [2]int64{int64(i), 1}
		}
		tab.write(1, rows...)
		create(b, controller, compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: indexed})
		controller.InitializationComplete()
		key := dataflow.Pack(dataflow.Int(7))
		req := compute.PeekRequest{Target: 1, Timestamp: 1, Key: &key}
		peek(b, controller, req)
		b.ResetTimer()
		for range b.N {
			peek(b, controller, req)
		}
	})
}
