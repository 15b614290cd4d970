package sim_test

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// With slack an event may be late by it, and not by more, however busy others are.
func TestSlackDoesNotStarve(t *testing.T) {
	for seed := range uint64(10) {
		w := sim.New(sim.Config{Seed: seed, Strategy: sim.PCT(3, 1000, time.Millisecond)})
		w.Go("busy", func() {
			for range 10_000 {
				w.Sleep(500 * time.Microsecond)
			}
		})
		w.Go("other", func() {
			for range 100 {
				before := w.Now()
				w.Sleep(10 * time.Millisecond)
				require.LessOrEqual(t, w.Now()-before, 11*time.Millisecond)
			}
		})
		require.NoError(t, w.Run())
		w.Close()
	}
}

// Timers that tasks reset are looked at before time moves, also when something is always ready.
func TestTimersAreSeenWhileOthersAreBusy(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1, Strategy: sim.PCT(3, 1000, time.Millisecond)})
	defer w.Close()
	over := false
	for range 3 {
		w.Go("busy", func() {
			for !over {
				w.Sleep(300 * time.Microsecond)
			}
		})
	}
	w.Go("timer", func() {
		h := w.Host()
		timer := h.Clock().Timer(time.Millisecond)
		host.Select(h, host.OnTime(timer.C, nil))
		before := w.Now()
		timer.Reset(10 * time.Millisecond)
		host.Select(h, host.OnTime(timer.C, nil))
		require.LessOrEqual(t, w.Now()-before, 12*time.Millisecond)
		over = true
	})
	require.NoError(t, w.Run())
}

// All senders that wait for room learn that a connection is over.
func TestBlockedSendersAreWoken(t *testing.T) {
	for name, end := range map[string]func(*sim.World, host.Conn){
		"closed": func(_ *sim.World, c host.Conn) { _ = c.Close() },
		"reset":  func(w *sim.World, _ host.Conn) { w.ResetConns("sink", "simrun") },
	} {
		t.Run(name, func(t *testing.T) {
			w := sim.New(sim.Config{Seed: 1})
			defer w.Close()
			w.NewNode("sink", func(h host.Host) {
				l, err := h.Net().Listen("p")
				require.NoError(t, err)
				_, err = l.Accept(context.Background())
				require.NoError(t, err)
			})
			w.Go("main", func() {
				h := w.Host()
				w.Sleep(time.Millisecond)
				c, err := h.Net().Dial(context.Background(), "sink:p")
				require.NoError(t, err)
				failed := 0
				senders := host.NewWaitGroup(h, "senders")
				for range 3 {
					senders.Go(h, "sender", func() {
						for {
							if err := c.Send(context.Background(), make([]byte, 100<<10)); err != nil {
								failed++
								return
							}
						}
					})
				}
				w.Sleep(time.Second)
				end(w, c)
				senders.Wait()
				require.Equal(t, 3, failed)
			})
			require.NoError(t, w.Run())
		})
	}
}

// A dial without a deadline ends, whichever of its messages is lost.
func TestDialAlwaysEnds(t *testing.T) {
	for name, rule := range map[string]sim.Rule{
		"answers are lost":  {From: []string{"server"}, Drop: true},
		"requests are lost": {To: []string{"server"}, Drop: true},
	} {
		for _, port := range []string{"echo", "nobody"} {
			t.Run(name+" of "+port, func(t *testing.T) {
				w := sim.New(sim.Config{Seed: 1})
				defer w.Close()
				w.NewNode("server", echo)
				w.Go("dial", func() {
					w.Sleep(time.Millisecond)
					remove := w.AddRule(rule)
					_, err := w.Host().Net().Dial(context.Background(), "server:"+port)
					require.ErrorIs(t, err, host.ErrTimeout)
					remove()
					c, err := w.Host().Net().Dial(context.Background(), "server:echo")
					require.NoError(t, err)
					require.NoError(t, c.Send(context.Background(), []byte("x")))
					_, err = c.Recv(context.Background())
					require.NoError(t, err)
				})
				require.NoError(t, w.Run())
			})
		}
	}
}

func TestClosedListenerResetsWhatItHadNotAccepted(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.NewNode("server", func(h host.Host) {
		l, err := h.Net().Listen("p")
		require.NoError(t, err)
		h.Clock().Sleep(time.Second)
		require.NoError(t, l.Close())
	})
	w.Go("client", func() {
		w.Sleep(time.Millisecond)
		c, err := w.Host().Net().Dial(context.Background(), "server:p")
		require.NoError(t, err)
		_, err = c.Recv(context.Background())
		require.ErrorIs(t, err, host.ErrReset)
	})
	require.NoError(t, w.Run())
}

