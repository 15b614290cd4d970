package persist_test

import (
	"fmt"
	"testing"

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

// BenchmarkCompareAndAppend appends one update to a shard that already has some batches, all
// of which are part of every version.
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
