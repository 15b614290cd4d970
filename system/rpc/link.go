package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/host"
)

// link is one connection of a client, from before it is dialled until it is dead. A client
// replaces a dead link; a link is never revived.
type link struct {
	c       *Client
	life    context.Context
	end     context.CancelFunc
	dialled *host.Chan[struct{}] // closed once conn is set or the dial has failed
	conn    host.Conn            // nil when the dial failed; fixed once dialled is closed

	mu       *host.Mutex
	broken   error // why the link is dead, nil while it is not
	calls    uint64
	received uint64 // messages received, to tell a slow peer from a silent one
	pending  map[uint64]*pending
	spare    []*pending // of calls that are over
}

// pending is a call that waits for its answer.
type pending struct {
	id       uint64
	received uint64                  // what link.received was when it began
	answer   *host.Chan[callOutcome] // of capacity 1, sent to at most once a call
}

type callOutcome struct {
	response
	err error // the link broke; the response is empty
}

func newLink(c *Client) *link {
	l := &link{
		c:       c,
		dialled: host.NewChan[struct{}](c.h, "rpc dial "+c.addr, 0),
		mu:      host.NewMutex(c.h, "rpc link "+c.addr),
		pending: map[uint64]*pending{},
	}
	l.life, l.end = host.WithCancel(c.h, c.life)
	return l
}

// run is the link's task: dial, then take answers until the connection breaks.
func (l *link) run() {
	defer l.end()
	ctx, cancel := l.c.h.Clock().WithTimeout(l.life, l.c.opts.DialTimeout)
	conn, err := l.c.h.Net().Dial(ctx, l.c.addr)
	cancel()
	if err != nil {
		l.breakOff(err)
		l.dialled.Close()
		return
	}
	l.conn = conn
	l.dialled.Close()
	defer conn.Close()
	for {
		msg, err := conn.Recv(l.life)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: the server closed the connection", host.ErrReset)
			}
			l.breakOff(err)
			return
		}
		resp, err := decodeResponse(msg)
		if err != nil {
			l.breakOff(err)
			return
		}
		l.deliver(resp)
	}
}

func (l *link) dead() bool { return l.cause() != nil }

func (l *link) cause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// begin registers a call, or tells why the link takes none.
func (l *link) begin() (*pending, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return nil, l.broken
	}
	l.calls++
	p := l.another()
	p.id, p.received = l.calls, l.received
	l.pending[p.id] = p
	return p, nil
}

// another is a pending of no call, whose channel is empty.
func (l *link) another() *pending {
	if n := len(l.spare); n > 0 {
		p := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return p
	}
	return &pending{answer: host.NewChan[callOutcome](l.c.h, "rpc answer", 1)}
}

// finish forgets a call: an answer that still comes is dropped.
func (l *link) finish(p *pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, p.id)
	p.answer.TryRecv() // one that came when the call had been given up already
	l.spare = append(l.spare, p)
}

func (l *link) deliver(resp response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.received++
	if p, ok := l.pending[resp.ID]; ok {
		delete(l.pending, resp.ID)
		p.answer.Send(callOutcome{response: resp})
	}
}

// suspect gives the link up when nothing at all arrived since p began.
func (l *link) suspect(p *pending) {
	l.mu.Lock()
	silent := l.received == p.received
	l.mu.Unlock()
	if silent {
		l.c.h.Sometimes("rpc: a silent connection was given up", true)
		l.breakOff(host.ErrTimeout)
	}
}

// breakOff declares the link dead and fails what waits on it, oldest first.
func (l *link) breakOff(cause error) {
	if l.c.life.Err() != nil {
		cause = ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return
	}
	l.broken = cause
	for _, id := range slices.Sorted(maps.Keys(l.pending)) {
		l.pending[id].answer.Send(callOutcome{err: cause})
	}
	clear(l.pending)
	l.end()
}
