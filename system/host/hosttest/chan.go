package hosttest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

var chanTests = []test{
	{"buffer", alone(func(t *testing.T, h host.Host) {
		c := host.NewChan[int](h, "c", 2)
		require.Equal(t, "c", c.Name())
		require.True(t, c.TrySend(1))
		c.Send(2)
		require.False(t, c.TrySend(3), "it is full")
		require.False(t, c.Offer(3))
		require.Equal(t, 2, c.Len())
		done := host.NewWaitGroup(h, "late sender")
		done.Go(h, "late sender", func() { c.Send(3) })
		moment(h)
		for want := 1; want <= 3; want++ {
			v, ok := c.Recv()
			require.True(t, ok)
			require.Equal(t, want, v)
		}
		done.Wait()
		_, _, ready := c.TryRecv()
		require.False(t, ready)
		require.Zero(t, c.Len())
	})},
	{"rendezvous", alone(func(t *testing.T, h host.Host) {
		c, sent := host.NewChan[int](h, "c", 0), host.NewChan[bool](h, "sent", host.Unbounded)
		require.False(t, c.TrySend(1), "nobody receives")
		h.Go("sender", func() {
			c.Send(2)
			sent.Send(true)
		})
		moment(h)
		require.Zero(t, sent.Len(), "Send waits for who receives")
		v, ok := c.Recv()
		require.True(t, ok)
		require.Equal(t, 2, v)
		sent.Recv()
		got := host.NewChan[int](h, "got", 1)
		h.Go("receiver", func() {
			v, _ := c.Recv()
			got.Send(v)
		})
		eventually(t, h, "a receiver waits", func() bool { return c.TrySend(3) })
		v, _ = got.Recv()
		require.Equal(t, 3, v)
	})},
	{"unbounded", alone(func(t *testing.T, h host.Host) {
		const n = 10_000
		c := host.NewChan[int](h, "mailbox", host.Unbounded)
		for i := range n {
			c.Send(i)
		}
		require.Equal(t, n, c.Len())
		for i := range n {
			v, ok := c.Recv()
			require.True(t, ok)
			require.Equal(t, i, v)
		}
	})},
	{"group", alone(func(t *testing.T, h host.Host) {
		c := host.NewChan[int](h, "c", 5)
		for i := range 4 {
			c.Send(i)
		}
		require.Equal(t, []int{0, 1, 2}, c.RecvGroup(3))
		require.Equal(t, []int{3}, c.RecvGroup(3), "it does not wait for more")
		h.Go("sender", func() {
			moment(h)
			c.Send(4)
			c.Close()
		})
		require.Equal(t, []int{4}, c.RecvGroup(3))
		require.Nil(t, c.RecvGroup(3))
	})},
	{"close", alone(func(t *testing.T, h host.Host) {
		c := host.NewChan[int](h, "c", 3)
		c.Send(1)
		c.Send(2)
		require.False(t, c.Closed())
		c.Close()
		require.True(t, c.Closed())
		require.False(t, c.Offer(3))
		require.PanicsWithValue(t, "host: send on closed channel c", func() { c.Send(3) })
		require.PanicsWithValue(t, "host: send on closed channel c", func() { c.TrySend(3) })
		require.PanicsWithValue(t, "host: close of closed channel c", c.Close)
		for _, want := range []int{1, 2} {
			v, ok := c.Recv()
			require.True(t, ok, "what was sent before can still be received")
			require.Equal(t, want, v)
		}
		v, ok := c.Recv()
		require.False(t, ok)
		require.Zero(t, v)
		_, ok, ready := c.TryRecv()
		require.True(t, ready)
		require.False(t, ok)
		_, ok, err := c.RecvContext(limit(h))
		require.NoError(t, err)
		require.False(t, ok)
	})},
	{"close wakes all", alone(func(t *testing.T, h host.Host) {
		receiving, sending := host.NewChan[int](h, "receiving", 0), host.NewChan[int](h, "sending", 0)
		done := host.NewWaitGroup(h, "waiting")
		panicked := func(fn func()) {
			require.PanicsWithValue(t, "host: send on closed channel sending", fn)
		}
		for range 3 {
			done.Go(h, "receiver", func() {
				_, ok := receiving.Recv()
				require.False(t, ok)
			})
			done.Go(h, "selecting receiver", func() {
				ok := true
				require.Equal(t, 0, host.Select(h, receiving.OnRecv(nil, &ok)))
				require.False(t, ok)
			})
			done.Go(h, "receiver with a context", func() {
				_, ok, err := receiving.RecvContext(limit(h))
				require.NoError(t, err)
				require.False(t, ok)
			})
			done.Go(h, "sender", func() { panicked(func() { sending.Send(1) }) })
			done.Go(h, "selecting sender", func() { panicked(func() { host.Select(h, sending.OnSend(1)) }) })
		}
		moment(h)
		receiving.Close()
		sending.Close()
		done.Wait()
	})},
	{"nil", alone(func(t *testing.T, h host.Host) {
		var c *host.Chan[int]
		require.Zero(t, c.Len())
		require.False(t, c.Closed())
		require.False(t, c.TrySend(1))
		require.False(t, c.Offer(1))
		_, _, ready := c.TryRecv()
		require.False(t, ready)
		require.Panics(t, c.Close)
		require.Panics(t, func() { c.Recv() }, "it says so instead of blocking for ever")
		require.Panics(t, func() { c.Send(1) })
		require.Equal(t, -1, host.TrySelect(h, c.OnRecv(nil, nil), c.OnSend(1)))
	})},
	{"contexts", alone(func(t *testing.T, h host.Host) {
		c := host.NewChan[int](h, "c", 1)
		ctx, cancel := host.WithCancel(h, background)
		require.NoError(t, c.SendContext(ctx, 1))
		h.Go("canceller", func() {
			moment(h)
			cancel()
		})
		require.ErrorIs(t, c.SendContext(ctx, 2), context.Canceled)
		v, ok, err := c.RecvContext(ctx)
		require.NoError(t, err, "what is there is received even so")
		require.True(t, ok)
		require.Equal(t, 1, v)
		_, _, err = c.RecvContext(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, c.Len(), "the message that was given up was not sent")

		ctx, cancel = brief(h)
		defer cancel()
		_, _, err = c.RecvContext(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, c.SendContext(background, 3))
		v, _, err = c.RecvContext(background)
		require.NoError(t, err)
		require.Equal(t, 3, v)
	})},
	{"many at once", alone(func(t *testing.T, h host.Host) {
		for _, capacity := range []int{0, 1, 7, host.Unbounded} {
			const senders, receivers, each = 4, 3, 200
			type value struct{ from, n int }
			c, got := host.NewChan[value](h, "c", capacity), host.NewChan[value](h, "got", host.Unbounded)
			sending, receiving := host.NewWaitGroup(h, "senders"), host.NewWaitGroup(h, "receivers")
			for s := range senders {
				sending.Go(h, "sender", func() {
					for n := range each {
						c.Send(value{s, n})
					}
				})
			}
			for range receivers {
				receiving.Go(h, "receiver", func() {
					last := map[int]int{}
					for v, ok := c.Recv(); ok; v, ok = c.Recv() {
						if before, seen := last[v.from]; seen {
							require.Greater(t, v.n, before, "what one receives of one comes in order")
						}
						last[v.from] = v.n
						got.Send(v)
					}
				})
			}
			sending.Wait()
			c.Close()
			receiving.Wait()
			seen := map[value]bool{}
			for got.Len() > 0 {
				v, _ := got.Recv()
				require.False(t, seen[v], "%v came twice", v)
				seen[v] = true
			}
			require.Len(t, seen, senders*each)
		}
	})},
}