// A network of which only some is configured has the defaults for the rest.
func TestPartialNetConfig(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1, Net: sim.NetConfig{Loss: 200_000}, MaxEvents: 100_000})
	defer w.Close()
	n := w.NewNode("server", echo)
	w.Go("dial", func() {
		w.Sleep(time.Millisecond)
		_, err := w.Host().Net().Dial(context.Background(), "server:echo")
		require.NoError(t, err)
		n.PowerOff()
		_, err = w.Host().Net().Dial(context.Background(), "server:echo")
		require.ErrorIs(t, err, host.ErrTimeout)
	})
	require.NoError(t, w.Run())
}

// Ticks that came due while a node was paused are dropped but for one.
func TestMissedTicksDoNotPileUp(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	var ticks []time.Duration
	n := w.NewNode("n", func(h host.Host) {
		ticker := h.Clock().Ticker(time.Millisecond)
		for {
			host.Select(h, host.OnTime(ticker.C, nil))
			ticks = append(ticks, w.Now())
		}
	})
	require.NoError(t, w.RunFor(10500*time.Microsecond))
	require.Len(t, ticks, 10)
	n.Pause()
	require.NoError(t, w.RunFor(10*time.Second))
	events := w.Events()
	n.Resume()
	require.NoError(t, w.RunFor(0))
	require.Less(t, w.Events()-events, uint64(20))
	require.Len(t, ticks, 11)
	require.NoError(t, w.RunFor(3*time.Millisecond))
	require.Len(t, ticks, 14, "and they come when they would have")
}

// What one rule draws does not depend on which others are in force, nor what a message draws on how
// often another was tried again.
func TestRulesDrawOnTheirOwn(t *testing.T) {
	arrivals := func(other bool) []time.Duration {
		w := sim.New(sim.Config{Seed: 5, Net: sim.NetConfig{Latency: sim.Fixed(time.Millisecond)}})
		defer w.Close()
		if other {
			w.AddRule(sim.Rule{Key: "other", Delay: sim.Fixed(1)})
		}
		w.AddRule(sim.Rule{Key: "fault", Delay: sim.Exp(0, 5*time.Millisecond)})
		_, at := sink(w, "b")
		sendEvery(w, "a", "b", 20, 100*time.Millisecond)
		require.NoError(t, w.RunFor(5*time.Second))
		return *at
	}
	alone, both := arrivals(false), arrivals(true)
	for i := range both {
		both[i]--
	}
	require.Equal(t, alone, both)
}

func TestRanksAreDecisions(t *testing.T) {
	for _, name := range sim.Strategies() {
		order := func(overrides map[sim.Decision]uint64) (got []int, made map[sim.Decision]uint64) {
			made = map[sim.Decision]uint64{}
			w := sim.New(sim.Config{Seed: 1, Strategy: sim.NewStrategy(name), Overrides: overrides,
				OnDecision: func(d sim.Decision, v uint64) { made[d] = v }})
			defer w.Close()
			for i := range 5 {
				w.Go(fmt.Sprint("task", i), func() { got = append(got, i) })
			}
			require.NoError(t, w.Run())
			return got, made
		}
		first, made := order(nil)
		require.GreaterOrEqual(t, len(made), 5)
		again, drawn := order(made)
		require.Equal(t, first, again)
		require.Empty(t, drawn)
		w := sim.New(sim.Config{Seed: 1})
		key := w.StreamKey("strategy") // of the ranks' own streams
		w.Close()
		for d, v := range made {
			if d.Stream != key {
				made[d] = ^v
			}
		}
		reversed, _ := order(made)
		slices.Reverse(reversed)
		require.Equal(t, first, reversed, name)
	}
}

