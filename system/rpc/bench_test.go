package rpc_test

import (
	"context"
	"testing"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/rpc"
)

// BenchmarkCall is one call after the other over a simulated network, with the simulator's
// own work.
func BenchmarkCall(b *testing.B) {
	b.ReportAllocs()
	w := sim.New(sim.Config{})
	defer w.Close()
	w.NewNode("server", (&server{}).boot)
	w.Go("caller", func() {
		w.Sleep(time.Millisecond)
		c := rpc.NewClient(w.Host(), "server:test", rpc.ClientOptions{})
		defer c.Close()
		for range b.N {
			if _, err := methodDouble.Call(context.Background(), c, 1); err != nil {
				w.Fail("benchmark", "%v", err)
			}
		}
	})
	b.ResetTimer()
	if err := w.Run(); err != nil {
		b.Fatal(err)
	}
}
