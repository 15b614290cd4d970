package real_test

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/real"
)

var background = context.Background()

func TestHostThatIsNotReached(t *testing.T) {
	c := newCluster(t, 1)
	h, err := real.New(real.Config{Name: "client", Dir: t.TempDir(), Peers: c.book, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer h.Close()
	require.Empty(t, h.Addr())
	_, err = h.Net().Listen("port")
	require.ErrorContains(t, err, "set Config.Listen")
	_, err = h.Net().OpenSocket("port")
	require.ErrorContains(t, err, "set Config.Listen")
	l, err := c.hosts[0].Net().Listen("port")
	require.NoError(t, err)
	conn, err := h.Net().Dial(background, "machine0:port")
	require.NoError(t, err)
	require.NoError(t, conn.Send(background, []byte("hello")))
	accepted, err := l.Accept(background)
	require.NoError(t, err)
	msg, err := accepted.Recv(background)
	require.NoError(t, err)
	require.Equal(t, "hello", string(msg))
}

func TestDialErrors(t *testing.T) {
	c := newCluster(t, 2)
	h := c.hosts[0]
	_, err := h.Net().Dial(background, "elsewhere:port")
	require.ErrorIs(t, err, host.ErrNoHost)

	c.book.Set("alias", c.hosts[1].Addr())
	_, err = h.Net().Dial(background, "alias:port")
	require.ErrorIs(t, err, host.ErrNoHost, "another machine has that address")

	require.NoError(t, c.hosts[1].Close())
	_, err = h.Net().Dial(background, "machine1:port")
	require.ErrorIs(t, err, host.ErrRefused, "the machine is there, the process is not")

	c.book.Set("unnamed", "no.such.name.invalid:1")
	_, err = h.Net().Dial(background, "unnamed:port")
	require.Error(t, err)
	s, err := h.Net().OpenSocket("port")
	require.NoError(t, err)
	for _, addr := range []string{"", "nonsense", "127.0.0.1:99999"} {
		c.book.Set("unnamed", addr)
		_, err = h.Net().Dial(background, "unnamed:port")
		require.ErrorIs(t, err, host.ErrNoHost, "address %q", addr)
		require.ErrorIs(t, s.SendTo("unnamed:port", nil), host.ErrNoHost, "address %q", addr)
	}
	_, err = h.Net().Dial(background, "machine0:"+strings.Repeat("x", 5000))
	require.ErrorIs(t, err, host.ErrTooLong)
}

// stranger listens where a host is expected, and does something else with who connects.
func stranger(t *testing.T, do func(net.Conn)) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				do(c)
			}()
		}
	}()
	return l.Addr().String()
}

// hostTo returns a host that knows a machine named "peer" at the address.
func hostTo(t *testing.T, addr string, timeout time.Duration) *real.Host {
	return newHost(t, func(c *real.Config) {
		c.Peers = real.NewBook(map[string]string{"peer": addr})
		c.Timeout = timeout
	})
}

// frame is one of the protocol, by its number.
func frame(kind byte, body string) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(1+len(body))), kind), body...)
}

const (
	kindAccept, kindData, kindCredit, kindClose, kindPing, kindPong = 2, 5, 6, 8, 10, 11
)

func readFrame(c net.Conn) (kind byte, err error) {
	header := make([]byte, 5)
	if _, err := io.ReadFull(c, header); err != nil {
		return 0, err
	}
	_, err = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(header))-1)
	return header[4], err
}

// patience is what a host's Timeout is where an error is to come: short only where it is what is to
// run out.
func patience(want error) time.Duration {
	if want == host.ErrTimeout {
		return 2 * time.Second
	}
	return time.Hour
}

func TestStrangers(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(net.Conn)
		want error
	}{
		"hangs up": {func(net.Conn) {}, host.ErrReset},
		"is silent": {func(c net.Conn) {
			_, _ = io.Copy(io.Discard, c)
		}, host.ErrTimeout},
		"speaks something else": {func(c net.Conn) {
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n")
			_, _ = io.Copy(io.Discard, c)
		}, host.ErrRefused},
		"answers with an unknown frame": {func(c net.Conn) {
			_, _ = c.Write(frame(99, ""))
			_, _ = io.Copy(io.Discard, c)
		}, host.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hostTo(t, stranger(t, test.do), patience(test.want))
			_, err := h.Net().Dial(background, "peer:port")
			require.ErrorIs(t, err, test.want)
			require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's context has not ended")
		})
	}
}