// Of each directory's changes a prefix survives, however many there are elsewhere; and a change that
// is durable is not undone by an older one.
func TestDirectoriesSurviveOnTheirOwn(t *testing.T) {
	kept, lost := 0, 0
	for seed := range uint64(100) {
		onDisk(t, seed, func(d host.Disk) {
			for i := range 30 { // as a store does that never syncs its directory of temporary files
				put(t, d, fmt.Sprint("incoming/", i), "x", false)
				require.NoError(t, d.Rename(fmt.Sprint("incoming/", i), fmt.Sprint("blobs/", i)))
				require.NoError(t, d.SyncDir("blobs"))
			}
			put(t, d, "incoming/last", "x", false)
			require.NoError(t, d.Rename("incoming/last", "blobs/last"))
		}, func(d host.Disk) {
			for i := range 30 {
				_, err := host.ReadFile(d, fmt.Sprint("blobs/", i))
				require.NoError(t, err)
				_, err = host.ReadFile(d, fmt.Sprint("incoming/", i))
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
			if _, err := host.ReadFile(d, "blobs/last"); err == nil {
				kept++
			} else {
				lost++
			}
		})
	}
	require.Greater(t, kept, 15)
	require.Greater(t, lost, 15)
}

func TestOnCrashMayRestart(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	n := w.NewNode("n", func(h host.Host) {
		put(t, h.Disk(), fmt.Sprint("life-", h.Incarnation()), "x", true)
		h.Clock().Sleep(time.Hour)
	})
	n.OnCrash(n.Restart)
	for range 3 {
		require.NoError(t, w.RunFor(time.Second))
		n.Pause()
		n.Crash()
		require.True(t, n.Up())
	}
	require.NoError(t, w.RunFor(time.Second))
	require.Equal(t, uint64(4), n.Incarnation())
	for life := 1; life <= 4; life++ {
		require.NotNil(t, n.DiskFile(fmt.Sprint("life-", life)))
	}
}

// A duration that ends beyond all time is not over at once. A task that sleeps so long waits for ever,
// and is named.
func TestForever(t *testing.T) {
	for _, drift := range []int{0, -500_000} {
		w := sim.New(sim.Config{})
		defer w.Close()
		n := w.NewNode("a", nil)
		n.SetClock(0, drift)
		h := n.Host()
		h.Go("timer", func() {
			h.Clock().Sleep(time.Second)
			host.Select(h, host.OnTime(h.Clock().After(math.MaxInt64), nil))
			t.Error("the timer fired")
		})
		h.Go("context", func() {
			h.Clock().Sleep(time.Second)
			ctx, cancel := h.Clock().WithTimeout(context.Background(), math.MaxInt64)
			defer cancel()
			host.Select(h, host.OnDone(ctx))
			t.Error("the context was done")
		})
		w.Go("sleeper", func() {
			w.Sleep(time.Second)
			w.Sleep(math.MaxInt64)
			t.Error("the sleep was over")
		})
		require.NoError(t, w.RunFor(3*time.Second))
		require.NoError(t, w.RunFor(math.MaxInt64))
		require.Equal(t, 3*time.Second, w.Now(), "nothing happens")
		require.NoError(t, w.RunFor(-time.Second))
		require.Equal(t, 3*time.Second, w.Now())
		err := w.Run()
		var deadlock *sim.Deadlock
		require.ErrorAs(t, err, &deadlock)
		require.ErrorContains(t, err, "simrun/sleeper waits to sleep for ever since 1s")
		require.ErrorContains(t, err, "a/timer waits to select timer")
	}
}

// A timer that is reset to no time fires before time moves, whatever else is due later.
func TestResetToNoTime(t *testing.T) {
	for seed := range uint64(10) {
		w := sim.New(sim.Config{Seed: seed})
		at := time.Duration(-1)
		w.Go("task", func() {
			timer := w.Host().Clock().AfterFunc(time.Hour, func() { at = w.Now() })
			timer.Reset(0)
			w.Sleep(time.Second)
		})
		require.NoError(t, w.Run())
		require.Zero(t, at, "seed %d", seed)
		w.Close()
	}
}

// Timers can be stopped and reset by code outside of the run, between two parts of it.
func TestTimersResetOutside(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	at := time.Duration(-1)
	timer := w.Host().Clock().AfterFunc(time.Second, func() { at = w.Now() })
	require.NoError(t, w.RunFor(500*time.Millisecond))
	timer.Reset(time.Second)
	require.NoError(t, w.RunFor(5*time.Second))
	require.Equal(t, 1500*time.Millisecond, at)
}

func TestTickerResetToNoTime(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	w.Go("task", func() {
		w.Host().Clock().Ticker(time.Second).Reset(0)
		w.Sleep(time.Second)
	})
	require.ErrorContains(t, w.Run(), "non-positive interval for Ticker.Reset")
}

// A world is not run and not closed from inside of itself: its coroutines would leak.
func TestNoRunInsideRun(t *testing.T) {
	for name, misuse := range map[string]func(w *sim.World){
		"run":    func(w *sim.World) { _ = w.Run() },
		"runFor": func(w *sim.World) { _ = w.RunFor(time.Second) },
		"close":  func(w *sim.World) { w.Close() },
	} {
		w := sim.New(sim.Config{})
		w.Go(name, func() { misuse(w) })
		require.ErrorContains(t, w.Run(), "call Stop", name)
		w.Close()
	}
}

func TestNodeNames(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	for _, name := range []string{"", "a:b"} {
		require.Panics(t, func() { w.NewNode(name, nil) }, name)
	}
}

// What no disk can hold is refused, and not a panic of the kernel's.
func TestHugeFiles(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	w.Go("task", func() {
		f, err := w.Host().Disk().Open("f", host.Create)
		require.NoError(t, err)
		for _, off := range []int64{1 << 40, math.MaxInt64} {
			_, err := f.WriteAt([]byte("abc"), off)
			require.ErrorIs(t, err, host.ErrNoSpace)
			require.ErrorIs(t, f.Truncate(off), host.ErrNoSpace)
		}
		size, err := f.Size()
		require.NoError(t, err)
		require.Zero(t, size)
	})
	require.NoError(t, w.Run())
}

// A task that goes on by itself, since nothing else is to happen, is stopped like all others.
func TestTaskThatGoesOnByItself(t *testing.T) {
	steps := 0
	lone := func(cfg sim.Config, do func(w *sim.World, step int)) (*sim.World, error) {
		w := sim.New(cfg)
		t.Cleanup(w.Close)
		steps = 0
		w.Go("lone", func() {
			for {
				steps++
				do(w, steps)
				w.Sleep(time.Duration(steps % 2))
			}
		})
		return w, w.Run()
	}
	_, err := lone(sim.Config{}, func(w *sim.World, step int) {
		if step == 100 {
			w.Stop()
		}
	})
	require.NoError(t, err)
	require.Equal(t, 100, steps)

	w, err := lone(sim.Config{MaxEvents: 5000}, func(*sim.World, int) {})
	require.ErrorIs(t, err, sim.ErrLimit)
	require.EqualValues(t, 5000, w.Events())

	w, err = lone(sim.Config{MaxTime: 50}, func(*sim.World, int) {})
	require.ErrorIs(t, err, sim.ErrLimit)
	require.EqualValues(t, 50, w.Now())

	ctx, cancel := context.WithCancel(t.Context())
	_, err = lone(sim.Config{Context: ctx}, func(_ *sim.World, step int) {
		if step == 100 {
			cancel()
		}
	})
	require.ErrorIs(t, err, sim.ErrInterrupted)

	_, err = lone(sim.Config{}, func(w *sim.World, step int) {
		if step == 100 {
			w.Fail("oracle", "found")
		}
	})
	require.ErrorContains(t, err, "oracle: found")
	require.Equal(t, 100, steps)
}

// A task that pauses its own node stops there, and one that crashes it ends.
func TestTaskAgainstItsOwnNode(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	var n *sim.Node
	reached := ""
	n = w.NewNode("a", func(h host.Host) {
		h.Clock().Sleep(time.Millisecond)
		n.Pause()
		h.Clock().Sleep(0)
		reached += " resumed"
		n.Crash()
		h.Clock().Sleep(0)
		reached += " survived"
	})
	require.NoError(t, w.RunFor(time.Second))
	require.Empty(t, reached)
	n.Resume()
	require.NoError(t, w.RunFor(time.Second))
	require.Equal(t, " resumed", reached)
}

// Distributions with parameters beyond reason give durations all the same, that time can bear.
func TestUnreasonableDistributions(t *testing.T) {
	const years = 365 * 24 * time.Hour
	for _, d := range []sim.Dist{
		{Shape: sim.Uniform, Spread: -time.Second},
		{Shape: sim.Exponential, Spread: -time.Second},
		{Shape: sim.LogNormal, Spread: -time.Second, Tail: 500},
		{Shape: sim.Pareto, Min: -time.Second, Tail: 1200},
		sim.LogNorm(time.Second, time.Hour, 8000),
		sim.LogNorm(time.Second, math.MaxInt64, 8000),
		sim.Exp(time.Hour, 200*years),
		sim.PowerLaw(100*years, 1),
	} {
		for i := range uint64(1000) {
			v := d.Sample(i << 54)
			require.GreaterOrEqual(t, v, time.Duration(0), "%v", d)
			require.Less(t, v, 40*years, "%v", d)
		}
	}
}
