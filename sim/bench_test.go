package sim_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/sim/simbench"
	"github.com/simrun-dev/simrun/system/host"
)

// BenchmarkTaskSwitch is two tasks that take turns: an op is one switch, with its queue, its choice,
// and its place in the trace hash.
func BenchmarkTaskSwitch(b *testing.B) {
	b.ReportAllocs()
	simbench.Switches(sim.Config{}, b.N)
}

// BenchmarkHandoff is one task handing a token to another over a channel: an op is one switch with
// its channel operations.
func BenchmarkHandoff(b *testing.B) {
	b.ReportAllocs()
	simbench.Handoffs(sim.Config{}, b.N)
}

// BenchmarkSleep is a task that sleeps: an op is one timer, and no switch, since nothing else happens.
func BenchmarkSleep(b *testing.B) {
	w := sim.New(sim.Config{})
	defer w.Close()
	w.Go("sleeper", func() {
		c := w.Host().Clock()
		for range b.N {
			c.Sleep(time.Millisecond)
		}
	})
	b.ReportAllocs()
	b.ResetTimer()
	require.NoError(b, w.Run())
}

// BenchmarkTimers is 1,000 tasks asleep at a time: an op is one timer and one switch.
func BenchmarkTimers(b *testing.B) {
	w := sim.New(sim.Config{})
	defer w.Close()
	left := b.N
	for i := range 1000 {
		w.Go("sleeper", func() {
			c := w.Host().Clock()
			for left > 0 {
				left--
				c.Sleep(time.Duration(1+i%97) * time.Millisecond)
			}
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	require.NoError(b, w.Run())
}

// BenchmarkMessage is a datagram to an echo server and back: an op is one delivered message.
func BenchmarkMessage(b *testing.B) { benchmarkMessage(b, sim.Config{}) }

func benchmarkMessage(b *testing.B, cfg sim.Config) {
	w := sim.New(cfg)
	defer w.Close()
	ctx := context.Background()
	w.NewNode("server", func(h host.Host) {
		s, _ := h.Net().OpenSocket("echo")
		for {
			from, msg, err := s.RecvFrom(ctx)
			if err != nil {
				return
			}
			_ = s.SendTo(from, msg)
		}
	})
	w.Go("client", func() {
		s, _ := w.Host().Net().OpenSocket("client")
		msg := make([]byte, 32)
		for range b.N / 2 {
			_ = s.SendTo("server:echo", msg)
			_, _, _ = s.RecvFrom(ctx)
		}
	})
	b.ReportAllocs()
	b.ResetTimer()
	require.NoError(b, w.Run())
}

// BenchmarkStream is a message on a connection to an echo server and back: an op is one delivered
// message.
func BenchmarkStream(b *testing.B) {
	w := sim.New(sim.Config{})
	defer w.Close()
	ctx := context.Background()
	w.NewNode("server", echo)
	w.Go("client", func() {
		w.Sleep(time.Second)
		c, err := w.Host().Net().Dial(ctx, "server:echo")
		if err != nil {
			panic(err)
		}
		msg := make([]byte, 32)
		for range b.N / 2 {
			_ = c.Send(ctx, msg)
			_, _ = c.Recv(ctx)
		}
	})
	b.ReportAllocs()
	b.ResetTimer()
	require.NoError(b, w.Run())
}

// BenchmarkWorld is making, starting and ending a world of five nodes.
func BenchmarkWorld(b *testing.B) {
	b.ReportAllocs()
	for i := range b.N {
		w := sim.New(sim.Config{Seed: uint64(i)})
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.NewNode(name, echo)
		}
		require.NoError(b, w.RunFor(time.Millisecond))
		w.Close()
	}
}

// BenchmarkClock is what the calls of a node's clock.Clock cost.
func BenchmarkClock(b *testing.B) {
	in := func(b *testing.B, fn func(w *sim.World, h host.Host)) {
		w := sim.New(sim.Config{})
		defer w.Close()
		b.ReportAllocs()
		w.Go("clock", func() { fn(w, w.Host()) })
		require.NoError(b, w.Run())
	}
	b.Run("Now", func(b *testing.B) {
		in(b, func(_ *sim.World, h host.Host) {
			for range b.N {
				h.Clock().Now()
			}
		})
	})
	b.Run("WithTimeout", func(b *testing.B) {
		in(b, func(_ *sim.World, h host.Host) {
			for range b.N {
				_, cancel := h.Clock().WithTimeout(context.Background(), time.Second)
				cancel()
			}
		})
	})
	for _, armed := range []int{1, 20} {
		b.Run("TimerFires/armed="+strconv.Itoa(armed), func(b *testing.B) {
			in(b, func(_ *sim.World, h host.Host) {
				for range armed - 1 {
					h.Clock().Timer(1000 * time.Hour)
				}
				for range b.N {
					host.Select(h, host.OnTime(h.Clock().After(time.Millisecond), nil))
				}
			})
		})
		b.Run("Reset/armed="+strconv.Itoa(armed), func(b *testing.B) {
			in(b, func(w *sim.World, h host.Host) {
				for range armed - 1 {
					h.Clock().Timer(1000 * time.Hour)
				}
				timer := h.Clock().Timer(time.Hour)
				for range b.N {
					timer.Reset(time.Hour)
					w.Sleep(time.Microsecond)
				}
			})
		})
	}
	b.Run("Tick", func(b *testing.B) {
		in(b, func(_ *sim.World, h host.Host) {
			ticker := h.Clock().Ticker(time.Millisecond)
			defer ticker.Stop()
			tick := host.OnTime(ticker.C, nil)
			for range b.N {
				host.Select(h, tick)
			}
		})
	})
}