func TestContextsEndDial(t *testing.T) {
	asked := make(chan struct{}, 10)
	h := hostTo(t, stranger(t, func(c net.Conn) {
		asked <- struct{}{}
		_, _ = io.Copy(io.Discard, c)
	}), time.Hour)
	ctx, cancel := context.WithCancel(background)
	go func() {
		<-asked
		cancel()
	}()
	_, err := h.Net().Dial(ctx, "peer:port")
	require.ErrorIs(t, err, context.Canceled)
	ctx, cancel = context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err = h.Net().Dial(ctx, "peer:port")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// What the peer of an open connection does wrong, or does not do.
func TestStrangePeers(t *testing.T) {
	for name, test := range map[string]struct {
		do       func(net.Conn)
		messages int // that arrive first
		want     error
	}{
		"falls silent": {func(c net.Conn) {
			_, _ = c.Write(frame(kindData, "hello"))
			_, _ = io.Copy(io.Discard, c)
		}, 1, host.ErrTimeout},
		"falls silent after a while": {func(c net.Conn) {
			for pings := 0; pings < 3; {
				if kind, err := readFrame(c); err != nil {
					return
				} else if kind == kindPing {
					_, _ = c.Write(frame(kindPong, ""))
					pings++
				}
			}
			_, _ = c.Write(frame(kindData, "I have been asked often"))
			_, _ = io.Copy(io.Discard, c)
		}, 1, host.ErrTimeout},
		"dies without a word": {func(c net.Conn) {
			_, _ = c.Write(frame(kindData, "hello"))
			_, _ = c.Write(frame(kindData, "hello"))
		}, 2, host.ErrReset},
		"dies in the middle of a message": {func(c net.Conn) {
			_, _ = c.Write(frame(kindData, "hello"))
			_, _ = c.Write(frame(kindData, "hello")[:7])
		}, 1, host.ErrReset},
		"closes": {func(c net.Conn) {
			_, _ = c.Write(frame(kindData, "hello"))
			_, _ = c.Write(frame(kindClose, ""))
			_, _ = io.Copy(io.Discard, c)
		}, 1, io.EOF},
		"claims a frame of 4 GiB": {func(c net.Conn) {
			_, _ = c.Write([]byte{0xff, 0xff, 0xff, 0xff, kindData})
			_, _ = io.Copy(io.Discard, c)
		}, 0, host.ErrReset},
		"claims a frame of nothing": {func(c net.Conn) {
			_, _ = c.Write([]byte{0, 0, 0, 0, kindData})
			_, _ = io.Copy(io.Discard, c)
		}, 0, host.ErrReset},
		"sends an unknown frame": {func(c net.Conn) {
			_, _ = c.Write(frame(77, "?"))
			_, _ = io.Copy(io.Discard, c)
		}, 0, host.ErrReset},
		"gives credit that is none": {func(c net.Conn) {
			_, _ = c.Write(frame(kindCredit, "much"+"more"))
			_, _ = io.Copy(io.Discard, c)
		}, 0, host.ErrReset},
		"sends after it closed": {func(c net.Conn) {
			_, _ = c.Write(frame(kindClose, ""))
			_, _ = c.Write(frame(kindData, "hello"))
			_, _ = io.Copy(io.Discard, c)
		}, 0, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dialPeer(t, test.do, patience(test.want))
			for range test.messages {
				_, err := conn.Recv(background)
				require.NoError(t, err)
			}
			_, err := conn.Recv(background)
			require.ErrorIs(t, err, test.want)
			require.NoError(t, conn.Close())
		})
	}
}

// dialPeer opens a connection to one that accepts it and then does something.
func dialPeer(t *testing.T, do func(net.Conn), timeout time.Duration) host.Conn {
	h := hostTo(t, stranger(t, func(c net.Conn) {
		if _, err := readFrame(c); err != nil { // the hello
			return
		}
		_, _ = c.Write(frame(kindAccept, ""))
		do(c)
	}), timeout)
	conn, err := h.Net().Dial(background, "peer:port")
	require.NoError(t, err)
	return conn
}

// A peer can't fill the memory.
func TestWindowIsEnforced(t *testing.T) {
	conn := dialPeer(t, func(c net.Conn) {
		for range 10 {
			_, _ = c.Write(frame(kindData, strings.Repeat("x", 100_000)))
		}
		_, _ = io.Copy(io.Discard, c)
	}, time.Hour)
	var err error
	for err == nil {
		time.Sleep(time.Millisecond)
		err = conn.Send(background, nil)
	}
	require.ErrorIs(t, err, host.ErrReset)
	for range 2 {
		_, err = conn.Recv(background)
		require.NoError(t, err)
	}
	_, err = conn.Recv(background)
	require.ErrorIs(t, err, host.ErrReset)
}

