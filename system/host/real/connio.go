package real

import (
	"encoding/binary"
	"io"
	"net"

	"github.com/simrun-dev/simrun/system/host"
)

// readAll takes in frames until the connection ends.
func (c *conn) readAll() {
	defer c.n.work.Done()
	for {
		kind, body, err := readFrame(c.wire.in, host.MaxMessage)
		if err == nil {
			err = c.frame(kind, body)
		}
		if err != nil {
			if !isAny(err, io.EOF, net.ErrClosed, host.ErrReset) {
				c.n.h.log.Debug("a connection broke", "peer", c.remote, "error", err)
			}
			c.abort(netError(err))
			return
		}
	}
}

// frame takes in one. An error ends the connection.
func (c *conn) frame(kind frameKind, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch kind {
	case frameData:
		switch {
		case c.ended || c.held > 0 && c.held+weight(body) > window:
			return errProtocol
		case !c.closed:
			c.held += weight(body)
			c.in.Offer(body)
		case !c.told:
			c.told = true
			c.enqueue(newFrame(frameReset, 0))
		}
	case frameCredit:
		if len(body) != 4 {
			return errProtocol
		}
		c.sent = max(0, c.sent-int(binary.BigEndian.Uint32(body)))
		c.blocked = false
		c.room.Offer(struct{}{})
	case frameBlocked:
		c.asked = true
		c.giveCredit()
	case frameClose:
		c.ended = true
		c.end(io.EOF)
		// The peer will not receive what it has not. Who waits for that shall send instead, and
		// be answered with a reset.
		c.sent = 0
		c.room.Offer(struct{}{})
		if c.closed {
			c.finish()
		}
	case frameReset:
		return host.ErrReset
	case framePing:
		if !c.closed {
			c.enqueue(newFrame(framePong, 0))
		}
	case framePong:
	default:
		return errProtocol
	}
	return nil
}

// writeAll writes what is in the queue until the connection ends.
func (c *conn) writeAll() {
	defer c.n.work.Done()
	var spare [][]byte
	for {
		select {
		case <-c.wake:
		case <-c.gone:
			return
		}
		for more := true; more; {
			frames, finished := c.take(spare)
			if finished {
				c.locked(c.shutDown)
				return
			}
			if err := c.write(frames); err != nil {
				c.abort(netError(err))
				return
			}
			more = len(frames) > 0
			clear(frames)
			spare = frames[:0]
		}
	}
}

// take empties the queue, for which spare is used next.
func (c *conn) take(spare [][]byte) (frames [][]byte, finished bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	frames, c.queue = c.queue, spare
	return frames, c.finishing && len(frames) == 0
}

// piece is how much of a long frame is written at once. That TCP takes more and more of it is a sign
// of life, and the only one that the peer gives meanwhile.
const piece = 256 << 10

func (c *conn) write(frames [][]byte) error {
	for len(frames) > 0 {
		if long := frames[0]; len(long) > piece {
			for len(long) > 0 {
				n, err := c.wire.Write(long[:min(piece, len(long))])
				if err != nil {
					return err
				}
				long = long[n:]
				c.wire.seen()
			}
			frames = frames[1:]
			continue
		}
		short := 0
		for short < len(frames) && len(frames[short]) <= piece {
			short++
		}
		buffers := net.Buffers(frames[:short])
		if _, err := buffers.WriteTo(c.wire.Conn); err != nil {
			return err
		}
		frames = frames[short:]
	}
	return nil
}

// patience is how often a silent peer is looked after before it counts as gone.
const patience = 4

// lookAfter asks a silent peer for a sign of life, and gives one up that has been silent for too long.
// One that has closed is not asked: it will end TCP by itself.
func (c *conn) lookAfter() {
	timeout := c.n.h.cfg.Timeout
	silent := c.wire.silent()
	if silent >= timeout {
		c.abort(host.ErrTimeout)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut || c.closed || c.ended {
		return
	}
	if silent >= timeout/patience {
		c.enqueue(newFrame(framePing, 0))
	}
	c.timer.Reset(timeout / patience)
}
