package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/zeebo/xxh3"
)

// connEnd is one end of a connection, owned by a process. Each end knows only what has reached
// it: an end whose peer has died silently is half open until it sends.
type connEnd struct {
	p             *process
	local, remote string
	remoteNode    *Node
	peer          *connEnd // nil until the peer exists
	out           *flow
	in            *host.Chan[[]byte]
	connected     *host.Chan[error] // of the dialling end
	closed        bool              // by its owner
	err           error             // why nothing more comes: io.EOF or what broke it
	broken        bool
	window        int // bytes sent and not yet received by the peer's process
	writable      *host.Chan[struct{}]
}

// window is how many bytes a connection takes before Send waits: sent, and not yet received by
// the peer's process.
const window = 256 << 10

// segment is what travels on a connection.
type segment struct {
	kind    segmentKind
	msg     []byte
	sum     uint64
	arrival int64 // when it would arrive, without loss
	sent    int64
	tries   int
	message uint64 // its number on the link
	// overflow: the link's queue was full when it was last sent.
	overflow bool
	event    uint64 // of its sending
}

type segmentKind uint8

const (
	segData segmentKind = iota
	segOpen
	segAccept
	segRefuse
	segClose
	segReset
	segTimeout // is not sent, but what becomes of an end
)

var connStateNames = [...]string{segData: "data", segOpen: "open", segAccept: "accepted", segRefuse: "refused", segClose: "closed", segReset: "reset", segTimeout: "timed out"}

func (s *segment) try() attempt { return attempt{s.message, s.tries} }

// flow is one direction of a connection: segments in order. A segment that is lost, or that a
// partition stops, is sent again, later and later, and holds up those behind it.
type flow struct {
	from    *connEnd
	to      *connEnd // nil for an opening one
	link    *link
	queue   []segment // from head on
	head    int
	port    string // of an opening one
	due     timer
	stalled bool
	dead    bool
}

