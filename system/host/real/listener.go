package real

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/host"
)

// backlog is how many connections wait to be accepted at a port; more are refused.
const backlog = 1024

var errNotReached = errors.New("real: the host has no address to be reached at: set Config.Listen")

// Listen is part of host.Net.
func (n *network) Listen(port string) (host.Listener, error) {
	l := &listener{n: n, port: port}
	if !n.h.alive() {
		return nil, fmt.Errorf("listen on %s: %w", l.Addr(), host.ErrClosed)
	}
	if n.tcp == nil {
		return nil, fmt.Errorf("listen on %s: %w", l.Addr(), errNotReached)
	}
	l.backlog = host.NewRuntimeChan[*conn](n.h.rt, "connections to "+port, backlog)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closed:
		return nil, fmt.Errorf("listen on %s: %w", l.Addr(), host.ErrClosed)
	case n.listeners[port] != nil:
		return nil, fmt.Errorf("listen on %s: %w", l.Addr(), host.ErrInUse)
	}
	n.listeners[port] = l
	return l, nil
}

type listener struct {
	n       *network
	port    string
	backlog *host.Chan[*conn]
}

func (l *listener) Addr() string { return host.JoinAddr(l.n.h.cfg.Name, l.port) }

func (l *listener) Accept(ctx context.Context) (host.Conn, error) {
	c, ok, err := l.backlog.RecvContext(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("accept on %s: %w", l.Addr(), err)
	case !ok:
		return nil, fmt.Errorf("accept on %s: %w", l.Addr(), host.ErrClosed)
	}
	return c, nil
}

func (l *listener) Close() error {
	l.n.h.alive()
	if !l.n.removeListener(l) {
		return fmt.Errorf("close %s: %w", l.Addr(), host.ErrClosed)
	}
	l.close()
	return nil
}

func (n *network) removeListener(l *listener) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[l.port] != l {
		return false
	}
	delete(n.listeners, l.port)
	return true
}

// close ends who waits to accept, and resets who waits to be accepted.
func (l *listener) close() {
	l.backlog.Close()
	for c, ok := l.backlog.Recv(); ok; c, ok = l.backlog.Recv() {
		c.abort(host.ErrReset)
	}
}
