package real

import (
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// Close is part of host.Conn. What was sent is still written, and what arrives is still read: a TCP
// connection closed with data in it would be reset, and take with it what the peer has not read yet.
// When the peer has closed as well, or has been waited for long enough, TCP is closed.
func (c *conn) Close() error {
	c.n.h.alive()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return fmt.Errorf("close the connection to %s: %w", c.remote, host.ErrClosed)
	}
	c.enqueue(newFrame(frameClose, 0))
	c.closed = true
	c.end(host.ErrClosed)
	c.noMoreSending()
	if c.ended {
		c.finish()
	} else if !c.shut {
		c.timer.Stop()
		c.timer = time.AfterFunc(c.n.h.cfg.Timeout, func() { c.locked(c.finish) })
	}
	return nil
}

func (c *conn) locked(fn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn()
}

// finish closes TCP once the queue is written.
func (c *conn) finish() {
	c.finishing = true
	c.wakeWriter()
}

// abort gives the connection up. Without the frame that ends it, the peer takes it for reset.
func (c *conn) abort(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.queue = nil
	c.end(c.err)
	c.noMoreSending()
	c.shutDown()
}

// shutDown ends the use of TCP, and with it the connection's goroutines.
func (c *conn) shutDown() {
	if c.shut {
		return
	}
	c.shut = true
	c.timer.Stop()
	close(c.gone)
	c.wire.Close()
	c.n.forget(c)
}

// hostClosed ends the connection with the life of its process: at once, unless the process has closed
// it. Then what was sent is written first.
func (c *conn) hostClosed() {
	c.mu.Lock()
	lingers := c.closed && c.err == nil
	if lingers {
		c.wire.SetWriteDeadline(time.Now().Add(c.n.h.cfg.Timeout))
		c.finish()
	}
	c.mu.Unlock()
	if !lingers {
		c.abort(host.ErrClosed)
	}
}
