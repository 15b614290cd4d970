package storage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

// BenchmarkTask is a second in the life of a task over stores in memory: one batch of
// commands, on a collection of a thousand rows. Each adds a row and removes the one before, so that the
// collection stays as large.
func BenchmarkTask(b *testing.B) {
	for _, commands := range []int{1, 100} {
		b.Run(fmt.Sprintf("commands=%d", commands), func(b *testing.B) {
			b.ReportAllocs()
			w := sim.New(sim.Config{})
			defer w.Close()
			w.Go("bench", func() {
				defer w.Stop()
				h := w.Host()
				client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
				writer, err := client.OpenWriter(background, shard)
				if err != nil {
					b.Error(err)
				}
				task := storage.Spawn(h, storage.TaskConfig{
					ID: "u1", Writer: writer,
					OpenReader: func(ctx context.Context) (*persist.ReadHandle, error) { return client.OpenReader(ctx, shard) },
				})
				var all []string
				for i := range 1000 {
					all = append(all, fmt.Sprintf("row %04d", i))
				}
				if err := task.Write(background, add(all...)); err != nil {
					b.Error(err)
				}
				w.Sleep(time.Second)
				b.ResetTimer()
				answered := 0
				sent := 0
				for range b.N {
					for range commands {
						task.Send(remove(fmt.Sprint("new ", sent)), nil)
						sent++
						task.Send(add(fmt.Sprint("new ", sent)), func(err error) {
							if err != nil {
								b.Error(err)
							}
							answered++
						})
					}
					w.Sleep(time.Second)
				}
				w.Sleep(2 * time.Second)
				if answered != b.N*commands {
					b.Errorf("%d commands, %d answers", b.N*commands, answered)
				}
			})
			if err := w.Run(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkAppendOnly is a second in the life of an append-only task over stores in memory: one batch of
// commands, of a row each.
func BenchmarkAppendOnly(b *testing.B) {
	for _, commands := range []int{1, 100} {
		b.Run(fmt.Sprintf("commands=%d", commands), func(b *testing.B) {
			b.ReportAllocs()
			w := sim.New(sim.Config{})
			defer w.Close()
			w.Go("bench", func() {
				defer w.Stop()
				h := w.Host()
				client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
				answered, sent := 0, 0
				var task *storage.Handle
				for i := range b.N {
					if i%100 == 0 { // on a new shard, so that its state does not grow with b.N
						b.StopTimer()
						writer, err := client.OpenWriter(background, persist.ShardID(fmt.Sprint("shard ", i)))
						if err != nil {
							b.Error(err)
						}
						if task != nil {
							task.CloseSend()
						}
						task = storage.SpawnAppendOnly(h, storage.AppendOnlyConfig{ID: "u1", Writer: writer})
						b.StartTimer()
					}
					for range commands {
						sent++
						task.Send(add(fmt.Sprint("row ", sent)), func(err error) {
							if err != nil {
								b.Error(err)
							}
							answered++
						})
					}
					w.Sleep(time.Second)
				}
				w.Sleep(2 * time.Second)
				if answered != sent {
					b.Errorf("%d commands, %d answers", sent, answered)
				}
			})
			if err := w.Run(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkManager is what registering a collection and unregistering it takes.
func BenchmarkManager(b *testing.B) {
	b.ReportAllocs()
	w := sim.New(sim.Config{})
	defer w.Close()
	w.Go("bench", func() {
		defer w.Stop()
		h := w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		writer, err := client.OpenWriter(background, shard)
		if err != nil {
			b.Error(err)
		}
		m := storage.NewCollectionManager(h, storage.ManagerConfig{})
		b.ResetTimer()
		for range b.N {
			if _, err := m.RegisterAppendOnly("u1", storage.AppendOnlyCollection{Writer: writer}); err != nil {
				b.Error(err)
			}
			if err := m.Unregister(background, "u1"); err != nil {
				b.Error(err)
			}
		}
	})
	if err := w.Run(); err != nil {
		b.Fatal(err)
	}
}
