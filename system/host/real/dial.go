package real

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/simrun-dev/simrun/system/host"
)

// Dial is part of host.Net.
func (n *network) Dial(ctx context.Context, addr string) (host.Conn, error) {
	if !n.h.alive() {
		return nil, fmt.Errorf("dial %s: %w", addr, host.ErrClosed)
	}
	c, err := n.dial(ctx, addr)
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case !n.h.alive():
		err = host.ErrClosed
	default:
		err = netError(err)
	}
	return nil, fmt.Errorf("dial %s: %w", addr, err)
}

func (n *network) dial(ctx context.Context, addr string) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name, port := host.SplitAddr(addr)
	first, err := hello{to: name, port: port, from: n.h.cfg.Name}.frame()
	if err != nil {
		return nil, err
	}
	at, err := n.find(name)
	if err != nil {
		return nil, err
	}
	// However it ends: by the caller's context, by our own limit, or with the host.
	ctx, cancel := context.WithTimeout(ctx, n.h.cfg.Timeout)
	defer cancel()
	defer context.AfterFunc(n.h.life, cancel)()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	w := newWire(raw)
	if !n.open(w) {
		return nil, host.ErrClosed
	}
	defer n.opened(w)
	if err := askForPort(ctx, w, first); err != nil {
		w.Close()
		return nil, err
	}
	c := newConn(n, w, host.JoinAddr(n.h.cfg.Name, ephemeral), addr)
	if !n.start(c) {
		c.abort(host.ErrClosed)
		return nil, host.ErrClosed
	}
	return c, nil
}

// askForPort sends the first frame and reads the answer.
func askForPort(ctx context.Context, w *wire, first []byte) error {
	interrupted := context.AfterFunc(ctx, func() { w.Close() })
	_, err := w.Write(first)
	var kind frameKind
	if err == nil {
		kind, _, err = readFrame(w.in, 0)
	}
	if !interrupted() {
		return ctx.Err()
	}
	switch {
	case err != nil && !errors.Is(err, errProtocol):
		return err
	case kind == frameAccept:
		return nil
	case kind == frameRefuse:
		return host.ErrRefused
	case kind == frameUnknown:
		return fmt.Errorf("%w: %s is another machine", host.ErrNoHost, w.RemoteAddr())
	}
	return fmt.Errorf("%w: %s does not speak this protocol", host.ErrRefused, w.RemoteAddr())
}
