package replica

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/host"
)

// connection is a controller's connection.
type connection struct {
	epoch protocol.Epoch
	end   func()
	// initialized: the commands of the initialisation are complete. Until then they are collected.
	initialized bool
	collected   []protocol.Command

	responses *host.Chan[protocol.Response]
	// waiting is how many bytes of responses wait for their turn to be sent, about, and news how many of those nobody has
	// asked for. Limit is how many may: with more that wait peeks are answered later, with twice as many subscribes end,
	// and with more news, of which there is no end, the connection does.
	waiting, news atomic.Int64
	limit         int64
	// failed are the subscribes that have ended with an error, of which nothing more is told but that they were dropped.
	failed map[protocol.GlobalID]bool
	// givenUp: nobody listens, and nothing more is sent.
	givenUp bool
}

func newConnection(h host.Host, epoch protocol.Epoch, end func(), limit int) *connection {
	return &connection{
		epoch: epoch, end: end, responses: host.NewChan[protocol.Response](h, "compute responses", host.Unbounded),
		limit: int64(limit), failed: map[protocol.GlobalID]bool{},
	}
}

// hasRoom tells whether peeks may be answered.
func (c *connection) hasRoom() bool { return c.waiting.Load() < c.limit }

// subscribed is what a subscribe's response becomes: itself; the error with which the subscribe ends, if a batch has
// more bytes than most or is too long for a message, or there is no room; or nothing, if it has ended so already.
func (c *connection) subscribed(r protocol.SubscribeResponse, most int) (protocol.SubscribeResponse, bool) {
	if r.Batch == nil {
		delete(c.failed, r.ID)
		return r, true
	}
	if c.failed[r.ID] {
		return r, false
	}
	size, waiting := r.Batch.Size(), c.waiting.Load()
	switch {
	case size > most:
		r = protocol.SubscribeResponse{ID: r.ID, Error: fmt.Sprintf("a batch has %d bytes, which is more than %d", size, most)}
	case protocol.SizeOf(r) > protocol.MaxMessage:
		r = protocol.SubscribeResponse{ID: r.ID, Error: fmt.Sprintf("a batch of %d bytes is too long for a message, of which %d are the most", size, protocol.MaxMessage)}
	case waiting > 0 && waiting+int64(size) > 2*c.limit:
		r = protocol.SubscribeResponse{ID: r.ID, Error: fmt.Sprintf("%d bytes wait to be sent, and there is no room for a batch of %d", waiting, size)}
	default:
		return r, true
	}
	c.failed[r.ID] = true
	return r, true
}

// admits tells whether there is room for a response. If there is not, the connection is given up.
func (c *connection) admits(h host.Host, r protocol.Response) bool {
	news := c.news.Load()
	if news == 0 || news+newsOf(r) <= c.limit {
		return true
	}
	h.Sometimes("compute: a replica gave up a controller that does not listen", true)
	h.Logf("compute: %d bytes of news wait on the connection of epoch %v, which is given up", news, c.epoch)
	c.givenUp = true
	c.end()
	return false
}

// newsOf is about how many bytes a response has if nobody has asked for it.
func newsOf(r protocol.Response) int64 {
	switch r.(type) {
	case protocol.PeekResponse, protocol.SubscribeResponse:
		return 0
	}
	return int64(protocol.SizeOf(r))
}

func (c *connection) send(r protocol.Response) {
	c.waiting.Add(int64(protocol.SizeOf(r)))
	c.news.Add(newsOf(r))
	c.responses.Send(r)
}

// respond sends responses until the connection ends. It calls relieved when there has come to be room again.
func (c *connection) respond(ctx context.Context, h host.Host, conn *protocol.Conn, relieved func()) {
	for {
		r, _, err := c.responses.RecvContext(ctx)
		if err != nil {
			return
		}
		c.news.Add(-newsOf(r))
		size := int64(protocol.SizeOf(r))
		if waiting := c.waiting.Add(-size); waiting < c.limit && waiting+size >= c.limit {
			relieved()
		}
		if h.Buggify("compute/slow responses") {
			h.Clock().Sleep(time.Duration(h.Rand().IntN(20)) * time.Millisecond)
		}
		if h.Buggify("compute/stuck responses") && h.Rand().IntN(50) == 0 {
			h.Clock().Sleep(time.Duration(h.Rand().IntN(1500)) * time.Millisecond)
		}
		if err := conn.SendResponse(ctx, r); err != nil {
			return
		}
	}
}
