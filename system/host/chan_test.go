package host_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// inWorld runs fn as the only task of a world's own process.
func inWorld(t require.TestingT, seed uint64, fn func(w *sim.World, h host.Host)) {
	w := sim.New(sim.Config{Seed: seed})
	defer w.Close()
	w.Go("test", func() { fn(w, w.Host()) })
	require.NoError(t, w.Run())
}

func TestChanLikeGo(t *testing.T) {
	inWorld(t, 1, func(w *sim.World, h host.Host) {
		c := host.NewChan[int](h, "c", 2)
		require.True(t, c.TrySend(1))
		c.Send(2)
		require.False(t, c.TrySend(3))
		require.Equal(t, 2, c.Len())
		h.Go("late sender", func() { c.Send(3) })
		w.Sleep(time.Second)
		v, ok := c.Recv()
		require.True(t, ok)
		require.Equal(t, 1, v)
		require.Equal(t, 2, c.Len(), "the waiting sender's value takes the freed place")
		c.Close()
		for _, want := range []int{2, 3} {
			v, ok = c.Recv()
			require.True(t, ok)
			require.Equal(t, want, v)
		}
		v, ok = c.Recv()
		require.False(t, ok)
		require.Zero(t, v)
		require.True(t, c.Closed())
		require.False(t, c.Offer(4))
		require.PanicsWithValue(t, "host: send on closed channel c", func() { c.Send(4) })
		require.PanicsWithValue(t, "host: send on closed channel c", func() { c.TrySend(4) })
		require.PanicsWithValue(t, "host: close of closed channel c", c.Close)

		var none *host.Chan[int]
		_, _, ready := none.TryRecv()
		require.False(t, ready)
		require.False(t, none.TrySend(1))
		require.Zero(t, none.Len())
		require.Panics(t, none.Close)
		require.Panics(t, func() { none.Recv() })
		require.Equal(t, -1, host.TrySelect(h, none.OnRecv(nil, nil), none.OnSend(1)))
	})
}

func TestCloseWakesAll(t *testing.T) {
	inWorld(t, 1, func(w *sim.World, h host.Host) {
		c := host.NewChan[int](h, "c", 0)
		done := host.NewWaitGroup(h, "receivers")
		for range 3 {
			done.Go(h, "receiver", func() {
				_, ok := c.Recv()
				require.False(t, ok)
			})
			done.Go(h, "selecting receiver", func() {
				ok := true
				require.Equal(t, 0, host.Select(h, c.OnRecv(nil, &ok)))
				require.False(t, ok)
			})
		}
		w.Sleep(time.Second)
		c.Close()
		done.Wait()

		c = host.NewChan[int](h, "c", 0)
		for range 2 {
			done.Go(h, "sender", func() {
				require.PanicsWithValue(t, "host: send on closed channel c", func() { c.Send(1) })
			})
			done.Go(h, "selecting sender", func() {
				require.PanicsWithValue(t, "host: send on closed channel c", func() { host.Select(h, c.OnSend(1)) })
			})
		}
		w.Sleep(time.Second)
		c.Close()
		done.Wait()
	})
}

func TestSelectFirstPrefersTheFirst(t *testing.T) {
	inWorld(t, 1, func(_ *sim.World, h host.Host) {
		a, b := host.NewChan[int](h, "a", host.Unbounded), host.NewChan[int](h, "b", host.Unbounded)
		for range 100 {
			a.Send(0)
			b.Send(0)
		}
		first := map[int]int{}
		for range 100 {
			first[host.SelectFirst(h, a.OnRecv(nil, nil), b.OnRecv(nil, nil))]++
		}
		require.Equal(t, map[int]int{0: 100}, first)
		for range 50 {
			a.Send(0)
		}
		either := map[int]int{}
		for range 60 {
			either[host.Select(h, a.OnRecv(nil, nil), b.OnRecv(nil, nil))]++
		}
		require.InDelta(t, 30, either[0], 20, "Select has no favourite")
	})
}

func TestContextsEndWaiting(t *testing.T) {
	inWorld(t, 1, func(w *sim.World, h host.Host) {
		c := host.NewChan[int](h, "c", 0)
		ctx, cancel := h.Clock().WithTimeout(context.Background(), time.Second)
		_, _, err := c.RecvContext(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, w.Now())
		require.ErrorIs(t, c.SendContext(ctx, 1), context.DeadlineExceeded)
		cancel()
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)

		type key struct{}
		parent, stop := host.WithCancel(h, context.Background())
		child, cancelChild := h.Clock().WithTimeout(context.WithValue(parent, key{}, "v"), time.Hour)
		defer cancelChild()
		std, cancelStd := context.WithCancel(child)
		defer cancelStd()
		h.Go("canceller", func() {
			w.Sleep(time.Second)
			stop()
		})
		require.Equal(t, "v", child.Value(key{}))
		_, _, err = c.RecvContext(child)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, std.Err(), context.Canceled, "a child made by package context is cancelled with its parent")
		require.Equal(t, 2*time.Second, w.Now())
		already, cancelAlready := h.Clock().WithTimeout(context.Background(), -1)
		require.ErrorIs(t, already.Err(), context.DeadlineExceeded)
		cancelAlready()

		std, cancelStd = context.WithCancel(context.Background())
		defer cancelStd()
		require.Panics(t, func() { _, _, _ = c.RecvContext(std) }, "what would hang the world says so instead")
	})
}

