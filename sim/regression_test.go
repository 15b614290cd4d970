package sim_test

import (
	"context"
	"fmt"
	"io/fs"
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
