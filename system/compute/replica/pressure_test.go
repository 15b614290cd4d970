package replica

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// Who waits goes on once less than the limit waits to be worked off, all of them, or when it is not wanted any more.
func TestPressure(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	w.Go("test", func() {
		p := newPressure(w.Host(), 100)
		life, end := host.WithCancel(w.Host(), context.Background())
		passed := 0
		reader := func() {
			w.Host().Go("reader", func() {
				if p.wait(life) == nil {
					passed++
				}
			})
			w.Sleep(time.Millisecond)
		}
		reader()
		require.Equal(t, 1, passed)
		p.add(250)
		for range 3 {
			reader()
		}
		p.sub(100)
		w.Sleep(time.Millisecond)
		require.Equal(t, 1, passed, "there is too much yet")
		p.sub(100)
		w.Sleep(time.Millisecond)
		require.Equal(t, 4, passed)
		p.add(50)
		reader()
		require.Equal(t, 4, passed)
		end()
		w.Sleep(time.Millisecond)
		require.Equal(t, 4, passed)
		require.ErrorIs(t, p.wait(life), life.Err())
	})
	require.NoError(t, w.Run())
}
