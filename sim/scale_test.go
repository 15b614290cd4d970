package sim_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// Ten thousand machines in one world, each of which hears from its neighbour and from one far away.
func TestTenThousandNodes(t *testing.T) {
	const n = 10_000
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	heard := make([]int, n)
	for i := range n {
		w.NewNode(fmt.Sprint("n", i), func(h host.Host) {
			s, err := h.Net().OpenSocket("p")
			require.NoError(t, err)
			for _, to := range []int{(i + 1) % n, (i + n/2) % n} {
				require.NoError(t, s.SendTo(fmt.Sprint("n", to, ":p"), []byte("hello")))
			}
			for {
				if _, _, err := s.RecvFrom(context.Background()); err != nil {
					return
				}
				heard[i]++
			}
		})
	}
	require.NoError(t, w.RunFor(time.Second))
	silent := 0
	for _, times := range heard {
		if times == 0 {
			silent++
		}
	}
	// Who boots late misses what came before it listened.
	require.Zero(t, silent)
}

// A hundred thousand tasks that wait, and one that works.
func TestAHundredThousandParkedTasks(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	gate := host.NewChan[int](w.Host(), "gate", 0)
	through := 0
	for range 100_000 {
		w.Go("waiter", func() {
			gate.Recv()
			through++
		})
	}
	w.Go("worker", func() {
		for range 1000 {
			w.Sleep(time.Millisecond)
		}
		gate.Close()
	})
	require.NoError(t, w.Run())
	require.Equal(t, 100_000, through)
}

// A world that is given up half-way leaves no goroutine behind, however its tasks wait.
func TestNoGoroutineIsLeftBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for seed := range uint64(20) {
		w := sim.New(sim.Config{Seed: seed})
		n := w.NewNode("server", echo)
		w.NewNode("client", func(h host.Host) {
			ctx, cancel := h.Clock().WithTimeout(context.Background(), time.Hour)
			defer cancel()
			ticker := h.Clock().Ticker(time.Second)
			defer ticker.Stop()
			mu := host.NewMutex(h, "mu")
			mu.Lock()
			h.Go("locker", mu.Lock)
			h.Go("sleeper", func() { h.Clock().Sleep(time.Hour) })
			h.Go("selecting", func() {
				for {
					host.Select(h, host.OnTime(ticker.C, nil), host.OnDone(ctx))
				}
			})
			c, err := h.Net().Dial(ctx, "server:echo")
			if err == nil {
				_, _ = c.Recv(ctx)
			}
		})
		w.Go("main", func() { host.NewChan[int](w.Host(), "never", 0).Recv() })
		require.NoError(t, w.RunFor(time.Duration(seed)*300*time.Microsecond))
		if seed%2 == 0 {
			n.Crash()
		}
		w.Close()
		w.Close()
	}
}

// Memory does not grow with the number of worlds that were run.
func TestMemoryStaysFlat(t *testing.T) {
	run := func(worlds int) {
		for seed := range uint64(worlds) {
			w := sim.New(sim.Config{Seed: seed})
			w.NewNode("server", echo)
			w.NewNode("client", func(h host.Host) {
				h.Clock().Sleep(time.Millisecond)
				c, err := h.Net().Dial(context.Background(), "server:echo")
				if err != nil {
					return
				}
				for range 3 {
					_ = c.Send(context.Background(), make([]byte, 100))
					_, _ = c.Recv(context.Background())
				}
			})
			require.NoError(t, w.RunFor(time.Second))
			w.Close()
		}
	}
	inUse := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	run(500)
	before := inUse()
	run(2500)
	require.Less(t, inUse(), before+2<<20, "less than 1 KiB a world")
}

// Many seeds of a small scenario, twice: no hash differs.
func TestManySeedsTwice(t *testing.T) {
	seeds := 2000
	if testing.Short() {
		seeds = 100
	}
	hash := func(seed uint64) uint64 {
		w := sim.New(sim.Config{Seed: seed, Strategy: sim.NewStrategy(sim.Strategies()[seed%3])})
		defer w.Close()
		n := w.NewNode("server", echo)
		w.AddRule(sim.Rule{Loss: 100_000, Delay: sim.LogNorm(0, time.Millisecond, 1000)})
		w.NewNode("client", func(h host.Host) {
			for {
				ctx, cancel := h.Clock().WithTimeout(context.Background(), 300*time.Millisecond)
				if c, err := h.Net().Dial(ctx, "server:echo"); err == nil {
					_ = c.Send(ctx, []byte("x"))
					_, _ = c.Recv(ctx)
					_ = c.Close()
				}
				cancel()
				h.Clock().Sleep(time.Duration(h.Rand().IntN(100)) * time.Millisecond)
			}
		})
		require.NoError(t, w.RunFor(time.Second))
		n.Crash()
		n.Restart()
		n.Pause()
		require.NoError(t, w.RunFor(200*time.Millisecond))
		n.Resume()
		require.NoError(t, w.RunFor(time.Second))
		return w.Hash()
	}
	distinct := map[uint64]bool{}
	for seed := range uint64(seeds) {
		h := hash(seed)
		require.Equal(t, h, hash(seed), "seed %d", seed)
		distinct[h] = true
	}
	require.Len(t, distinct, seeds)
}
