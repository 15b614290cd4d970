package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// sink counts the datagrams that arrive at a node of its own.
func sink(w *sim.World, name string) (got *[]string, at *[]time.Duration) {
	got, at = new([]string), new([]time.Duration)
	w.NewNode(name, func(h host.Host) {
		s, err := h.Net().OpenSocket("in")
		if err != nil {
			panic(err)
		}
		for {
			_, msg, err := s.RecvFrom(context.Background())
			if err != nil {
				return
			}
			*got = append(*got, string(msg))
			*at = append(*at, w.Now())
		}
	})
	return got, at
}

// sendEvery sends n numbered datagrams from a node of its own.
func sendEvery(w *sim.World, from, to string, n int, pace time.Duration) {
	w.NewNode(from, func(h host.Host) {
		s, err := h.Net().OpenSocket("out")
		if err != nil {
			panic(err)
		}
		for i := range n {
			_ = s.SendTo(to+":in", fmt.Append(nil, i))
			h.Clock().Sleep(pace)
		}
	})
}

func TestRules(t *testing.T) {
	for name, test := range map[string]struct {
		rule  sim.Rule
		check func(t *testing.T, got []string, at []time.Duration)
	}{
		"none": {sim.Rule{From: []string{"elsewhere"}, Drop: true}, func(t *testing.T, got []string, _ []time.Duration) {
			require.Len(t, got, 1000)
		}},
		"drop": {sim.Rule{From: []string{"a"}, To: []string{"b"}, Drop: true}, func(t *testing.T, got []string, _ []time.Duration) {
			require.Empty(t, got)
		}},
		"drop, the other way": {sim.Rule{From: []string{"b"}, To: []string{"a"}, Drop: true}, func(t *testing.T, got []string, _ []time.Duration) {
			require.Len(t, got, 1000)
		}},
		"drop, both ways": {sim.Rule{From: []string{"b"}, To: []string{"a"}, Both: true, Drop: true}, func(t *testing.T, got []string, _ []time.Duration) {
			require.Empty(t, got)
		}},
		"loss": {sim.Rule{Loss: 300_000}, func(t *testing.T, got []string, _ []time.Duration) {
			require.InDelta(t, 700, len(got), 60)
		}},
		"duplicate": {sim.Rule{Duplicate: 300_000}, func(t *testing.T, got []string, _ []time.Duration) {
			require.InDelta(t, 1300, len(got), 60)
		}},
		"delay": {sim.Rule{Delay: sim.Fixed(time.Second)}, func(t *testing.T, _ []string, at []time.Duration) {
			require.Greater(t, at[0], time.Second)
		}},
		"reorder": {sim.Rule{Delay: sim.Between(0, 20*time.Millisecond)}, func(t *testing.T, got []string, _ []time.Duration) {
			overtaken := 0
			for i, m := range got {
				if m != fmt.Sprint(i) {
					overtaken++
				}
			}
			require.Len(t, got, 1000)
			require.Greater(t, overtaken, 500)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := sim.New(sim.Config{Seed: 1, Net: sim.NetConfig{Latency: sim.Between(time.Millisecond, 2*time.Millisecond)}})
			defer w.Close()
			w.AddRule(test.rule)
			got, at := sink(w, "b")
			sendEvery(w, "a", "b", 1000, 3*time.Millisecond)
			require.NoError(t, w.RunFor(10*time.Second))
			test.check(t, *got, *at)
		})
	}
}

func TestHoldDeliversAllAtTheEnd(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	release := w.AddRule(sim.Rule{From: []string{"a"}, Hold: true})
	got, at := sink(w, "b")
	sendEvery(w, "a", "b", 10, time.Millisecond)
	require.NoError(t, w.RunFor(5*time.Second))
	require.Empty(t, *got)
	release()
	require.NoError(t, w.RunFor(5*time.Second))
	require.Len(t, *got, 10)
	require.GreaterOrEqual(t, (*at)[0], 5*time.Second)
}

