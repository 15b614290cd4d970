package hosttest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

var listenerTests = []test{
	{"nobody listens", func(t *testing.T, c Cluster) {
		there := c.Host(1).Name()
		c.Start(0, "client", func(h host.Host) {
			for range 3 {
				_, err := h.Net().Dial(limit(h), host.JoinAddr(there, "nothing"))
				require.ErrorIs(t, err, host.ErrRefused)
			}
			_, err := h.Net().Dial(limit(h), "nowhere:nothing")
			require.ErrorIs(t, err, host.ErrNoHost)
			ctx, cancel := host.WithCancel(h, background)
			cancel()
			_, err = h.Net().Dial(ctx, host.JoinAddr(there, "nothing"))
			require.ErrorIs(t, err, context.Canceled)
		})()
	}},
	{"one at a port", alone(func(t *testing.T, h host.Host) {
		l := listen(t, h, "port")
		_, err := h.Net().Listen("port")
		require.ErrorIs(t, err, host.ErrInUse)
		other := listen(t, h, "other port")
		require.NoError(t, other.Close())
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Close(), host.ErrClosed)
		l = listen(t, h, "port")
		require.NoError(t, l.Close())
	})},
	{"a context ends Accept and nothing else", func(t *testing.T, c Cluster) {
		var l host.Listener
		c.Start(1, "listen", func(h host.Host) {
			l = listen(t, h, "port")
			ctx, cancel := brief(h)
			defer cancel()
			_, err := l.Accept(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})()
		server := c.Start(1, "server", func(h host.Host) {
			require.Equal(t, "hello", string(recv(t, h, accept(t, h, l))))
		})
		c.Start(0, "client", func(h host.Host) { send(t, h, dial(t, h, l.Addr()), []byte("hello")) })()
		server()
	}},
	{"close ends who waits", alone(func(t *testing.T, h host.Host) {
		l, done := listen(t, h, "port"), host.NewWaitGroup(h, "accepting")
		for range 3 {
			done.Go(h, "accept", func() {
				_, err := l.Accept(limit(h))
				require.ErrorIs(t, err, host.ErrClosed)
			})
		}
		moment(h)
		require.NoError(t, l.Close())
		done.Wait()
		_, err := l.Accept(limit(h))
		require.ErrorIs(t, err, host.ErrClosed)
	})},
	{"close refuses who comes and leaves who was accepted", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		c.Start(1, "close", func(host.Host) { require.NoError(t, p.listener.Close()) })()
		c.Start(0, "client", func(h host.Host) {
			_, err := h.Net().Dial(limit(h), p.listener.Addr())
			require.ErrorIs(t, err, host.ErrRefused)
			send(t, h, p.dialled, []byte("still here"))
		})()
		c.Start(1, "server", func(h host.Host) { require.Equal(t, "still here", string(recv(t, h, p.accepted))) })()
	}},
	{"close resets who waits to be accepted", func(t *testing.T, c Cluster) {
		var l host.Listener
		c.Start(1, "listen", func(h host.Host) { l = listen(t, h, "port") })()
		var conn host.Conn
		c.Start(0, "dial", func(h host.Host) { conn = dial(t, h, l.Addr()) })()
		c.Start(1, "close", func(host.Host) { require.NoError(t, l.Close()) })()
		c.Start(0, "client", func(h host.Host) {
			_, err := conn.Recv(limit(h))
			require.ErrorIs(t, err, host.ErrReset)
		})()
	}},
}
