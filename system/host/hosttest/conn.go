package hosttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

// pair is a connection of two machines.
type pair struct {
	listener         host.Listener
	dialled          host.Conn // on machine 0
	accepted         host.Conn // on machine 1
	dialling, served host.Host
}

// connect connects machine 0 with machine 1.
func connect(t *testing.T, c Cluster) *pair {
	p := &pair{}
	c.Start(1, "listen", func(h host.Host) {
		p.served = h
		p.listener = listen(t, h, "conformance")
	})()
	accepted := c.Start(1, "accept", func(h host.Host) { p.accepted = accept(t, h, p.listener) })
	c.Start(0, "dial", func(h host.Host) {
		p.dialling = h
		p.dialled = dial(t, h, p.listener.Addr())
	})()
	accepted()
	return p
}

func listen(t *testing.T, h host.Host, port string) host.Listener {
	l, err := h.Net().Listen(port)
	require.NoError(t, err)
	require.Equal(t, host.JoinAddr(h.Name(), port), l.Addr())
	return l
}

func accept(t *testing.T, h host.Host, l host.Listener) host.Conn {
	c, err := l.Accept(limit(h))
	require.NoError(t, err)
	return c
}

func dial(t *testing.T, h host.Host, addr string) host.Conn {
	c, err := h.Net().Dial(limit(h), addr)
	require.NoError(t, err)
	return c
}

func send(t *testing.T, h host.Host, c host.Conn, msg []byte) {
	require.NoError(t, c.Send(limit(h), msg))
}

func recv(t *testing.T, h host.Host, c host.Conn) []byte {
	msg, err := c.Recv(limit(h))
	require.NoError(t, err)
	return msg
}

// payload is a message of that length, each with other contents.
func payload(number, length int) []byte {
	p := make([]byte, length)
	for i := range p {
		p[i] = byte(number*31 + i*7 + i>>8)
	}
	return p
}

// tooMuch is more than any connection takes on its way, in messages of which none fills it alone.
const tooMuch, tooMuchEach = 1000, 64 << 10

