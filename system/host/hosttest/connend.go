package hosttest

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

var connEndTests = []test{
	{"what was sent arrives before the end", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		c.Start(0, "sender", func(h host.Host) {
			for i := range 30 {
				send(t, h, p.dialled, payload(i, 5000))
			}
			require.NoError(t, p.dialled.Close())
			require.ErrorIs(t, p.dialled.Close(), host.ErrClosed)
			require.ErrorIs(t, p.dialled.Send(limit(h), nil), host.ErrClosed)
			_, err := p.dialled.Recv(limit(h))
			require.ErrorIs(t, err, host.ErrClosed)
		})()
		c.Start(1, "receiver", func(h host.Host) {
			for i := range 30 {
				require.Equal(t, payload(i, 5000), recv(t, h, p.accepted))
			}
			for range 3 {
				_, err := p.accepted.Recv(limit(h))
				require.Equal(t, io.EOF, err, "bare, as readers expect it")
			}
			require.NoError(t, p.accepted.Close())
		})()
	}},
	{"both close", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		closing := func(conn host.Conn) func(h host.Host) {
			return func(h host.Host) {
				send(t, h, conn, []byte("bye"))
				require.Equal(t, "bye", string(recv(t, h, conn)))
				require.NoError(t, conn.Close())
			}
		}
		one := c.Start(0, "close", closing(p.dialled))
		c.Start(1, "close", closing(p.accepted))()
		one()
	}},
	{"close ends who waits", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		c.Start(0, "client", func(h host.Host) {
			done := host.NewWaitGroup(h, "waiting")
			for range 3 {
				done.Go(h, "receiver", func() {
					_, err := p.dialled.Recv(limit(h))
					require.ErrorIs(t, err, host.ErrClosed)
				})
				done.Go(h, "sender", func() {
					var err error
					for n := 0; err == nil; n++ {
						require.Less(t, n, tooMuch)
						err = p.dialled.Send(limit(h), make([]byte, tooMuchEach))
					}
					require.ErrorIs(t, err, host.ErrClosed)
				})
			}
			moment(h)
			require.NoError(t, p.dialled.Close())
			done.Wait()
		})()
	}},
	{"sending to who has closed", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		c.Start(1, "server", func(host.Host) { require.NoError(t, p.accepted.Close()) })()
		c.Start(0, "client", func(h host.Host) {
			_, err := p.dialled.Recv(limit(h))
			require.Equal(t, io.EOF, err)
			eventually(t, h, "the sender is told", func() bool {
				err = p.dialled.Send(limit(h), []byte("anybody?"))
				return err != nil
			})
			require.ErrorIs(t, err, host.ErrReset)
			require.NoError(t, p.dialled.Close())
			require.ErrorIs(t, p.dialled.Send(limit(h), nil), host.ErrClosed)
		})()
	}},
	{"waiting to send to who closes", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		client := c.Start(0, "client", func(h host.Host) {
			done := host.NewWaitGroup(h, "senders")
			for range 3 {
				done.Go(h, "sender", func() {
					var err error
					for n := 0; err == nil; n++ {
						require.Less(t, n, tooMuch)
						err = p.dialled.Send(limit(h), make([]byte, tooMuchEach))
					}
					require.ErrorIs(t, err, host.ErrReset)
				})
			}
			done.Wait()
		})
		c.Start(1, "server", func(h host.Host) {
			recv(t, h, p.accepted)
			moment(h)
			require.NoError(t, p.accepted.Close())
		})()
		client()
	}},
	{"the peer dies", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		waiting := c.Start(0, "client", func(h host.Host) {
			for i := range 3 {
				require.Equal(t, payload(i, 100), recv(t, h, p.dialled))
			}
			done := host.NewWaitGroup(h, "waiting")
			for range 3 {
				done.Go(h, "receiver", func() {
					_, err := p.dialled.Recv(limit(h))
					require.ErrorIs(t, err, host.ErrReset)
				})
				done.Go(h, "sender", func() {
					var err error
					for n := 0; err == nil; n++ {
						require.Less(t, n, tooMuch)
						err = p.dialled.Send(limit(h), make([]byte, tooMuchEach))
					}
					require.ErrorIs(t, err, host.ErrReset)
				})
			}
			done.Wait()
			require.ErrorIs(t, p.dialled.Send(limit(h), nil), host.ErrReset)
			_, err := p.dialled.Recv(limit(h))
			require.ErrorIs(t, err, host.ErrReset)
			require.NoError(t, p.dialled.Close())
		})
		c.Start(1, "server", func(h host.Host) {
			for i := range 3 {
				send(t, h, p.accepted, payload(i, 100))
			}
			recv(t, h, p.accepted) // the client has got them
			moment(h)
		})()
		c.Restart(1)
		waiting()
		// The next life is another peer.
		p = connect(t, c)
		c.Start(0, "client", func(h host.Host) { send(t, h, p.dialled, []byte("again")) })()
		c.Start(1, "server", func(h host.Host) { require.Equal(t, "again", string(recv(t, h, p.accepted))) })()
	}},
	{"what arrived before the peer died is received", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		c.Start(1, "server", func(h host.Host) {
			for i := range 10 {
				send(t, h, p.accepted, payload(i, 100))
			}
		})()
		c.Start(0, "client", func(h host.Host) { require.Equal(t, payload(0, 100), recv(t, h, p.dialled)) })()
		c.Restart(1)
		c.Start(0, "client", func(h host.Host) {
			for i := 1; ; i++ {
				msg, err := p.dialled.Recv(limit(h))
				if err != nil {
					require.ErrorIs(t, err, host.ErrReset)
					return
				}
				require.Equal(t, payload(i, 100), msg, "a prefix of what was sent")
			}
		})()
	}},
}