// One message less on a link must not change what happens to the others: shrinking depends on it.
func TestDecisionsOfAMessageDoNotShift(t *testing.T) {
	arrivals := func(extra bool) map[string]time.Duration {
		w := sim.New(sim.Config{Seed: 5})
		defer w.Close()
		got, at := sink(w, "b")
		sendEvery(w, "a", "b", 100, 7*time.Millisecond)
		if extra {
			sink(w, "d")
			sendEvery(w, "c", "d", 50, time.Millisecond)
		}
		require.NoError(t, w.RunFor(5*time.Second))
		m := map[string]time.Duration{}
		for i, g := range *got {
			m[g] = (*at)[i]
		}
		return m
	}
	require.Equal(t, arrivals(false), arrivals(true))
}

func TestOverrideOfOneDecision(t *testing.T) {
	run := func(overrides map[sim.Decision]uint64) (made map[sim.Decision]uint64, got int) {
		made = map[sim.Decision]uint64{}
		w := sim.New(sim.Config{Seed: 5, Overrides: overrides, OnDecision: func(d sim.Decision, v uint64) { made[d] = v }})
		defer w.Close()
		w.AddRule(sim.Rule{Loss: 500_000})
		msgs, _ := sink(w, "b")
		sendEvery(w, "a", "b", 10, time.Millisecond)
		require.NoError(t, w.RunFor(time.Second))
		return made, len(*msgs)
	}
	made, got := run(nil)
	again, same := run(made)
	require.Empty(t, again, "with every choice given none is drawn")
	require.Equal(t, got, same)

	w := sim.New(sim.Config{})
	defer w.Close()
	never := map[sim.Decision]uint64{}
	for d := range made {
		if d.Stream == linkKey(5, "a", "b") {
			never[d] = ^uint64(0) // the highest word: no loss
		}
	}
	require.NotEmpty(t, never)
	_, all := run(never)
	require.Equal(t, 10, all)
}

func linkKey(seed uint64, from, to string) uint64 {
	w := sim.New(sim.Config{Seed: seed})
	defer w.Close()
	return w.StreamKey("link", from, to)
}

func TestDialErrors(t *testing.T) {
	w := sim.New(sim.Config{Seed: 2})
	defer w.Close()
	w.NewNode("up", echo)
	down := w.NewNode("down", echo)
	w.Go("dial", func() {
		h := w.Host()
		dial := func(addr string) error {
			ctx, cancel := h.Clock().WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err := h.Net().Dial(ctx, addr)
			return err
		}
		w.Sleep(time.Second)
		require.NoError(t, dial("up:echo"))
		require.ErrorIs(t, dial("up:other"), host.ErrRefused)
		require.ErrorIs(t, dial("nowhere:echo"), host.ErrNoHost)
		down.PowerOff()
		require.ErrorIs(t, dial("down:echo"), host.ErrTimeout)
		cut := w.AddRule(sim.Rule{To: []string{"up"}, Drop: true})
		ctx, cancel := h.Clock().WithTimeout(context.Background(), time.Second)
		_, err := h.Net().Dial(ctx, "up:echo")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
		cut()
	})
	require.NoError(t, w.Run())
}

func TestConnEndsWhenThePeerDies(t *testing.T) {
	for name, test := range map[string]struct {
		die  func(*sim.Node)
		want error
	}{
		"process killed": {(*sim.Node).Crash, host.ErrReset},
		"machine off":    {(*sim.Node).PowerOff, host.ErrTimeout},
		"machine off and on again": {func(n *sim.Node) {
			n.PowerOff()
			n.Restart()
		}, host.ErrReset},
	} {
		t.Run(name, func(t *testing.T) {
			w := sim.New(sim.Config{Seed: 2})
			defer w.Close()
			n := w.NewNode("server", echo)
			w.Go("client", func() {
				w.Sleep(time.Second)
				ctx := context.Background()
				c, err := w.Host().Net().Dial(ctx, "server:echo")
				require.NoError(t, err)
				require.NoError(t, c.Send(ctx, []byte("x")))
				_, err = c.Recv(ctx)
				require.NoError(t, err)
				test.die(n)
				_ = c.Send(ctx, []byte("y"))
				_, err = c.Recv(ctx)
				require.ErrorIs(t, err, test.want)
			})
			require.NoError(t, w.Run())
		})
	}
}

