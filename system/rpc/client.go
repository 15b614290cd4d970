package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// ClientOptions are the limits of a client. The zero value means the defaults.
type ClientOptions struct {
	// DialTimeout bounds the opening of a connection. Default 2 s.
	DialTimeout time.Duration
	// CallTimeout bounds every call, beside the deadline of its context. Default 5 s. A
	// connection on which nothing arrived while a call ran into it is given up: its other end
	// may be gone without a word.
	CallTimeout time.Duration
}

func (o ClientOptions) withDefaults() ClientOptions {
	if o.DialTimeout <= 0 {
		o.DialTimeout = 2 * time.Second
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = 5 * time.Second
	}
	return o
}

// Client calls the methods served at one address. Any number of tasks may use it.
type Client struct {
	h    host.Host
	addr string
	opts ClientOptions
	life context.Context
	end  context.CancelFunc

	mu   *host.Mutex
	link *link // the connection in use or being dialled, nil when there is none
}

// NewClient returns a client of the server at addr ("name:port"). It does nothing until the
// first call.
func NewClient(h host.Host, addr string, opts ClientOptions) *Client {
	c := &Client{h: h, addr: addr, opts: opts.withDefaults(), mu: host.NewMutex(h, "rpc client "+addr)}
	c.life, c.end = host.WithCancel(h, context.Background())
	return c
}

// Addr is the address that the client calls.
func (c *Client) Addr() string { return c.addr }

// Close ends the connection. Calls that wait for an answer, and all later ones, fail with ErrClosed.
func (c *Client) Close() { c.end() }

var errCallTimeout = errors.New("no answer within the client's CallTimeout")

// call makes a call whose encoded body is in s.
func (c *Client) call(ctx context.Context, method string, s *scratch) ([]byte, error) {
	caller := ctx
	ctx, cancel := c.h.Clock().WithTimeout(ctx, c.opts.CallTimeout)
	defer cancel()
	// cause is the context's error, or the better name for it when it is ours that ran out.
	cause := func(err error) error {
		if ctx.Err() != nil && caller.Err() == nil {
			return fmt.Errorf("%w: %w", errCallTimeout, ctx.Err())
		}
		return err
	}

	l, err := c.connect(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, notSent(c.addr, method, cause(err))
	}
	p, err := l.begin()
	if err != nil {
		return nil, notSent(c.addr, method, err)
	}
	defer l.finish(p)
	// A Send that failed may have put the message on its way all the same.
	if err := l.conn.Send(ctx, s.request(p.id, method)); err != nil {
		if ctx.Err() == nil {
			l.breakOff(err) // the next call dials anew, whether or not the reader knows yet
		}
		return nil, unknown(c.addr, method, cause(err))
	}
	r, _, err := p.answer.RecvContext(ctx)
	if err != nil {
		if caller.Err() == nil {
			l.suspect(p)
		}
		return nil, unknown(c.addr, method, cause(err))
	}
	if r.err != nil {
		return nil, unknown(c.addr, method, r.err)
	}
	if r.Code != "" {
		return nil, &Error{Code: r.Code, Message: r.Message}
	}
	return r.Body, nil
}

// connect returns the open connection, which is dialled once for all the calls that wait
// for it.
func (c *Client) connect(ctx context.Context) (*link, error) {
	c.mu.Lock()
	if c.life.Err() != nil {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	if c.link == nil || c.link.dead() {
		c.link = newLink(c)
		c.h.Go("rpc connection to "+c.addr, c.link.run)
	}
	l := c.link
	c.mu.Unlock()
	if _, _, err := l.dialled.RecvContext(ctx); err != nil {
		return nil, err
	}
	if l.conn == nil {
		return nil, l.cause()
	}
	return l, nil
}
