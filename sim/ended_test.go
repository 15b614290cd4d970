package sim_test

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// What an ended task worked on is garbage, though a channel that it has waited at lives on.
func TestEndedTaskHoldsNothing(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	var gone weak.Pointer[[1 << 20]byte]
	c := host.NewChan[int](w.Host(), "c", 0)
	w.Go("test", func() {
		data := new([1 << 20]byte)
		gone = weak.Make(data)
		w.Go("task", func() {
			_, _, _ = c.RecvContext(context.Background())
			data[0] = 1
		})
		w.Sleep(time.Millisecond)
		c.Send(1)
		w.Sleep(time.Millisecond)
	})
	require.NoError(t, w.Run())
	runtime.GC()
	require.True(t, gone.Value() == nil)
	runtime.KeepAlive(c)
}
