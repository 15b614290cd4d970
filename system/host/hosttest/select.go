package hosttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

// fairShare is how often, of 1000 times, a case is chosen at the least that is ready beside at most
// two others. A fair coin falls short of it less than once in 10^50 times.
const fairShare = 100

var selectTests = []test{
	{"has no favourite", alone(func(t *testing.T, h host.Host) {
		a, b, c := host.NewChan[int](h, "a", 1000), host.NewChan[int](h, "b", 1000), host.NewChan[int](h, "c", host.Unbounded)
		for range 1000 {
			a.Send(0)
			b.Send(0)
		}
		chosen := [4]int{}
		never := host.NewChan[int](h, "never", 0)
		for range 1000 {
			chosen[host.Select(h, a.OnRecv(nil, nil), never.OnRecv(nil, nil), b.OnRecv(nil, nil), c.OnSend(1))]++
		}
		require.Zero(t, chosen[1])
		for _, i := range []int{0, 2, 3} {
			require.GreaterOrEqual(t, chosen[i], fairShare, "case %d of %v", i, chosen)
		}
		require.Equal(t, chosen, [4]int{1000 - a.Len(), 0, 1000 - b.Len(), c.Len()}, "one case each time")
	})},
	{"first", alone(func(t *testing.T, h host.Host) {
		a, b := host.NewChan[int](h, "a", host.Unbounded), host.NewChan[int](h, "b", host.Unbounded)
		for i := range 100 {
			a.Send(i)
			b.Send(i)
		}
		for range 100 {
			require.Equal(t, 0, host.SelectFirst(h, a.OnRecv(nil, nil), b.OnRecv(nil, nil)))
		}
		for i := range 100 {
			var v int
			require.Equal(t, 1, host.SelectFirst(h, a.OnRecv(nil, nil), b.OnRecv(&v, nil)))
			require.Equal(t, i, v)
		}
	})},
	{"try", alone(func(t *testing.T, h host.Host) {
		a, b := host.NewChan[int](h, "a", 1), host.NewChan[int](h, "b", 0)
		ctx, cancel := host.WithCancel(h, background)
		require.Equal(t, -1, host.TrySelect(h, a.OnRecv(nil, nil), b.OnSend(1), host.OnDone(ctx), host.OnDone(background)))
		a.Send(7)
		var v int
		require.Equal(t, 0, host.TrySelect(h, a.OnRecv(&v, nil), b.OnSend(1), host.OnDone(ctx)))
		require.Equal(t, 7, v)
		cancel()
		require.Equal(t, 2, host.TrySelect(h, a.OnRecv(nil, nil), b.OnSend(1), host.OnDone(ctx)))
	})},
	{"waits and does one thing", alone(func(t *testing.T, h host.Host) {
		a, b, out := host.NewChan[int](h, "a", 0), host.NewChan[int](h, "b", 0), host.NewChan[int](h, "out", 0)
		for i := range 50 {
			h.Go("sender", func() { a.Send(i) })
			var v int
			ok := false
			require.Equal(t, 1, host.Select(h, b.OnRecv(nil, nil), a.OnRecv(&v, &ok), out.OnSend(1)))
			require.True(t, ok)
			require.Equal(t, i, v)
			require.False(t, b.TrySend(1), "the cases not chosen are gone")
			_, _, ready := out.TryRecv()
			require.False(t, ready)
		}
	})},
	{"sends to who selects", alone(func(t *testing.T, h host.Host) {
		ping, pong := host.NewChan[int](h, "ping", 0), host.NewChan[int](h, "pong", 0)
		quit := host.NewChan[bool](h, "quit", 0)
		done := host.NewWaitGroup(h, "echo")
		done.Go(h, "echo", func() {
			for {
				var v int
				if host.Select(h, ping.OnRecv(&v, nil), quit.OnRecv(nil, nil)) == 1 {
					return
				}
				if host.Select(h, quit.OnRecv(nil, nil), pong.OnSend(v+1)) == 0 {
					return
				}
			}
		})
		for i := range 300 {
			var v int
			require.Equal(t, 1, host.Select(h, quit.OnRecv(nil, nil), ping.OnSend(i)))
			require.Equal(t, 0, host.Select(h, pong.OnRecv(&v, nil), quit.OnRecv(nil, nil)))
			require.Equal(t, i+1, v)
		}
		quit.Close()
		done.Wait()
	})},
	{"many at once", alone(func(t *testing.T, h host.Host) {
		const tasks, each = 4, 200
		chans := make([]*host.Chan[int], 3)
		for i := range chans {
			chans[i] = host.NewChan[int](h, "c", i)
		}
		sum := host.NewChan[int](h, "sums", tasks)
		sending, receiving := host.NewWaitGroup(h, "senders"), host.NewWaitGroup(h, "receivers")
		for range tasks {
			sending.Go(h, "sender", func() {
				for n := range each {
					host.Select(h, chans[0].OnSend(n), chans[1].OnSend(n), chans[2].OnSend(n))
				}
			})
			receiving.Go(h, "receiver", func() {
				open, total := append([]*host.Chan[int](nil), chans...), 0
				for left := len(open); left > 0; {
					var v int
					var ok bool
					i := host.Select(h, open[0].OnRecv(&v, &ok), open[1].OnRecv(&v, &ok), open[2].OnRecv(&v, &ok))
					if total += v; !ok {
						open[i] = nil
						left--
					}
				}
				sum.Send(total)
			})
		}
		sending.Wait()
		for _, c := range chans {
			c.Close()
		}
		receiving.Wait()
		total := 0
		for sum.Len() > 0 {
			n, _ := sum.Recv()
			total += n
		}
		require.Equal(t, tasks*each*(each-1)/2, total)
	})},
	{"done", alone(func(t *testing.T, h host.Host) {
		c := host.NewChan[int](h, "c", 0)
		ctx, cancel := host.WithCancel(h, background)
		h.Go("canceller", func() {
			moment(h)
			cancel()
		})
		require.Equal(t, 1, host.Select(h, c.OnRecv(nil, nil), host.OnDone(ctx), host.OnDone(background)))
		require.Equal(t, 1, host.Select(h, c.OnRecv(nil, nil), host.OnDone(ctx)), "it stays done")
		require.False(t, c.TrySend(1))
		short, cancelShort := brief(h)
		defer cancelShort()
		require.Equal(t, 0, host.Select(h, host.OnDone(short), c.OnRecv(nil, nil)))
	})},
	{"cases are used again", alone(func(t *testing.T, h host.Host) {
		in, out := host.NewChan[int](h, "in", 0), host.NewChan[int](h, "out", 1)
		ctx, cancel := host.WithCancel(h, background)
		var v int
		cases := []host.Case{in.OnRecv(&v, nil), host.OnDone(ctx)}
		sending := []host.Case{out.OnSend(5), host.OnDone(ctx)}
		for i := range 100 {
			h.Go("sender", func() { in.Send(i) })
			require.Equal(t, 0, host.Select(h, cases...))
			require.Equal(t, i, v)
			require.Equal(t, 0, host.Select(h, sending...))
			got, _ := out.Recv()
			require.Equal(t, 5, got)
		}
		cancel()
		require.Equal(t, 1, host.Select(h, cases...))
	})},
	{"send on a closed channel", alone(func(t *testing.T, h host.Host) {
		closed, other := host.NewChan[int](h, "closed", 0), host.NewChan[int](h, "other", 0)
		var v int
		kept := other.OnRecv(&v, nil)
		h.Go("closer", func() {
			moment(h)
			closed.Close()
		})
		for range 2 { // waiting first, and then at once
			require.PanicsWithValue(t, "host: send on closed channel closed", func() { host.Select(h, closed.OnSend(1), kept) })
			require.False(t, other.TrySend(1), "the other case is gone")
		}
		for i := range 3 {
			h.Go("sender", func() { other.Send(i) })
			require.Equal(t, 0, host.Select(h, kept))
			require.Equal(t, i, v)
		}
	})},
	{"nothing", alone(func(t *testing.T, h host.Host) {
		require.Panics(t, func() { host.Select(h) })
	})},
}