func TestMutexHandsOver(t *testing.T) {
	inWorld(t, 1, func(w *sim.World, h host.Host) {
		m := host.NewMutex(h, "m")
		inside, done := 0, host.NewWaitGroup(h, "lockers")
		for range 5 {
			done.Go(h, "locker", func() {
				m.Lock()
				inside++
				require.Equal(t, 1, inside)
				w.Sleep(time.Second)
				inside--
				m.Unlock()
			})
		}
		done.Wait()
		require.Equal(t, 5*time.Second, w.Now())
		require.True(t, m.TryLock())
		require.False(t, m.TryLock())
		m.Unlock()
		require.PanicsWithValue(t, "host: unlock of unlocked mutex m", m.Unlock)
		require.PanicsWithValue(t, "host: negative WaitGroup count lockers", func() { done.Add(-1) })
	})
}

// Any number of senders and receivers, plain and selecting, on channels of any capacity: each value
// arrives once, and to a single receiver each sender's values come in order.
func TestChanProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacities := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 3, host.Unbounded}), 1, 3).Draw(t, "capacities")
		senders := rapid.IntRange(1, 4).Draw(t, "senders")
		receivers := rapid.IntRange(1, 4).Draw(t, "receivers")
		each := rapid.IntRange(0, 20).Draw(t, "values")
		selecting := rapid.Bool().Draw(t, "selecting")
		type value struct{ from, n, channel int }
		var got []value
		inWorld(t, rapid.Uint64().Draw(t, "seed"), func(w *sim.World, h host.Host) {
			channels := make([]*host.Chan[value], len(capacities))
			for i, n := range capacities {
				channels[i] = host.NewChan[value](h, fmt.Sprint("c", i), n)
			}
			sending, receiving := host.NewWaitGroup(h, "senders"), host.NewWaitGroup(h, "receivers")
			for s := range senders {
				sending.Go(h, "sender", func() {
					for n := range each {
						if selecting {
							cases := make([]host.Case, len(channels))
							for i, c := range channels {
								cases[i] = c.OnSend(value{s, n, i})
							}
							host.Select(h, cases...)
						} else {
							channels[n%len(channels)].Send(value{s, n, n % len(channels)})
						}
						if n%3 == 0 {
							w.Sleep(time.Millisecond)
						}
					}
				})
			}
			for range receivers {
				receiving.Go(h, "receiver", func() {
					open := make([]*host.Chan[value], len(channels))
					copy(open, channels)
					for left := len(open); left > 0; {
						var v value
						var ok bool
						cases := make([]host.Case, len(open))
						for i, c := range open {
							cases[i] = c.OnRecv(&v, &ok)
						}
						i := host.Select(h, cases...)
						if !ok {
							open[i] = nil
							left--
							continue
						}
						if v.channel != i {
							t.Fatalf("value %v came out of channel %d", v, i)
						}
						got = append(got, v)
					}
				})
			}
			sending.Wait()
			for _, c := range channels {
				c.Close()
			}
			receiving.Wait()
		})
		if len(got) != senders*each {
			t.Fatalf("%d values sent, %d received", senders*each, len(got))
		}
		last := map[[2]int]int{}
		for _, v := range got {
			k := [2]int{v.from, v.channel}
			if n, ok := last[k]; ok && n >= v.n && receivers == 1 { // several may be overtaken after they received
				t.Fatalf("sender %d's value %d arrived after %d", v.from, v.n, n)
			}
			last[k] = v.n
		}
	})
}

func BenchmarkSelect(b *testing.B) {
	inWorld(b, 1, func(_ *sim.World, h host.Host) {
		ping, pong := host.NewChan[int](h, "ping", 0), host.NewChan[int](h, "pong", 0)
		quit := host.NewChan[int](h, "quit", 0)
		h.Go("echo", func() {
			for {
				v, ok := ping.Recv()
				if !ok {
					return
				}
				pong.Send(v)
			}
		})
		cases := []host.Case{pong.OnRecv(nil, nil), quit.OnRecv(nil, nil)}
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			ping.Send(i)
			host.Select(h, cases...)
		}
		ping.Close()
	})
}

func ExampleSelect() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() {
		h := w.Host()
		work, quit := host.NewChan[string](h, "work", 0), host.NewChan[struct{}](h, "quit", 0)
		h.Go("producer", func() {
			work.Send("a job")
			h.Clock().Sleep(time.Minute)
			quit.Close()
		})
		ticker := h.Clock().Ticker(25 * time.Second)
		defer ticker.Stop()
		for {
			var job string
			switch host.Select(h, work.OnRecv(&job, nil), host.OnTime(ticker.C, nil), quit.OnRecv(nil, nil)) {
			case 0:
				fmt.Println(w.Now(), job)
			case 1:
				fmt.Println(w.Now(), "tick")
			case 2:
				fmt.Println(w.Now(), "quit")
				return
			}
		}
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0s a job
	// 25s tick
	// 50s tick
	// 1m0s quit
}

func TestChanCapacity(t *testing.T) {
	inWorld(t, 1, func(_ *sim.World, h host.Host) {
		require.PanicsWithValue(t, "host: channel c of capacity -5", func() { host.NewChan[int](h, "c", -5) })
	})
}

// A case waits once at a time. Used twice it would tie the channel's queue into a knot.
func TestCaseInUse(t *testing.T) {
	inWorld(t, 1, func(w *sim.World, h host.Host) {
		c, other := host.NewChan[int](h, "c", 0), host.NewChan[int](h, "other", 0)
		recv, send := c.OnRecv(nil, nil), other.OnSend(1)
		require.PanicsWithValue(t, "host: a case of channel c is in use: twice in one Select, or by two tasks; make one for each",
			func() { host.Select(h, recv, recv) })
		h.Go("first", func() { host.Select(h, send) })
		w.Sleep(time.Second)
		require.Panics(t, func() { host.Select(h, send) })
		v, ok := other.Recv()
		require.True(t, ok, "the first still waits")
		require.Equal(t, 1, v)
	})
}