func TestSendWaitsForASlowReceiver(t *testing.T) {
	w := sim.New(sim.Config{Seed: 2})
	defer w.Close()
	received := 0
	w.NewNode("slow", func(h host.Host) {
		l, _ := h.Net().Listen("p")
		c, _ := l.Accept(context.Background())
		for {
			h.Clock().Sleep(time.Second)
			if _, err := c.Recv(context.Background()); err != nil {
				return
			}
			received++
		}
	})
	w.Go("fast", func() {
		w.Sleep(time.Second)
		c, err := w.Host().Net().Dial(context.Background(), "slow:p")
		require.NoError(t, err)
		for i := range 10 {
			require.NoError(t, c.Send(context.Background(), make([]byte, 100<<10)))
			require.LessOrEqual(t, i-received, 2, "256 KiB are on the way at most")
		}
	})
	require.NoError(t, w.Run())
}

func TestBandwidthMakesMessagesQueue(t *testing.T) {
	for name, test := range map[string]struct {
		queue int64
		want  int
	}{"without bound": {0, 20}, "of a kilobyte": {1000, 10}} {
		t.Run(name, func(t *testing.T) {
			w := sim.New(sim.Config{Seed: 1, Net: sim.NetConfig{Latency: sim.Fixed(time.Millisecond), Bandwidth: 1000, Queue: test.queue}})
			defer w.Close()
			_, at := sink(w, "b")
			w.NewNode("a", func(h host.Host) {
				s, err := h.Net().OpenSocket("out")
				require.NoError(t, err)
				for range 20 {
					require.NoError(t, s.SendTo("b:in", make([]byte, 100)))
				}
			})
			require.NoError(t, w.RunFor(time.Minute))
			require.Len(t, *at, test.want)
			for i, arrived := range *at {
				require.Equal(t, time.Duration(i+1)*100*time.Millisecond+time.Millisecond, arrived, "100 bytes take 100 ms")
			}
		})
	}
}

func TestBandwidthOfAConnection(t *testing.T) {
	for name, net := range map[string]sim.NetConfig{
		"without bound": {},
		"a short queue": {Queue: 2000},
	} {
		t.Run(name, func(t *testing.T) {
			net.Latency, net.Retransmit, net.Timeout = sim.Fixed(time.Millisecond), 50*time.Millisecond, time.Minute
			w := sim.New(sim.Config{Seed: 1, Net: net})
			defer w.Close()
			w.AddRule(sim.Rule{To: []string{"b"}, Bandwidth: 10_000})
			var got int
			w.NewNode("b", func(h host.Host) {
				l, err := h.Net().Listen("p")
				require.NoError(t, err)
				c, err := l.Accept(context.Background())
				require.NoError(t, err)
				for {
					msg, err := c.Recv(context.Background())
					if err != nil {
						w.Stop()
						return
					}
					require.Equal(t, byte(got), msg[0])
					got++
				}
			})
			w.NewNode("a", func(h host.Host) {
				c, err := h.Net().Dial(context.Background(), "b:p")
				require.NoError(t, err)
				for i := range 50 {
					msg := make([]byte, 1000)
					msg[0] = byte(i)
					require.NoError(t, c.Send(context.Background(), msg))
				}
				require.NoError(t, c.Close())
			})
			require.NoError(t, w.RunFor(time.Hour))
			require.Equal(t, 50, got)
			require.GreaterOrEqual(t, w.Now(), 5*time.Second, "50,000 bytes at 10,000 a second")
			require.Less(t, w.Now(), 20*time.Second, "what overflowed the queue was sent again")
		})
	}
}

func TestRuleThatMovesMachinesApart(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.AddRule(sim.Rule{From: []string{"a"}, To: []string{"b"}, Latency: sim.Fixed(80 * time.Millisecond)})
	_, at := sink(w, "b")
	sendEvery(w, "a", "b", 1, time.Second)
	require.NoError(t, w.RunFor(time.Second))
	require.Equal(t, []time.Duration{80 * time.Millisecond}, *at)
}