func (n *nodeNet) Dial(ctx context.Context, addr string) (host.Conn, error) {
	p := (*process)(n)
	w := p.w
	w.checkAlive()
	name, port := host.SplitAddr(addr)
	to := w.byName[name]
	if to == nil {
		return nil, fmt.Errorf("dial %s: %w", addr, host.ErrNoHost)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	c := newConnEnd(p, host.JoinAddr(p.node.name, "ephemeral"), addr, to)
	c.connected = host.NewRuntimeChan[error](p.Runtime(), "answer of "+addr, 1)
	c.out.port = port
	c.out.send(segment{kind: segOpen})
	// Whatever becomes of the request and its answer, the caller is told in the end.
	giveUp := w.handleAt(w.now+int64(w.cfg.Net.Timeout), &p.timers, p, dialTimeout{c}, 0)
	err, _, ctxErr := c.connected.RecvContext(ctx)
	w.cancel(giveUp)
	if ctxErr != nil {
		c.reset()
		err = ctxErr
	}
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	return c, nil
}

type dialTimeout struct{ c *connEnd }

func (d dialTimeout) handle(uint64) {
	d.c.p.w.emit(EventConn, d.c.p.node.number, d.c.out.link.number, uint64(segTimeout))
	d.c.abort(host.ErrTimeout)
}

func newConnEnd(p *process, local, remote string, to *Node) *connEnd {
	c := &connEnd{p: p, local: local, remote: remote, remoteNode: to}
	c.in = host.NewRuntimeChan[[]byte](p.Runtime(), "message from "+remote, host.Unbounded)
	c.out = &flow{from: c, link: p.w.net.link(p.node, to)}
	p.conns = append(p.conns, c)
	return c
}

func (c *connEnd) LocalAddr() string  { return c.local }
func (c *connEnd) RemoteAddr() string { return c.remote }

func (c *connEnd) Send(ctx context.Context, msg []byte) error {
	w := c.p.w
	w.checkAlive()
	if len(msg) > host.MaxMessage {
		return fmt.Errorf("send %d bytes to %s: %w", len(msg), c.remote, host.ErrTooLong)
	}
	for {
		if c.closed {
			return fmt.Errorf("send to %s: %w", c.remote, host.ErrClosed)
		}
		if c.broken {
			return fmt.Errorf("send to %s: %w", c.remote, c.err)
		}
		if c.window == 0 || c.window+len(msg) <= window {
			break
		}
		if c.writable == nil {
			c.writable = host.NewRuntimeChan[struct{}](c.p.Runtime(), "room to send to "+c.remote, 1)
		}
		if _, _, err := c.writable.RecvContext(ctx); err != nil {
			return fmt.Errorf("send to %s: %w", c.remote, err)
		}
	}
	c.window += len(msg)
	if c.window < window {
		c.wakeSender() // there may be room for another one that waits
	}
	c.out.send(segment{kind: segData, msg: slices.Clone(msg), sum: xxh3.Hash(msg)})
	return nil
}

func (c *connEnd) Recv(ctx context.Context) ([]byte, error) {
	msg, ok, err := c.in.RecvContext(ctx)
	switch {
	case err != nil:
		return nil, err
	case ok:
		if peer := c.peer; peer != nil {
			peer.consumed(len(msg))
		}
		return msg, nil
	case c.closed:
		return nil, fmt.Errorf("receive from %s: %w", c.remote, host.ErrClosed)
	case errors.Is(c.err, io.EOF):
		return nil, io.EOF // bare, as readers expect it
	default:
		return nil, fmt.Errorf("receive from %s: %w", c.remote, c.err)
	}
}

// consumed makes room after the peer's process has received n bytes. That the sender learns it at
// once, and through a partition, is the model's liberty: it only ever waits for less long.
func (c *connEnd) consumed(n int) {
	c.window = max(c.window-n, 0)
	c.wakeSender()
}

func (c *connEnd) wakeSender() {
	if c.writable != nil {
		c.writable.Offer(struct{}{})
	}
}

// noMoreSending wakes all who wait for room: there will be none.
func (c *connEnd) noMoreSending() {
	if c.writable != nil && !c.writable.Closed() {
		c.writable.Close()
	}
}

func (c *connEnd) Close() error {
	c.p.w.checkAlive()
	if c.closed {
		return host.ErrClosed
	}
	c.closed = true
	if !c.broken {
		c.out.send(segment{kind: segClose})
	}
	c.end(host.ErrClosed)
	c.noMoreSending()
	return nil
}

// reset gives an end up, and tells the peer.
func (c *connEnd) reset() {
	if !c.broken {
		c.out.send(segment{kind: segReset})
	}
	c.broken, c.closed = true, true
	c.end(host.ErrClosed)
	c.noMoreSending()
	c.forget()
}

// end makes nothing more come in.
func (c *connEnd) end(err error) {
	if c.err == nil {
		c.err = err
		c.in.Close()
	}
}

// abort ends both directions of this end at once.
func (c *connEnd) abort(err error) {
	c.broken = true
	c.out.stop()
	c.end(err)
	if c.err == io.EOF {
		c.err = err
	}
	if c.connected != nil {
		c.connected.Offer(err)
	}
	c.noMoreSending()
	c.forget()
}

func (c *connEnd) forget() {
	if i := slices.Index(c.p.conns, c); i >= 0 {
		c.p.conns = slices.Delete(c.p.conns, i, i+1)
	}
}

// ownerDied is what becomes of an end whose process is dead: what it has sent is on its way; then
// the machine resets the connection, unless it is silent itself.
func (c *connEnd) ownerDied(silent bool) {
	c.broken, c.closed = true, true
	if silent {
		c.out.dead = true // on its way, but not sent again
		return
	}
	c.out.send(segment{kind: segReset})
}

func (f *flow) stop() {
	f.link.w.cancel(f.due)
	f.queue, f.head = nil, 0
	f.dead = true
}

func (f *flow) send(s segment) {
	w := f.link.w
	s.sent = w.now
	s.message = f.link.next()
	departs, sent := f.link.transmit(len(s.msg))
	if !sent {
		departs = w.now
		s.overflow = true // as good as lost: it is sent again later
	}
	s.arrival = departs + int64(f.link.latency(s.try()))
	if n := len(f.queue); n > f.head {
		s.arrival = max(s.arrival, f.queue[n-1].arrival)
	}
	if s.kind == segData {
		w.emit(EventSend, f.link.from.number, f.link.number, s.sum)
	}
	s.event = w.trace.events
	f.queue = append(f.queue, s)
	if len(f.queue) == f.head+1 && !f.stalled {
		f.schedule(s.arrival)
	}
}

func (f *flow) schedule(at int64) {
	w := f.link.w
	f.due = w.handleAt(max(at, w.now), &f.link.actor, w.self.proc, f, 0)
}

// handle is the arrival of the first segment, or of one more try of it.
func (f *flow) handle(uint64) {
	w := f.link.w
	if len(f.queue) == f.head {
		return
	}
	if f.link.hold {
		f.stalled = true
		f.link.stalled = append(f.link.stalled, f)
		return
	}
	s := &f.queue[f.head]
	if s.overflow || f.link.lost(s.try()) || !f.link.to.Up() {
		f.retry(s)
		return
	}
	first := *s
	*s = segment{}
	f.head++
	if f.head == len(f.queue) {
		f.queue, f.head = f.queue[:0], 0
	} else if f.head >= 64 && f.head*2 >= len(f.queue) {
		f.queue = append(f.queue[:0], f.queue[f.head:]...)
		f.head = 0
	}
	f.deliver(first)
	// What is delivered may have stopped this very flow, or sent on it.
	if f.head < len(f.queue) && !w.pending(f.due) {
		f.schedule(max(f.queue[f.head].arrival, w.now))
	}
}

func (f *flow) retry(s *segment) {
	w := f.link.w
	w.emitCaused(EventDrop, f.link.to.number, f.link.number, s.sum, s.event)
	net := &w.cfg.Net
	if f.dead {
		f.queue, f.head = nil, 0 // the sender is no longer there to send it again
		return
	}
	if w.now-s.sent > int64(net.Timeout) {
		w.emit(EventConn, f.link.from.number, f.link.number, uint64(segTimeout))
		f.from.abort(host.ErrTimeout)
		return
	}
	wait := min(net.Retransmit<<min(s.tries, 10), 10*net.Retransmit)
	s.tries++
	again := w.now + int64(wait)
	if departs, sent := f.link.transmit(len(s.msg)); sent {
		s.overflow = false
		again = max(again, departs)
	}
	f.schedule(again)
}

func (f *flow) deliver(s segment) {
	w := f.link.w
	to := f.to
	if s.kind == segOpen {
		f.accept()
		return
	}
	if to == nil || to.p.dead || to.broken || to.closed && s.kind == segData {
		// The machine knows of no such connection, and says so.
		switch s.kind {
		case segData, segAccept:
			w.emitCaused(EventDrop, f.link.to.number, f.link.number, s.sum, s.event)
			f.refuse(segReset)
		case segClose:
			f.from.forget()
		}
		return
	}
	if s.kind == segData {
		w.emitCaused(EventDeliver, f.link.to.number, f.link.number, s.sum, s.event)
		to.in.Offer(s.msg)
		return
	}
	w.emit(EventConn, f.link.to.number, f.link.number, uint64(s.kind))
	switch s.kind {
	case segAccept:
		to.connected.Offer(nil)
	case segRefuse:
		to.abort(host.ErrRefused)
	case segClose:
		to.end(io.EOF)
		// The peer will not receive what it has not. Who waits for that shall send instead, and be
		// answered with a reset.
		to.consumed(to.window)
		if to.closed {
			to.forget()
			f.from.forget()
		}
	case segReset:
		to.abort(host.ErrReset)
	}
}

// accept is the arrival of a request to open a connection.
func (f *flow) accept() {
	w := f.link.w
	p := f.link.to.proc
	l := p.listeners[f.port]
	if l == nil || f.from.p.dead {
		f.refuse(segRefuse)
		return
	}
	w.emit(EventConn, f.link.to.number, f.link.number, uint64(segOpen))
	c := newConnEnd(p, host.JoinAddr(p.node.name, f.port), f.from.local, f.link.from)
	c.peer, f.from.peer = f.from, c
	f.to, c.out.to = c, f.from
	c.out.send(segment{kind: segAccept})
	l.backlog.Offer(c)
}

// refuse answers a segment with one that belongs to no connection of the answering machine. When it is
// lost, what it answers is sent again and answered again, until the sender takes the connection for
// timed out.
func (f *flow) refuse(kind segmentKind) {
	w := f.link.w
	back := w.net.link(f.link.to, f.link.from)
	from, net, since := f.from, &w.cfg.Net, w.now
	try := attempt{message: back.next()}
	var arrive, travel func()
	arrive = func() {
		switch {
		case from.p.dead || from.broken:
		case back.hold:
			back.answers = append(back.answers, travel)
		default:
			w.emit(EventConn, back.to.number, back.number, uint64(kind))
			if kind == segRefuse {
				from.abort(host.ErrRefused)
			} else {
				from.abort(host.ErrReset)
			}
		}
	}
	travel = func() {
		switch {
		case from.p.dead || from.broken:
		case !back.lost(try):
			w.callAt(w.now+int64(back.latency(try)), &back.actor, w.self.proc, arrive)
		case w.now-since > int64(net.Timeout):
			w.emit(EventConn, back.to.number, back.number, uint64(segTimeout))
			from.abort(host.ErrTimeout)
		default:
			wait := min(net.Retransmit<<min(try.try, 10), 10*net.Retransmit)
			w.callAt(w.now+int64(wait), &back.actor, w.self.proc, travel)
		}
		try.try++
	}
	travel()
}