func TestStrangersAtTheDoor(t *testing.T) {
	c := newCluster(t, 2)
	l, err := c.hosts[0].Net().Listen("port")
	require.NoError(t, err)
	hello := func(magic, to, port, from string) []byte {
		body := magic
		for _, s := range []string{to, port, from} {
			body += string(binary.BigEndian.AppendUint16(nil, uint16(len(s)))) + s
		}
		return frame(1, body)
	}
	good := hello("simrun host 1", "machine0", "port", "machine1")
	for _, first := range [][]byte{
		[]byte("GET / HTTP/1.1\r\n\r\n"),
		hello("simrun host 9", "machine0", "port", "machine1"),
		hello("simrun host 1", "machine7", "port", "machine1"),
		hello("simrun host 1", "machine0", "elsewhere", "machine1"),
		good[:len(good)-1],
		append(append(binary.BigEndian.AppendUint32(nil, uint32(len(good)-3)), good[4:]...), 0),
		frame(kindData, "hello"),
	} {
		raw, err := net.Dial("tcp", c.hosts[0].Addr())
		require.NoError(t, err)
		_, err = raw.Write(first)
		require.NoError(t, err)
		require.NoError(t, raw.(*net.TCPConn).CloseWrite())
		kind, err := readFrame(raw)
		require.True(t, err != nil || kind != kindAccept, "%q was accepted", first)
		require.NoError(t, raw.Close())
	}
	udp, err := net.Dial("udp", c.hosts[0].Addr())
	require.NoError(t, err)
	defer udp.Close()
	s, err := c.hosts[0].Net().OpenSocket("port")
	require.NoError(t, err)
	for _, packet := range []string{"", "x", "srd1", "srd1\x00\xff", "srd1\x00\x08machine9\x00\x04port\x00\x01x\x00\x01y?"} {
		_, err := udp.Write([]byte(packet))
		require.NoError(t, err)
	}
	// After all that the host is as good as before.
	there, err := c.hosts[1].Net().OpenSocket("out")
	require.NoError(t, err)
	got := make(chan string)
	go func() {
		from, msg, err := s.RecvFrom(background)
		require.NoError(t, err)
		got <- from + " " + string(msg)
	}()
	for done := false; !done; {
		require.NoError(t, there.SendTo("machine0:port", []byte("hello")))
		select {
		case m := <-got:
			require.Equal(t, "machine1:out hello", m)
			done = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	_, err = c.hosts[1].Net().Dial(background, "machine0:port")
	require.NoError(t, err)
	_, err = l.Accept(background)
	require.NoError(t, err)
}

// What was sent on a connection that was closed arrives, though its host is closed right after.
func TestClosedConnectionsOutlastTheHost(t *testing.T) {
	c := newCluster(t, 2)
	l, err := c.hosts[1].Net().Listen("port")
	require.NoError(t, err)
	conn, err := c.hosts[0].Net().Dial(background, "machine1:port")
	require.NoError(t, err)
	accepted, err := l.Accept(background)
	require.NoError(t, err)
	message := strings.Repeat("x", 10<<20)
	require.NoError(t, conn.Send(background, []byte(message)))
	require.NoError(t, conn.Close())
	require.NoError(t, c.hosts[0].Close())
	got, err := accepted.Recv(background)
	require.NoError(t, err)
	require.True(t, message == string(got))
	_, err = accepted.Recv(background)
	require.Equal(t, io.EOF, err)
}

// net/http, with its own goroutines, over connections of hosts.
func TestHTTP(t *testing.T) {
	c := newCluster(t, 2)
	l, err := c.hosts[1].Net().Listen("http")
	require.NoError(t, err)
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		_, err = io.WriteString(w, strings.ToUpper(string(body)))
		require.NoError(t, err)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(host.NetListener(c.hosts[1], l)) }()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		conn, err := c.hosts[0].Net().Dial(ctx, "machine1:http")
		if err != nil {
			return nil, err
		}
		return host.NetConn(c.hosts[0], conn), nil
	}}}
	for _, length := range []int{0, 10, 1 << 20} {
		body := strings.Repeat("x", length)
		resp, err := client.Post("http://machine1/", "text/plain", strings.NewReader(body))
		require.NoError(t, err)
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.True(t, strings.ToUpper(body) == string(got))
	}
	client.CloseIdleConnections()
	require.NoError(t, server.Shutdown(background))
	require.ErrorIs(t, <-served, http.ErrServerClosed)
}
