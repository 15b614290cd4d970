package hosttest

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

// streams connects machine 0 with machine 1, by connections seen as streams of bytes.
func streams(t *testing.T, c Cluster) (dialled, accepted net.Conn) {
	p := connect(t, c)
	c.Start(0, "wrap", func(h host.Host) { dialled = host.NetConn(h, p.dialled) })()
	c.Start(1, "wrap", func(h host.Host) { accepted = host.NetConn(h, p.accepted) })()
	return dialled, accepted
}

// inTime sets a deadline by which all that the test waits for is surely done.
func inTime(t *testing.T, h host.Host, c net.Conn) {
	require.NoError(t, c.SetDeadline(h.Clock().Now().Add(time.Minute)))
}

func requireTimeout(t *testing.T, err error) {
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())
}

var streamTests = []test{
	{"gob", func(t *testing.T, c Cluster) {
		type order struct {
			Number int
			Items  []string
			Note   []byte
		}
		orderOf := func(n int) order {
			return order{n, []string{"apples", "pears"}[:1+n%2], payload(n, n*1000)}
		}
		dialled, accepted := streams(t, c)
		const n = 100
		server := c.Start(1, "server", func(h host.Host) {
			inTime(t, h, accepted)
			in, out := gob.NewDecoder(accepted), gob.NewEncoder(accepted)
			for i := 1; ; i++ {
				var o order
				if err := in.Decode(&o); err != nil {
					require.Equal(t, io.EOF, err)
					require.Equal(t, n, i)
					return
				}
				require.Equal(t, orderOf(i), o)
				require.NoError(t, out.Encode(o.Number))
			}
		})
		c.Start(0, "client", func(h host.Host) {
			inTime(t, h, dialled)
			out, in := gob.NewEncoder(dialled), gob.NewDecoder(dialled)
			for i := 1; i < n; i++ {
				require.NoError(t, out.Encode(orderOf(i)))
				var number int
				require.NoError(t, in.Decode(&number))
				require.Equal(t, i, number)
			}
			require.NoError(t, dialled.Close())
		})()
		server()
	}},
	{"http", func(t *testing.T, c Cluster) {
		var l net.Listener
		c.Start(1, "listen", func(h host.Host) { l = host.NetListener(h, listen(t, h, "http")) })()
		require.Equal(t, host.JoinAddr(c.Host(1).Name(), "http"), l.Addr().String())
		server := c.Start(1, "server", func(h host.Host) {
			conn, err := l.Accept()
			require.NoError(t, err)
			inTime(t, h, conn)
			in := bufio.NewReader(conn)
			for {
				req, err := http.ReadRequest(in)
				if err != nil {
					require.Equal(t, io.EOF, err)
					return
				}
				body, err := io.ReadAll(req.Body)
				require.NoError(t, err)
				resp := http.Response{
					StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: req,
					Header:        http.Header{"X-Path": {req.URL.Path}},
					ContentLength: int64(len(body)),
					Body:          io.NopCloser(strings.NewReader(strings.ToUpper(string(body)))),
				}
				require.NoError(t, resp.Write(conn))
			}
		})
		c.Start(0, "client", func(h host.Host) {
			conn := host.NetConn(h, dial(t, h, l.Addr().String()))
			inTime(t, h, conn)
			in := bufio.NewReader(conn)
			for i, length := range []int{0, 10, 100_000, 3} {
				body := strings.Repeat("x", length)
				req, err := http.NewRequest(http.MethodPost, fmt.Sprint("http://conformance/", i), strings.NewReader(body))
				require.NoError(t, err)
				require.NoError(t, req.Write(conn))
				resp, err := http.ReadResponse(in, req)
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, resp.StatusCode)
				require.Equal(t, fmt.Sprint("/", i), resp.Header.Get("X-Path"))
				answer, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.Equal(t, strings.ToUpper(body), string(answer))
			}
			require.NoError(t, conn.Close())
		})()
		server()
		c.Start(1, "close", func(host.Host) {
			require.NoError(t, l.Close())
			require.ErrorIs(t, l.Close(), net.ErrClosed)
			_, err := l.Accept()
			require.ErrorIs(t, err, net.ErrClosed)
		})()
	}},
	{"a long write, read in pieces", func(t *testing.T, c Cluster) {
		content := payload(1, 1_000_003)
		dialled, accepted := streams(t, c)
		writer := c.Start(0, "writer", func(h host.Host) {
			inTime(t, h, dialled)
			n, err := dialled.Write(content)
			require.NoError(t, err)
			require.Equal(t, len(content), n)
			n, err = dialled.Write(nil)
			require.NoError(t, err)
			require.Zero(t, n)
			require.NoError(t, dialled.Close())
		})
		c.Start(1, "reader", func(h host.Host) {
			inTime(t, h, accepted)
			n, err := accepted.Read(nil)
			require.NoError(t, err)
			require.Zero(t, n)
			got, err := io.ReadAll(iotest.HalfReader(accepted))
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, got))
			_, err = accepted.Read(make([]byte, 1))
			require.Equal(t, io.EOF, err)
		})()
		writer()
	}},
	{"as readers should be", func(t *testing.T, c Cluster) {
		content := payload(2, 5000)
		dialled, accepted := streams(t, c)
		c.Start(0, "writer", func(h host.Host) {
			for rest := content; len(rest) > 0; {
				n, err := dialled.Write(rest[:min(len(rest), 1+h.Rand().IntN(700))])
				require.NoError(t, err)
				rest = rest[n:]
			}
			require.NoError(t, dialled.Close())
		})()
		c.Start(1, "reader", func(h host.Host) {
			inTime(t, h, accepted)
			require.NoError(t, iotest.TestReader(accepted, content))
		})()
	}},
	{"deadlines of reads", func(t *testing.T, c Cluster) {
		dialled, accepted := streams(t, c)
		c.Start(0, "client", func(h host.Host) {
			p := make([]byte, 100)
			require.NoError(t, dialled.SetReadDeadline(h.Clock().Now().Add(2*time.Millisecond)))
			for range 2 {
				_, err := dialled.Read(p)
				requireTimeout(t, err)
			}
			_, err := dialled.Write([]byte("x"))
			require.NoError(t, err, "that is the other direction")
			require.NoError(t, dialled.SetReadDeadline(h.Clock().Now().Add(-time.Hour)))
			_, err = dialled.Read(p)
			requireTimeout(t, err)

			// A deadline set while a read waits, earlier and later.
			require.NoError(t, dialled.SetReadDeadline(time.Time{}))
			h.Go("setter", func() {
				for _, in := range []time.Duration{time.Hour, time.Minute, 2 * time.Millisecond} {
					moment(h)
					require.NoError(t, dialled.SetReadDeadline(h.Clock().Now().Add(in)))
				}
			})
			_, err = dialled.Read(p)
			requireTimeout(t, err)
			inTime(t, h, dialled)
		})()
		c.Start(1, "server", func(h host.Host) {
			_, err := accepted.Write([]byte("after all"))
			require.NoError(t, err)
		})()
		c.Start(0, "client", func(h host.Host) {
			p := make([]byte, 100)
			n, err := io.ReadFull(dialled, p[:9])
			require.NoError(t, err)
			require.Equal(t, "after all", string(p[:n]))
		})()
	}},
	{"deadlines of writes", func(t *testing.T, c Cluster) {
		content := payload(3, tooMuch*tooMuchEach/10)
		dialled, accepted := streams(t, c)
		written := 0
		c.Start(0, "writer", func(h host.Host) {
			require.NoError(t, dialled.SetWriteDeadline(h.Clock().Now().Add(5*time.Millisecond)))
			var err error
			written, err = dialled.Write(content)
			requireTimeout(t, err)
			require.Less(t, written, len(content))
			n, err := dialled.Write(content)
			requireTimeout(t, err)
			require.Zero(t, n)
			inTime(t, h, dialled)
		})()
		writer := c.Start(0, "writer", func(h host.Host) {
			n, err := dialled.Write(content[written:])
			require.NoError(t, err)
			require.Equal(t, len(content)-written, n)
			require.NoError(t, dialled.Close())
		})
		c.Start(1, "reader", func(h host.Host) {
			inTime(t, h, accepted)
			got, err := io.ReadAll(accepted)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, got), "each byte once, though a write ended in the middle")
		})()
		writer()
	}},
	{"close", func(t *testing.T, c Cluster) {
		dialled, accepted := streams(t, c)
		c.Start(0, "client", func(h host.Host) {
			done := host.NewWaitGroup(h, "waiting")
			for range 3 {
				done.Go(h, "reader", func() {
					_, err := dialled.Read(make([]byte, 1))
					require.ErrorIs(t, err, net.ErrClosed)
					require.ErrorIs(t, err, host.ErrClosed)
				})
				done.Go(h, "writer", func() {
					_, err := dialled.Write(make([]byte, tooMuch*tooMuchEach/10))
					require.ErrorIs(t, err, net.ErrClosed)
				})
			}
			moment(h)
			require.NoError(t, dialled.Close())
			done.Wait()
			require.ErrorIs(t, dialled.Close(), net.ErrClosed)
			require.ErrorIs(t, dialled.SetDeadline(time.Time{}), net.ErrClosed)
			_, err := dialled.Write([]byte("x"))
			require.ErrorIs(t, err, net.ErrClosed)
			_, err = dialled.Read(make([]byte, 1))
			require.ErrorIs(t, err, net.ErrClosed)
			var op *net.OpError
			require.ErrorAs(t, err, &op)
			require.Equal(t, "read", op.Op)
			require.Equal(t, dialled.RemoteAddr(), op.Addr)
			require.Equal(t, dialled.LocalAddr(), op.Source)
		})()
		c.Start(1, "server", func(h host.Host) {
			inTime(t, h, accepted)
			_, err := io.Copy(io.Discard, accepted)
			require.NoError(t, err)
			require.NoError(t, accepted.Close())
		})()
	}},
	{"the peer dies", func(t *testing.T, c Cluster) {
		dialled, accepted := streams(t, c)
		c.Start(1, "server", func(h host.Host) {
			_, err := accepted.Write([]byte("half a mess"))
			require.NoError(t, err)
		})()
		c.Start(0, "client", func(h host.Host) {
			inTime(t, h, dialled)
			_, err := io.ReadFull(dialled, make([]byte, 11))
			require.NoError(t, err)
		})()
		c.Restart(1)
		c.Start(0, "client", func(h host.Host) {
			_, err := dialled.Read(make([]byte, 1))
			require.ErrorIs(t, err, host.ErrReset)
			require.False(t, errors.Is(err, os.ErrDeadlineExceeded))
		})()
	}},
}
