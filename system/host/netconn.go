package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// chunk is how many bytes Write puts into one message: a fraction of what may be on its way, so that
// a long write keeps the connection busy.
const chunk = 32 << 10

// NetConn returns a connection as a stream of bytes, for code that wants a net.Conn: bufio,
// encoding/gob, the readers and writers of net/http. The peer uses NetConn too, or messages cut
// anywhere; empty ones are passed over. Deadlines are by the clock of h. The Conn must not be used
// beside its view.
//
// Errors are io.EOF, or a *net.OpError with os.ErrDeadlineExceeded or ErrTimeout inside, which are
// timeouts, with ErrReset, or with ErrClosed, which is net.ErrClosed there.
func NetConn(h Host, c Conn) net.Conn {
	return &netConn{
		c:       c,
		reading: NewMutex(h, "read from "+c.RemoteAddr()),
		writing: NewMutex(h, "write to "+c.RemoteAddr()),
		rd:      newDeadline(h, "read from "+c.RemoteAddr()),
		wd:      newDeadline(h, "write to "+c.RemoteAddr()),
	}
}

type netConn struct {
	c                Conn
	reading, writing *Mutex // held by the one call that reads or writes
	rd, wd           *deadline
	rest             []byte // of the last message, guarded by reading
}

func (c *netConn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	err := c.rd.do(func(ctx context.Context) (err error) {
		for len(c.rest) == 0 && len(p) > 0 && err == nil {
			c.rest, err = c.c.Recv(ctx)
		}
		return err
	})
	if err != nil {
		return 0, c.failed("read", err)
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *netConn) Write(p []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for {
		part := p[n:min(n+chunk, len(p))]
		err := c.wd.do(func(ctx context.Context) error {
			if len(part) == 0 {
				return nil
			}
			return c.c.Send(ctx, part)
		})
		if err != nil {
			return n, c.failed("write", err)
		}
		if n += len(part); n == len(p) {
			return n, nil
		}
	}
}

func (c *netConn) Close() error {
	err := c.c.Close()
	c.rd.end()
	c.wd.end()
	if err != nil {
		return c.failed("close", err)
	}
	return nil
}

func (c *netConn) LocalAddr() net.Addr  { return netAddr(c.c.LocalAddr()) }
func (c *netConn) RemoteAddr() net.Addr { return netAddr(c.c.RemoteAddr()) }

func (c *netConn) SetDeadline(t time.Time) error {
	if err := c.rd.set(t); err != nil {
		return c.failed("set", err)
	}
	return c.SetWriteDeadline(t)
}

func (c *netConn) SetReadDeadline(t time.Time) error {
	if err := c.rd.set(t); err != nil {
		return c.failed("set", err)
	}
	return nil
}

func (c *netConn) SetWriteDeadline(t time.Time) error {
	if err := c.wd.set(t); err != nil {
		return c.failed("set", err)
	}
	return nil
}

func (c *netConn) failed(op string, err error) error {
	if err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: netAddr("").Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: netError(err)}
}

// netError is an error as users of package net recognise it.
func netError(err error) error {
	switch {
	case errors.Is(err, ErrClosed):
		return fmt.Errorf("%w: %w", net.ErrClosed, err)
	case errors.Is(err, ErrTimeout):
		return transportTimeout{err}
	}
	return err
}

// transportTimeout is ErrTimeout as a net.Error.
type transportTimeout struct{ error }

func (transportTimeout) Timeout() bool   { return true }
func (transportTimeout) Temporary() bool { return false }
func (t transportTimeout) Unwrap() error { return t.error }

// netAddr is the address of an end, "name:port".
type netAddr string

func (netAddr) Network() string  { return "host" }
func (a netAddr) String() string { return string(a) }
