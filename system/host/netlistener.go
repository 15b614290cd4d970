package host

import (
	"context"
	"net"
)

// NetListener returns a listener that accepts connections as streams of bytes, as [NetConn] makes
// them. Its errors are *net.OpError, with net.ErrClosed inside once it was closed.
func NetListener(h Host, l Listener) net.Listener { return &netListener{h, l} }

type netListener struct {
	h Host
	l Listener
}

func (l *netListener) Accept() (net.Conn, error) {
	c, err := l.l.Accept(context.Background())
	if err != nil {
		return nil, l.failed("accept", err)
	}
	return NetConn(l.h, c), nil
}

func (l *netListener) Close() error {
	if err := l.l.Close(); err != nil {
		return l.failed("close", err)
	}
	return nil
}

func (l *netListener) Addr() net.Addr { return netAddr(l.l.Addr()) }

func (l *netListener) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: l.Addr().Network(), Addr: l.Addr(), Err: netError(err)}
}
