package real

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// conn is one end of a connection. Send and Recv touch queues only; the goroutines of connio.go move
// frames between them and TCP. What is read is bounded by the window, so that reading never waits for
// the process, and the silence of a peer means that it is gone.
type conn struct {
	n             *network
	wire          *wire
	local, remote string
	in            *host.Chan[[]byte]   // messages; closed when no more come
	room          *host.Chan[struct{}] // a token for one who waits to send; closed when nobody can
	wake          chan struct{}        // of capacity 1: there is something to write
	gone          chan struct{}        // closed when TCP is not used any more

	mu        sync.Mutex
	timer     *time.Timer // looks after the peer, and later ends what lingers
	queue     [][]byte    // frames to write
	sent      int         // weight that the peer's process has not received yet, as far as is known
	blocked   bool        // the peer was told that somebody waits for room
	held      int         // weight that has come and that the process has not received
	owed      int         // weight received that the peer does not know of
	asked     bool        // the peer waits for room
	closed    bool        // by the process
	told      bool        // the peer, that it sends to who has closed
	ended     bool        // the peer has closed
	finishing bool        // when the queue is written, all is done
	shut      bool        // gone is closed
	err       error       // what broke it: nothing can be sent
	why       error       // why no more messages come: io.EOF, or err
}

// weight is what a message takes of the window: its bytes, and what keeping it costs besides.
func weight(msg []byte) int { return len(msg) + 64 }

// creditAt is how much the process receives before the peer is told unasked.
const creditAt = window / 4

func newConn(n *network, w *wire, local, remote string) *conn {
	c := &conn{
		n: n, wire: w, local: local, remote: remote,
		in:   host.NewRuntimeChan[[]byte](n.h.rt, "message from "+remote, host.Unbounded),
		room: host.NewRuntimeChan[struct{}](n.h.rt, "room to send to "+remote, 1),
		wake: make(chan struct{}, 1),
		gone: make(chan struct{}),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(n.h.cfg.Timeout/patience, c.lookAfter)
	return c
}

func (c *conn) LocalAddr() string  { return c.local }
func (c *conn) RemoteAddr() string { return c.remote }

// Send is part of host.Conn.
func (c *conn) Send(ctx context.Context, msg []byte) error {
	if len(msg) > host.MaxMessage {
		return fmt.Errorf("send %d bytes to %s: %w", len(msg), c.remote, host.ErrTooLong)
	}
	for {
		sent, err := c.trySend(msg)
		if sent {
			return nil
		}
		if err == nil {
			_, _, err = c.room.RecvContext(ctx)
		}
		if err != nil {
			return fmt.Errorf("send to %s: %w", c.remote, err)
		}
	}
}

// trySend sends if there is room, and asks for some if there is none.
func (c *conn) trySend(msg []byte) (sent bool, err error) {
	c.n.h.alive()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return false, host.ErrClosed
	case c.err != nil:
		return false, c.err
	case c.sent > 0 && c.sent+weight(msg) > window:
		if !c.blocked {
			c.blocked = true
			c.enqueue(newFrame(frameBlocked, 0))
		}
		return false, nil
	}
	c.sent += weight(msg)
	c.enqueue(append(newFrame(frameData, len(msg)), msg...))
	if c.sent < window {
		c.room.Offer(struct{}{}) // there may be room for another who waits
	}
	return true, nil
}

// Recv is part of host.Conn.
func (c *conn) Recv(ctx context.Context) ([]byte, error) {
	msg, ok, err := c.in.RecvContext(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("receive from %s: %w", c.remote, err)
	case ok:
		c.received(weight(msg))
		return msg, nil
	}
	if err := c.noMore(); err != io.EOF {
		return nil, fmt.Errorf("receive from %s: %w", c.remote, err)
	}
	return nil, io.EOF // bare, as readers expect it
}

func (c *conn) noMore() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return host.ErrClosed
	}
	return c.why
}

func (c *conn) received(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held -= n
	c.owed += n
	c.giveCredit()
}

// giveCredit tells the peer how much was received, if it is worth it. The lock is held, as in all that
// follows.
func (c *conn) giveCredit() {
	if c.owed > 0 && (c.asked || c.owed >= creditAt) && !c.closed {
		c.enqueue(newCredit(c.owed))
		c.owed, c.asked = 0, false
	}
}

// enqueue has a frame written.
func (c *conn) enqueue(frame []byte) {
	if c.err != nil {
		return
	}
	c.queue = append(c.queue, frame)
	c.wakeWriter()
}

func (c *conn) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// end makes no more messages come.
func (c *conn) end(why error) {
	if c.why == nil {
		c.why = why
		c.in.Close()
	}
}

// noMoreSending wakes all who wait for room.
func (c *conn) noMoreSending() {
	if !c.room.Closed() {
		c.room.Close()
	}
}
