package hosttest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

func openSocket(t *testing.T, h host.Host, port string) host.Socket {
	s, err := h.Net().OpenSocket(port)
	require.NoError(t, err)
	return s
}

var socketTests = []test{
	{"asking until answered", func(t *testing.T, c Cluster) {
		var s host.Socket
		c.Start(1, "open", func(h host.Host) { s = openSocket(t, h, "echo") })()
		c.Start(1, "echo", func(h host.Host) {
			for {
				from, msg, err := s.RecvFrom(background)
				if err != nil {
					return
				}
				require.NoError(t, s.SendTo(from, msg))
			}
		})
		there := host.JoinAddr(c.Host(1).Name(), "echo")
		c.Start(0, "client", func(h host.Host) {
			mine := openSocket(t, h, "client")
			for i, length := range []int{0, 1, 17, 1000, 2, 5000, host.MaxDatagram, 3} {
				ask := payload(i, length)
				eventually(t, h, "it is answered", func() bool {
					require.NoError(t, mine.SendTo(there, ask))
					ctx, cancel := h.Clock().WithTimeout(background, 20*time.Millisecond)
					defer cancel()
					for {
						from, answer, err := mine.RecvFrom(ctx)
						if err != nil {
							require.ErrorIs(t, err, context.DeadlineExceeded)
							return false
						}
						require.Equal(t, there, from)
						if bytes.Equal(ask, answer) {
							return true
						} // else the answer to an earlier one, asked twice
					}
				})
			}
		})()
	}},
	{"errors", func(t *testing.T, c Cluster) {
		there := c.Host(1).Name()
		c.Start(0, "test", func(h host.Host) {
			s := openSocket(t, h, "port")
			_, err := h.Net().OpenSocket("port")
			require.ErrorIs(t, err, host.ErrInUse)
			require.ErrorIs(t, s.SendTo("nowhere:port", nil), host.ErrNoHost)
			require.NoError(t, s.SendTo(host.JoinAddr(there, "nobody"), []byte("x")), "nobody says that nobody is there")
			require.ErrorIs(t, s.SendTo(host.JoinAddr(there, "port"), make([]byte, host.MaxDatagram+1)), host.ErrTooLong)
			ctx, cancel := brief(h)
			defer cancel()
			_, _, err = s.RecvFrom(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)

			done := host.NewWaitGroup(h, "receivers")
			for range 3 {
				done.Go(h, "receiver", func() {
					_, _, err := s.RecvFrom(limit(h))
					require.ErrorIs(t, err, host.ErrClosed)
				})
			}
			moment(h)
			require.NoError(t, s.Close())
			done.Wait()
			require.ErrorIs(t, s.Close(), host.ErrClosed)
			require.ErrorIs(t, s.SendTo(host.JoinAddr(there, "port"), nil), host.ErrClosed)
			_, _, err = s.RecvFrom(limit(h))
			require.ErrorIs(t, err, host.ErrClosed)
			s = openSocket(t, h, "port")
			require.NoError(t, s.Close())
		})()
	}},
	{"beside a listener of the same name", alone(func(t *testing.T, h host.Host) {
		l, s := listen(t, h, "port"), openSocket(t, h, "port")
		require.NoError(t, l.Close())
		require.NoError(t, s.Close())
	})},
	{"many on their way", alone(func(t *testing.T, h host.Host) {
		const n = 20
		a, b := openSocket(t, h, "a"), openSocket(t, h, "b")
		message := func(i int) []byte { return append([]byte{byte(i)}, payload(i, 100+(i*37)%60)...) }
		got := 0
		eventually(t, h, "most get through", func() bool {
			for i := range n {
				require.NoError(t, a.SendTo(host.JoinAddr(h.Name(), "b"), message(i)))
			}
			moment(h)
			for {
				ctx, cancel := brief(h)
				_, msg, err := b.RecvFrom(ctx)
				cancel()
				if err != nil {
					return got > n/2
				}
				require.NotEmpty(t, msg)
				require.True(t, bytes.Equal(message(int(msg[0])), msg))
				got++
			}
		})
	})},
	{"to itself, copied", alone(func(t *testing.T, h host.Host) {
		a, b := openSocket(t, h, "a"), openSocket(t, h, "b")
		eventually(t, h, "one gets through", func() bool {
			msg := []byte("before")
			require.NoError(t, a.SendTo(host.JoinAddr(h.Name(), "b"), msg))
			copy(msg, "after!")
			ctx, cancel := brief(h)
			defer cancel()
			from, got, err := b.RecvFrom(ctx)
			if err != nil {
				return false
			}
			require.Equal(t, host.JoinAddr(h.Name(), "a"), from)
			require.Equal(t, "before", string(got))
			return true
		})
	})},
}
