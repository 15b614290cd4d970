package coord_test

import (
	"fmt"
	"testing"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
)

// bench runs body as a task of a world, for a store in memory and for a served one.
func bench(b *testing.B, body func(b *testing.B, w *sim.World, c coord.Client)) {
	run := func(open func(w *sim.World) coord.Client) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			w := sim.New(sim.Config{})
			defer w.Close()
			w.Go("bench", func() {
				defer w.Stop()
				body(b, w, open(w))
			})
			if err := w.Run(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("memory", run(func(w *sim.World) coord.Client { return coord.NewMemory(w.Host(), coord.StoreConfig{}) }))
	b.Run("served", run(func(w *sim.World) coord.Client {
		_, open := served(w, coord.StoreConfig{})
		return open(w.Host())
	}))
}

func BenchmarkTxn(b *testing.B) {
	bench(b, func(b *testing.B, w *sim.World, c coord.Client) {
		r := coord.Revision(0)
		for i := 0; b.Loop(); i++ {
			result, err := c.Txn(background, coord.Txn{
				If:   []coord.Compare{coord.ModifiedAt("k", r)},
				Then: []coord.Op{coord.Put("k", fmt.Sprint(i))},
			})
			if err != nil || !result.Succeeded {
				b.Fatal(err)
			}
			r = result.Revision
		}
	})
}

// BenchmarkRange reads 100 keys out of 1000.
func BenchmarkRange(b *testing.B) {
	bench(b, func(b *testing.B, w *sim.World, c coord.Client) {
		for i := range 1000 {
			if _, err := coord.Write(background, c, coord.Put(fmt.Sprintf("k/%03d", i), "some value")); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			s, err := c.Range(background, coord.Prefix("k/5"), 0)
			if err != nil || len(s.KVs) != 100 {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWatch is a write, and its arrival at a watcher.
func BenchmarkWatch(b *testing.B) {
	bench(b, func(b *testing.B, w *sim.World, c coord.Client) {
		watcher := c.Watch(coord.One("k"), 1)
		for b.Loop() {
			if _, err := coord.Write(background, c, coord.Put("k", "v")); err != nil {
				b.Fatal(err)
			}
			if _, err := watcher.Next(background); err != nil {
				b.Fatal(err)
			}
		}
	})
}
