package sim_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// echo is a server that answers each message with itself.
func echo(h host.Host) {
	l, err := h.Net().Listen("echo")
	if err != nil {
		panic(err)
	}
	for {
		c, err := l.Accept(context.Background())
		if err != nil {
			return
		}
		h.Go("serve", func() {
			for {
				msg, err := c.Recv(context.Background())
				if err != nil {
					c.Close()
					return
				}
				if c.Send(context.Background(), msg) != nil {
					return
				}
			}
		})
	}
}

// pingPong runs a client that talks to echo across a lossy network while the server crashes.
func pingPong(t testing.TB, cfg sim.Config) *sim.World {
	w := sim.New(cfg)
	t.Cleanup(w.Close)
	s := w.NewNode("server", echo)
	answers := 0
	w.NewNode("client", func(h host.Host) {
		for answers < 50 {
			ctx, cancel := h.Clock().WithTimeout(context.Background(), time.Second)
			c, err := h.Net().Dial(ctx, "server:echo")
			for err == nil {
				if err = c.Send(ctx, []byte(fmt.Sprint("ping ", answers))); err != nil {
					break
				}
				if _, err = c.Recv(ctx); err == nil {
					answers++
				}
			}
			cancel()
			h.Logf("%v", err)
			h.Clock().Sleep(10 * time.Millisecond)
		}
		h.Logf("done")
	})
	w.AddRule(sim.Rule{Loss: 50_000})
	w.Go("faults", func() {
		for i := range 5 {
			w.Sleep(100 * time.Millisecond)
			if i%2 == 0 {
				s.Crash()
				w.Sleep(20 * time.Millisecond)
				s.Restart()
			}
		}
		for answers < 50 {
			w.Sleep(time.Second)
		}
	})
	require.NoError(t, w.Run())
	require.GreaterOrEqual(t, answers, 50)
	return w
}

func TestSameSeedSameTrace(t *testing.T) {
	seen := map[uint64]uint64{}
	for seed := range uint64(20) {
		a := pingPong(t, sim.Config{Seed: seed})
		b := pingPong(t, sim.Config{Seed: seed, Record: true})
		require.Equal(t, a.Hash(), b.Hash(), "seed %d", seed)
		require.Equal(t, a.Events(), uint64(len(b.Trace())))
		seen[a.Hash()] = seed
	}
	require.Len(t, seen, 20, "different seeds, different runs")
}

func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for seed := range uint64(10) {
		w := sim.New(sim.Config{Seed: seed})
		for i := range 10 {
			w.NewNode(fmt.Sprint("n", i), func(h host.Host) {
				defer h.Go("from the grave", func() {})
				defer func() { _ = recover() }()
				c := host.NewChan[int](h, "never", 0)
				defer c.Close()
				c.Recv()
			})
		}
		require.NoError(t, w.RunFor(time.Second))
		w.Close()
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before) // fewer, if one of an earlier test has ended
}

func TestDeadlockNamesWhoWaits(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	w.Go("waiter", func() {
		w.Sleep(3 * time.Second)
		host.NewChan[int](w.Host(), "answers", 0).Recv()
	})
	var d *sim.Deadlock
	require.ErrorAs(t, w.Run(), &d)
	require.Equal(t, "deadlock at 3s: no task can go on; simrun/waiter waits to receive answers since 3s", d.Error())
}

func TestPanicIsAFailure(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	w.NewNode("n", func(h host.Host) {
		h.Clock().Sleep(time.Second)
		var none []int
		none[h.Incarnation()] = 1
	})
	err := w.RunFor(time.Minute)
	var f sim.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, "panic", f.Oracle)
	require.Contains(t, f.Message, "task n/main panicked: runtime error: index out of range [1] with length 0 (at github.com/simrun-dev/simrun/sim_test.TestPanicIsAFailure.func1 world_test.go:")
	require.Equal(t, time.Second, f.At)
	require.Contains(t, f.Stack, "world_test.go")
}

func TestTimersOfTheClock(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	var fired []time.Duration
	w.Go("timers", func() {
		h := w.Host()
		c := h.Clock()
		tick := c.Ticker(time.Second)
		timer := c.Timer(2500 * time.Millisecond)
		stopped := c.Timer(time.Second)
		require.True(t, stopped.Stop())
		c.AfterFunc(1500*time.Millisecond, func() { fired = append(fired, w.Now()) })
		for range 5 {
			switch host.Select(h, host.OnTime(tick.C, nil), host.OnTime(timer.C, nil), host.OnTime(stopped.C, nil)) {
			case 0:
				fired = append(fired, w.Now())
			case 1:
				fired = append(fired, -w.Now())
				if w.Now() < 2600*time.Millisecond {
					require.False(t, timer.Reset(200*time.Millisecond))
				}
			case 2:
				fired = append(fired, 0)
			}
		}
		tick.Stop()
		require.False(t, timer.Stop())
		require.False(t, stopped.Reset(time.Second))
		_ = host.Select(h, host.OnTime(tick.C, nil), host.OnTime(stopped.C, nil))
		fired = append(fired, w.Now())
	})
	require.NoError(t, w.Run())
	s := time.Second
	require.Equal(t, []time.Duration{s, 1500 * time.Millisecond, 2 * s, -2500 * time.Millisecond, -2700 * time.Millisecond, 3 * s, 4 * s}, fired)
}

func TestConnKeepsOrderAndEnds(t *testing.T) {
	w := sim.New(sim.Config{Seed: 3})
	defer w.Close()
	w.AddRule(sim.Rule{Loss: 200_000})
	var got []byte
	w.NewNode("b", func(h host.Host) {
		l, err := h.Net().Listen("p")
		require.NoError(t, err)
		c, err := l.Accept(context.Background())
		require.NoError(t, err)
		for {
			m, err := c.Recv(context.Background())
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			got = append(got, m...)
		}
		w.Stop()
	})
	w.NewNode("a", func(h host.Host) {
		c, err := h.Net().Dial(context.Background(), "b:p")
		require.NoError(t, err)
		for i := range 100 {
			require.NoError(t, c.Send(context.Background(), []byte{byte(i)}))
		}
		require.NoError(t, c.Close())
	})
	require.NoError(t, w.RunFor(time.Hour))
	require.Len(t, got, 100)
	for i, b := range got {
		require.Equal(t, byte(i), b)
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("sleeper", func() {
		h := w.Host()
		ctx, cancel := h.Clock().WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.NoError(t, host.Sleep(ctx, h, 400*time.Millisecond))
		require.Equal(t, 400*time.Millisecond, w.Now())
		require.ErrorIs(t, host.Sleep(ctx, h, time.Hour), context.DeadlineExceeded)
		require.Equal(t, time.Second, w.Now())
	})
	require.NoError(t, w.Run())
}

// Tasks begin with a stack that has room for what they do.
func TestStacks(t *testing.T) {
	runtime.GC()                                     // gives back the stacks of earlier tests
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would shrink these
	const tasks, room = 500, 12 << 10
	stacks := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.StackInuse
	}
	w := sim.New(sim.Config{})
	defer w.Close()
	before := stacks()
	for range tasks {
		w.Go("sleeper", func() { w.Sleep(time.Hour) })
	}
	require.NoError(t, w.RunFor(time.Second))
	require.Greater(t, stacks(), before+tasks*room)
}
