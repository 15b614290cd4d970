package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// ConnConfig are the times of a [Conn]. The zero value means the defaults. Both ends must have the same, or at least
// a Silence that is some times the other's KeepAlive.
type ConnConfig struct {
	// KeepAlive is how often an end that has nothing to say lets itself be heard of. Default 1 s.
	KeepAlive time.Duration
	// Silence is how long a peer may say nothing before it is given up. Default 5 times KeepAlive.
	Silence time.Duration
}

func (c ConnConfig) withDefaults() ConnConfig {
	if c.KeepAlive <= 0 {
		c.KeepAlive = time.Second
	}
	if c.Silence <= 0 {
		c.Silence = 5 * c.KeepAlive
	}
	return c
}

const (
	// frame is how many bytes of a message travel together at most.
	frame = 32 << 10
)

// ErrSilent: nothing was heard of the peer for so long that it is taken for dead.
var ErrSilent = errors.New("compute protocol: the peer has fallen silent")

// Frames begin with a byte.
const (
	frameMore  = 0 // the message goes on in the next frame
	frameLast  = 1 // the message ends with this frame
	frameAlive = 2 // no message at all
)

// Conn is a connection between a controller and a replica. One task sends and one receives.
type Conn struct {
	h    host.Host
	c    host.Conn
	cfg  ConnConfig
	life context.Context
	end  context.CancelFunc

	sending *host.Mutex
	idle    bool // nothing was sent since the last keepalive was due; guarded by sending
	frame   int
	longest int // message
}

func newConn(h host.Host, c host.Conn, cfg ConnConfig) *Conn {
	conn := &Conn{h: h, c: c, cfg: cfg.withDefaults(), sending: host.NewMutex(h, "compute send to "+c.RemoteAddr()), frame: frame, longest: MaxMessage}
	if h.Buggify("compute/tiny frames") {
		conn.frame = 1 + h.Rand().IntN(64)
	}
	conn.life, conn.end = host.WithCancel(h, context.Background())
	h.Go("compute keepalive "+c.RemoteAddr(), conn.keepAlive)
	return conn
}

// Close ends the connection. What was sent still arrives.
func (c *Conn) Close() {
	c.end()
	_ = c.c.Close() // it fails only when it is closed already
}

// RemoteAddr is the other end's address.
func (c *Conn) RemoteAddr() string { return c.c.RemoteAddr() }

// SendCommand sends a command. The errors are those of host.Conn. One that is host.ErrTooLong, for a command that does
// not [Fits], leaves the connection as it was.
func (c *Conn) SendCommand(ctx context.Context, cmd Command) error {
	return c.send(ctx, EncodeCommand(cmd))
}

// RecvCommand waits for the next command. It fails as host.Conn does, with [ErrSilent] or
// [ErrMalformed].
func (c *Conn) RecvCommand(ctx context.Context) (Command, error) {
	p, err := c.recv(ctx)
	if err != nil {
		return nil, err
	}
	return DecodeCommand(p)
}

// SendResponse sends a response. The errors are those of host.Conn. One that is host.ErrTooLong, for a response of more
// than [MaxMessage], leaves the connection as it was.
func (c *Conn) SendResponse(ctx context.Context, r Response) error {
	return c.send(ctx, EncodeResponse(r))
}

// RecvResponse waits for the next response. It fails as [Conn.RecvCommand] does, or with the reason for
// which the replica refuses the connection.
func (c *Conn) RecvResponse(ctx context.Context) (Response, error) {
	p, err := c.recv(ctx)
	if err != nil {
		return nil, err
	}
	return DecodeResponse(p)
}

func (c *Conn) send(ctx context.Context, msg []byte) error {
	if err := fits(len(msg), c.longest); err != nil {
		return err
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	c.idle = false
	for first := true; first || len(msg) > 0; first = false {
		n := min(len(msg), c.frame)
		kind := byte(frameLast)
		if n < len(msg) {
			kind = frameMore
		}
		if err := c.c.Send(ctx, append([]byte{kind}, msg[:n]...)); err != nil {
			return err
		}
		msg = msg[n:]
	}
	return nil
}

// recv puts a message together. A message whose end never comes is lost with the connection.
func (c *Conn) recv(ctx context.Context) ([]byte, error) {
	var msg []byte
	for {
		p, err := c.next(ctx)
		if err != nil {
			c.h.Sometimes("compute: a connection broke in the middle of a message", len(msg) > 0)
			return nil, err
		}
		switch {
		case len(p) == 0 || p[0] > frameAlive:
			return nil, fmt.Errorf("%w: no frame", ErrMalformed)
		case p[0] == frameAlive:
			continue
		case len(msg)+len(p)-1 > c.longest:
			return nil, fmt.Errorf("%w: longer than %d bytes", ErrMalformed, c.longest)
		case msg == nil:
			msg = p[1:]
		default:
			msg = append(msg, p[1:]...)
		}
		if p[0] == frameLast {
			return msg, nil
		}
	}
}

func (c *Conn) next(ctx context.Context) ([]byte, error) {
	patient, cancel := c.h.Clock().WithTimeout(ctx, c.cfg.Silence)
	defer cancel()
	p, err := c.c.Recv(patient)
	if err != nil && patient.Err() != nil && ctx.Err() == nil {
		c.h.Sometimes("compute: a silent peer was given up", true)
		return nil, ErrSilent
	}
	return p, err
}

// keepAlive lets the peer hear of this end.
func (c *Conn) keepAlive() {
	ticker := c.h.Clock().Ticker(c.cfg.KeepAlive)
	defer ticker.Stop()
	for {
		if host.Select(c.h, host.OnDone(c.life), host.OnTime(ticker.C, nil)) == 0 {
			return
		}
		c.sending.Lock()
		var err error
		if c.idle {
			err = c.c.Send(c.life, []byte{frameAlive})
		}
		c.idle = true
		c.sending.Unlock()
		if err != nil {
			return
		}
	}
}
