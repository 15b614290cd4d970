package persist_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
)

// bench runs body as a task of a world, and leaves what it takes to begin out of the figures.
func bench(b *testing.B, body func(w *sim.World)) {
	b.ReportAllocs()
	w := sim.New(sim.Config{})
	defer w.Close()
	w.Go("bench", func() {
		defer w.Stop()
		body(w)
	})
	if err := w.Run(); err != nil {
		b.Fatal(err)
	}
}

func openedForBench(b *testing.B, w *sim.World, s stores) (*persist.WriteHandle, *persist.ReadHandle) {
	c := s.client(w.Host(), persist.Config{})
	writer, err := c.OpenWriter(background, shard)
	if err != nil {
		b.Error(err)
	}
	reader, err := c.OpenReader(background, shard)
	if err != nil {
		b.Error(err)
	}
	return writer, reader
}

// BenchmarkTick is an append without updates, which only moves the upper.
func BenchmarkTick(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			bench(b, func(w *sim.World) {
				writer, _ := openedForBench(b, w, kind.open(w))
				b.ResetTimer()
				for i := range uint64(b.N) {
					if err := writer.CompareAndAppend(background, nil, at(i), at(i+1)); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkCompareAndAppend appends one update to a shard that had some batches, and has fewer
// by now, as its writer merges them.
func BenchmarkCompareAndAppend(b *testing.B) {
	for _, batches := range []uint64{1, 100, 1000} {
		b.Run(fmt.Sprintf("batches=%d", batches), func(b *testing.B) {
			bench(b, func(w *sim.World) {
				var writer *persist.WriteHandle
				next := batches
				b.ResetTimer()
				for range b.N {
					if next == batches { // anew, so that the shard does not grow with b.N
						b.StopTimer()
						writer, _ = openedForBench(b, w, inMemory(w))
						for next = range batches {
							appendOne(b, writer, next)
							w.Sleep(time.Millisecond) // for its maintenance
						}
						next = batches
						b.StartTimer()
					}
					appendOne(b, writer, next)
					if next++; next == batches+20 {
						next = batches
					}
				}
			})
		})
	}
}

func appendOne(b *testing.B, writer *persist.WriteHandle, t uint64) {
	if err := writer.CompareAndAppend(background, []persist.Update{update("row", t, 1)}, at(t), at(t+1)); err != nil {
		b.Error(err)
	}
}

// BenchmarkSnapshot reads a shard of 1000 updates in some batches.
func BenchmarkSnapshot(b *testing.B) {
	const updates = 1000
	for _, batches := range []uint64{1, 100} {
		b.Run(fmt.Sprintf("batches=%d", batches), func(b *testing.B) {
			bench(b, func(w *sim.World) {
				writer, reader := openedForBench(b, w, inMemory(w))
				for i := range batches {
					var rows []persist.Update
					for n := range updates / batches {
						rows = append(rows, update(fmt.Sprint("row ", i, n), i, 1))
					}
					if err := writer.CompareAndAppend(background, rows, at(i), at(i+1)); err != nil {
						b.Error(err)
					}
				}
				b.ResetTimer()
				for range b.N {
					if got, err := reader.SnapshotAndFetch(background, batches-1); err != nil || len(got) == 0 {
						b.Error(len(got), err)
					}
				}
			})
		})
	}
}

// BenchmarkListen takes one event, of one update, off a shard.
func BenchmarkListen(b *testing.B) {
	bench(b, func(w *sim.World) {
		const events = 500
		writer, reader := openedForBench(b, w, inMemory(w))
		for i := range uint64(events) {
			appendOne(b, writer, i)
		}
		var l *persist.Listener
		left := 0
		b.ResetTimer()
		for range b.N {
			if left == 0 {
				b.StopTimer()
				clone, err := reader.Clone(background)
				if err == nil {
					l, err = clone.Listen(background, 0)
				}
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			e, err := l.Next(background)
			if err != nil {
				b.Fatal(err)
			}
			if left = 1; e.Progress == at(events) {
				left = 0
			}
		}
	})
}

// BenchmarkRebuild opens a shard of so many versions, all of which are still there: from the
// first on, and from its newest rollup on.
func BenchmarkRebuild(b *testing.B) {
	const versions = 10_000
	for _, kind := range []struct {
		name string
		cfg  persist.Config
	}{
		{"differences", persist.Config{NoMaintenance: true}},
		{"rollups", persist.Config{CollectInterval: 1 << 30, MergeBatches: 1 << 30}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			bench(b, func(w *sim.World) {
				s := inMemory(w)
				writer, err := s.client(w.Host(), kind.cfg).OpenWriter(background, shard)
				if err != nil {
					b.Fatal(err)
				}
				for i := range uint64(versions) {
					// Every hundredth with data: the others are ticks.
					var rows []persist.Update
					if i%100 == 0 {
						rows = []persist.Update{update("row", i, 1)}
					}
					if err := writer.CompareAndAppend(background, rows, at(i), at(i+1)); err != nil {
						b.Fatal(err)
					}
					w.Sleep(time.Millisecond) // for its maintenance
				}
				b.ResetTimer()
				for range b.N {
					fresh := s.client(w.Host(), persist.Config{})
					if _, err := fresh.OpenWriter(background, shard); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