var connTests = []test{
	{"addresses", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		require.Equal(t, p.listener.Addr(), p.dialled.RemoteAddr())
		require.Equal(t, p.listener.Addr(), p.accepted.LocalAddr())
		for _, addr := range []string{p.dialled.LocalAddr(), p.accepted.RemoteAddr()} {
			name, _ := host.SplitAddr(addr)
			require.Equal(t, c.Host(0).Name(), name)
		}
	}},
	{"messages keep their bounds and order", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		lengths := []int{0, 1, 5, 0, 0, 4096, 1 << 20, 3, 65535, 65536, 300_000, 2}
		exchange := func(t *testing.T, h host.Host, conn host.Conn) {
			sending := host.NewWaitGroup(h, "sender")
			sending.Go(h, "sender", func() {
				for i, n := range lengths {
					send(t, h, conn, payload(i, n))
				}
			})
			for i, n := range lengths {
				msg := recv(t, h, conn)
				require.Len(t, msg, n, "message %d", i)
				require.True(t, bytes.Equal(payload(i, n), msg), "message %d", i)
			}
			sending.Wait()
		}
		one := c.Start(0, "exchange", func(h host.Host) { exchange(t, h, p.dialled) })
		c.Start(1, "exchange", func(h host.Host) { exchange(t, h, p.accepted) })()
		one()
	}},
	{"messages are copied", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		c.Start(0, "sender", func(h host.Host) {
			msg := []byte("before")
			for range 3 {
				copy(msg, "before")
				send(t, h, p.dialled, msg)
				copy(msg, "after!")
			}
		})()
		c.Start(1, "receiver", func(h host.Host) {
			for range 3 {
				msg := recv(t, h, p.accepted)
				require.Equal(t, "before", string(msg))
				copy(msg, "taken!")
				_ = append(msg, "and more"...)
			}
		})()
	}},
	{"requests and responses", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		const n = 200
		server := c.Start(1, "server", func(h host.Host) {
			for range n {
				msg := recv(t, h, p.accepted)
				send(t, h, p.accepted, append(msg, '!'))
			}
		})
		c.Start(0, "client", func(h host.Host) {
			for i := range n {
				send(t, h, p.dialled, fmt.Append(nil, i))
				require.Equal(t, fmt.Sprint(i, "!"), string(recv(t, h, p.dialled)))
			}
		})()
		server()
	}},
	{"many tasks share it", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		const tasks, each = 4, 100
		sender := c.Start(0, "senders", func(h host.Host) {
			done := host.NewWaitGroup(h, "senders")
			for s := range tasks {
				done.Go(h, "sender", func() {
					for n := range each {
						msg := binary.BigEndian.AppendUint32(nil, uint32(s))
						send(t, h, p.dialled, binary.BigEndian.AppendUint32(msg, uint32(n)))
					}
				})
			}
			done.Wait()
		})
		c.Start(1, "receivers", func(h host.Host) {
			got, done := host.NewChan[[]byte](h, "got", tasks*each), host.NewWaitGroup(h, "receivers")
			for range tasks {
				done.Go(h, "receiver", func() {
					last := map[uint32]uint32{}
					for range each {
						msg := recv(t, h, p.accepted)
						require.Len(t, msg, 8)
						from, n := binary.BigEndian.Uint32(msg), binary.BigEndian.Uint32(msg[4:])
						if before, seen := last[from]; seen {
							require.Greater(t, n, before)
						}
						last[from] = n
						got.Send(msg)
					}
				})
			}
			done.Wait()
			seen := map[string]bool{}
			for got.Len() > 0 {
				msg, _ := got.Recv()
				seen[string(msg)] = true
			}
			require.Len(t, seen, tasks*each)
		})()
		sender()
	}},
	{"a context ends Recv and nothing else", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		c.Start(0, "client", func(h host.Host) {
			ctx, cancel := brief(h)
			_, err := p.dialled.Recv(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
			ctx, cancel = host.WithCancel(h, background)
			h.Go("canceller", func() {
				moment(h)
				cancel()
			})
			_, err = p.dialled.Recv(ctx)
			require.ErrorIs(t, err, context.Canceled)
			send(t, h, p.dialled, []byte("go on"))
		})()
		server := c.Start(1, "server", func(h host.Host) {
			require.Equal(t, "go on", string(recv(t, h, p.accepted)))
			for i := range 100 {
				send(t, h, p.accepted, payload(i, 50_000))
			}
		})
		c.Start(0, "client", func(h host.Host) {
			// Contexts that end while a message arrives, too.
			for i := 0; i < 100; {
				ctx, cancel := h.Clock().WithTimeout(background, time.Duration(h.Rand().IntN(100))*time.Microsecond)
				msg, err := p.dialled.Recv(ctx)
				cancel()
				if err != nil {
					require.ErrorIs(t, err, context.DeadlineExceeded)
					continue
				}
				require.True(t, bytes.Equal(payload(i, 50_000), msg), "message %d", i)
				i++
			}
		})()
		server()
	}},
	{"Send waits for a slow receiver", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		accepted := 0
		c.Start(0, "fast", func(h host.Host) {
			ctx, cancel := brief(h)
			defer cancel()
			var err error
			for err == nil {
				require.Less(t, accepted, tooMuch, "so much can't be on its way")
				if err = p.dialled.Send(ctx, payload(accepted, tooMuchEach)); err == nil {
					accepted++
				}
			}
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Positive(t, accepted)
		})()
		fast := c.Start(0, "fast", func(h host.Host) {
			for i := range 20 {
				send(t, h, p.dialled, payload(accepted+i, tooMuchEach))
			}
		})
		c.Start(1, "slow", func(h host.Host) {
			for i := range accepted + 20 {
				require.True(t, bytes.Equal(payload(i, tooMuchEach), recv(t, h, p.accepted)),
					"message %d of %d: the one given up was not sent, those sent are there", i, accepted)
			}
		})()
		fast()
	}},
	{"several wait to send", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		const tasks, each = 5, 20
		senders := c.Start(0, "senders", func(h host.Host) {
			done := host.NewWaitGroup(h, "senders")
			for i := range tasks {
				done.Go(h, "sender", func() {
					for n := range each {
						// Some fit in where others wait for room.
						send(t, h, p.dialled, payload(i, 1000+n*10_000))
					}
				})
			}
			done.Wait()
		})
		c.Start(1, "receiver", func(h host.Host) {
			moment(h)
			for range tasks * each {
				recv(t, h, p.accepted)
			}
		})()
		senders()
	}},
	{"room for several at once", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		c.Start(0, "fill", func(h host.Host) {
			send(t, h, p.dialled, make([]byte, 200_000))
			send(t, h, p.dialled, make([]byte, 50_000))
		})()
		senders := c.Start(0, "senders", func(h host.Host) {
			done := host.NewWaitGroup(h, "senders")
			for range 3 {
				done.Go(h, "sender", func() { send(t, h, p.dialled, make([]byte, 30_000)) })
			}
			done.Wait()
		})
		c.Start(1, "receiver", func(h host.Host) {
			moment(h)
			require.Len(t, recv(t, h, p.accepted), 200_000) // and no more
		})()
		senders()
	}},
	{"long messages", func(t *testing.T, c Cluster) {
		p := connect(t, c)
		sender := c.Start(0, "sender", func(h host.Host) {
			require.ErrorIs(t, p.dialled.Send(limit(h), make([]byte, host.MaxMessage+1)), host.ErrTooLong)
			for i := range 3 {
				send(t, h, p.dialled, payload(i, 2<<20))
			}
		})
		c.Start(1, "receiver", func(h host.Host) {
			for i := range 3 {
				require.True(t, bytes.Equal(payload(i, 2<<20), recv(t, h, p.accepted)))
			}
		})()
		sender()
	}},
	{"many connections", func(t *testing.T, c Cluster) {
		const clients = 20
		var l host.Listener
		c.Start(2, "listen", func(h host.Host) { l = listen(t, h, "echo") })()
		server := c.Start(2, "server", func(h host.Host) {
			done := host.NewWaitGroup(h, "serve")
			for range 2 * clients {
				conn := accept(t, h, l)
				done.Go(h, "serve", func() {
					for range 3 {
						send(t, h, conn, recv(t, h, conn))
					}
				})
			}
			done.Wait()
		})
		var waits []func()
		for m := range 2 {
			waits = append(waits, c.Start(m, "clients", func(h host.Host) {
				done := host.NewWaitGroup(h, "clients")
				for i := range clients {
					done.Go(h, "client", func() {
						conn := dial(t, h, l.Addr())
						for n := range 3 {
							text := fmt.Sprint(m, i, n)
							send(t, h, conn, []byte(text))
							require.Equal(t, text, string(recv(t, h, conn)))
						}
					})
				}
				done.Wait()
			}))
		}
		for _, wait := range append(waits, server) {
			wait()
		}
	}},
	{"to itself", alone(func(t *testing.T, h host.Host) {
		l := listen(t, h, "self")
		h.Go("server", func() {
			conn := accept(t, h, l)
			send(t, h, conn, append(recv(t, h, conn), " too"...))
		})
		conn := dial(t, h, l.Addr())
		send(t, h, conn, []byte("me"))
		require.Equal(t, "me too", string(recv(t, h, conn)))
	})},
}
