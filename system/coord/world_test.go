package coord_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

var background = context.Background()

// inWorld runs body as a task of a world, once for each of some seeds.
func inWorld(t testing.TB, seeds int, body func(w *sim.World)) {
	t.Helper()
	for seed := range uint64(seeds) {
		w := sim.New(sim.Config{Seed: seed, MaxTime: 10 * time.Minute, Buggify: seed%2 == 1})
		w.Go("test", func() {
			defer w.Stop() // clients have tasks that would go on
			body(w)
		})
		err := w.Run()
		w.Close()
		require.NoError(t, err, "seed %d", seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// served adds a machine that serves, and waits until it does.
func served(w *sim.World, cfg coord.StoreConfig) (n *sim.Node, open func(host.Host) *coord.Remote) {
	name := fmt.Sprint("coord", len(w.Nodes()))
	n = w.NewNode(name, func(h host.Host) {
		for {
			_, _, err := coord.Serve(h, "coord", cfg)
			if err == nil {
				return
			}
			h.Logf("%v", err)
			h.Clock().Sleep(50 * time.Millisecond)
		}
	})
	w.Sleep(10 * time.Millisecond)
	return n, func(h host.Host) *coord.Remote { return coord.Dial(h, name+":coord") }
}
