package compute_test

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// BenchmarkReduce sends a million updates through a replica, from the shard to a peek, in simulation: network and stores
// cost nothing but their code, and workers take turns on one core. It reports
//
//   - updates/s, of wall time, the making and storing of the updates included;
//   - held-B/group, what the heap loses when the collection is dropped, by group: the reduce's state and the index;
//   - peak-MiB, the most that the heap has held beside what was there before. The shard, which is in memory too, counts.
func BenchmarkReduce(b *testing.B) {
	for _, groups := range []int{10_000, 100_000} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("groups=%d/workers=%d", groups, workers), func(b *testing.B) { benchmarkReduce(b, groups, workers) })
		}
	}
}

func benchmarkReduce(b *testing.B, groups, workers int) {
	const updates, batch = 1_000_000, 50_000
	for range b.N {
		withWorkers(b, 1, 1, workers, func(c *cluster) {
			controller := c.controller(b, compute.Config{})
			require.NoError(b, controller.AddReplica("r1", address("r1")))
			tab := c.table(b, "t")
			tab.write(1)
			create(b, controller, compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: protocol.Sink{Kind: protocol.Index}})
			controller.InitializationComplete()
			peek(b, controller, compute.PeekRequest{Target: 1, Timestamp: 1})
			before := heapInUse()
			peak := watchHeap()
			began := time.Now()
			for n := range updates / batch {
				rows := make([]persist.Update, batch)
				for i := range rows {
					at := n*batch + i
					rows[i] = persist.Update{Data: string(pair(int64(at%groups), int64(at))), Time: uint64(2 + n), Diff: 1}
				}
				require.NoError(b, tab.writer.CompareAndAppend(background, rows, persist.At(uint64(2+n)), persist.At(uint64(3+n))))
			}
			count := dataflow.Get(protocol.PeekSource).Reduce(nil, dataflow.CountAll())
			got := peek(b, controller, compute.PeekRequest{Target: 1, Timestamp: 1 + updates/batch, Plan: &count})
			b.ReportMetric(updates/time.Since(began).Seconds(), "updates/s")
			b.ReportMetric(float64(peak()-before)/(1<<20), "peak-MiB")
			require.Equal(b, counted(dataflow.Pack(dataflow.Int(int64(groups)))), got)

			full := heapInUse()
			require.NoError(b, controller.DropCollections(1))
			c.eventually(b, "the end of the collection", func() bool {
				s, err := controller.Replica("r1")
				return err == nil && len(s.Frontiers) == 0
			})
			b.ReportMetric(float64(full-heapInUse())/float64(groups), "held-B/group")
		})
	}
}

// heapInUse is how many bytes the heap holds that are of use.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// watchHeap looks at the heap until peak is called, which returns the most that it has held.
func watchHeap() (peak func() int64) {
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for highest := int64(0); ; {
			metrics.Read(sample)
			highest = max(highest, int64(sample[0].Value.Uint64()))
			select {
			case <-stop:
				most <- highest
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-most
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
