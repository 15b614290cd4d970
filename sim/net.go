package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/zeebo/xxh3"
)

// NetConfig is the network as it is without faults.
type NetConfig struct {
	// Latency is the time a message takes from one machine to another.
	Latency Dist
	// Loopback is the time a message takes within a machine.
	Loopback Dist
	// Loss, in parts per million, is how many messages are lost. Connections send lost
	// messages again.
	Loss int
	// Bandwidth is what each link carries, in bytes a second; zero is without bound. A message
	// waits until those before it have been sent.
	Bandwidth int64
	// Queue is how many bytes may wait at a link for being sent; what is beyond is lost. Zero is
	// without bound.
	Queue int64
	// Retransmit is when a connection first sends a lost message again; it doubles each time, up
	// to ten times as long.
	Retransmit time.Duration
	// Timeout is how long a connection tries to get a message across before its sender is told
	// that it timed out.
	Timeout time.Duration
}

// DefaultNet is a data centre's network.
func DefaultNet() NetConfig {
	return NetConfig{
		Latency:    Exp(200*time.Microsecond, 400*time.Microsecond),
		Loopback:   Between(5*time.Microsecond, 20*time.Microsecond),
		Retransmit: 200 * time.Millisecond,
		Timeout:    15 * time.Second,
	}
}

func (c *NetConfig) setDefaults() {
	d := DefaultNet()
	if c.Latency == (Dist{}) {
		c.Latency = d.Latency
	}
	if c.Loopback == (Dist{}) {
		c.Loopback = d.Loopback
	}
	if c.Retransmit <= 0 {
		c.Retransmit = d.Retransmit
	}
	if c.Timeout <= 0 {
		c.Timeout = d.Timeout
	}
}

// network is all links.
type network struct {
	w        *World
	byNumber []*link
	rules    []*Rule
	added    uint64    // rules so far
	packets  []*packet // not in use
}

func newNetwork(w *World) *network { return &network{w: w} }

// Rule is something that is wrong between machines while it is in force. Where several are, their
// effects add up.
type Rule struct {
	// Key names the rule, for what it draws: two rules of one key and seed delay a message alike,
	// whatever other rules are in force. "" is a key made of how many rules came before.
	Key string

	// From and To name the machines at whose sending and receiving ends it acts; empty is all.
	From, To []string
	// Both makes it act in the opposite direction too.
	Both bool

	// Drop loses everything: a partition.
	Drop bool
	// Hold keeps everything until the rule ends, and then delivers it: a clog.
	Hold bool
	// Loss and Duplicate are probabilities in parts per million. Connections hide both.
	Loss, Duplicate int
	// Latency, if it is not the zero Dist, is used instead of NetConfig.Latency: how far apart
	// the machines are. Of several rules the last counts.
	Latency Dist
	// Delay is added to each message's latency; a random one reorders datagrams.
	Delay Dist
	// Bandwidth, in bytes a second, bounds what a link carries, where it is narrower already
	// by less. Zero changes nothing.
	Bandwidth int64

	stream uint64
}

// acts tells whether the rule acts on messages between the two machines.
func (r *Rule) acts(from, to string) bool {
	return among(r.From, from) && among(r.To, to) || r.Both && among(r.From, to) && among(r.To, from)
}

func among(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }

// AddRule puts a rule in force until remove is called.
func (w *World) AddRule(r Rule) (remove func()) {
	rule := &r
	w.net.added++
	rule.stream = derive(0, w.net.added)
	if r.Key != "" {
		rule.stream = deriveName(0, r.Key)
	}
	w.net.rules = append(w.net.rules, rule)
	for _, l := range w.net.byNumber {
		if l.follows(rule) {
			l.rules = append(l.rules, rule)
			l.refresh()
		}
	}
	return func() {
		i := slices.Index(w.net.rules, rule)
		if i < 0 {
			return
		}
		w.net.rules = slices.Delete(w.net.rules, i, i+1)
		for _, l := range w.net.byNumber {
			if i := slices.Index(l.rules, rule); i >= 0 {
				l.rules = slices.Delete(l.rules, i, i+1)
				l.refresh()
			}
		}
	}
}

// ResetConns cuts all connections between the two machines: each end that is alive learns it. It
// returns how many there were.
func (w *World) ResetConns(a, b string) int {
	n := w.byName[a]
	if n == nil || !n.Up() {
		return 0
	}
	cut := 0
	for _, c := range slices.Clone(n.proc.conns) {
		if c.remoteNode.name == b {
			cut++
			c.abort(host.ErrReset)
			if peer := c.peer; peer != nil && !peer.p.dead {
				peer.abort(host.ErrReset)
			}
		}
	}
	return cut
}

// link is one direction between two machines.
type link struct {
	actor
	w        *World
	number   uint64
	from, to *Node
	messages uint64 // so far; a message's number addresses its decisions

	rules []*Rule // in force that act on it, in order

	// The effect of the rules.
	drop, hold      bool
	loss, duplicate int
	base            Dist
	delays          []*Rule // those with a Delay
	bandwidth       int64
	held            []*packet
	stalled         []*flow
	answers         []func() // of machines to what belongs to no connection

	free int64 // when what was given to the link will have been sent
}

func (n *network) link(from, to *Node) *link {
	l := from.links[to.number]
	if l == nil {
		if from.links == nil {
			from.links = map[uint32]*link{}
		}
		l = &link{w: n.w, from: from, to: to, number: uint64(len(n.byNumber))}
		l.key = n.w.streamKey("link", from.name, to.name)
		n.byNumber = append(n.byNumber, l)
		from.links[to.number] = l
		for _, r := range n.rules {
			if l.follows(r) {
				l.rules = append(l.rules, r)
			}
		}
		l.refresh()
	}
	return l
}

// follows tells whether the rule acts on the link. None does on a machine's link to itself.
func (l *link) follows(r *Rule) bool { return l.from != l.to && r.acts(l.from.name, l.to.name) }

// refresh works out what the rules in force do to the link.
func (l *link) refresh() {
	held := l.hold
	net := &l.w.cfg.Net
	l.drop, l.hold, l.loss, l.duplicate, l.delays = false, false, net.Loss, 0, l.delays[:0]
	l.base, l.bandwidth = net.Latency, net.Bandwidth
	if l.from == l.to {
		l.base, l.loss, l.bandwidth = net.Loopback, 0, 0
	}
	for _, r := range l.rules {
		l.drop = l.drop || r.Drop
		l.hold = l.hold || r.Hold
		l.loss += r.Loss
		l.duplicate += r.Duplicate
		if r.Latency != (Dist{}) {
			l.base = r.Latency
		}
		if r.Delay != (Dist{}) {
			l.delays = append(l.delays, r)
		}
		if r.Bandwidth > 0 && (l.bandwidth == 0 || r.Bandwidth < l.bandwidth) {
			l.bandwidth = r.Bandwidth
		}
	}
	if held && !l.hold {
		packets, flows, answers := l.held, l.stalled, l.answers
		l.held, l.stalled, l.answers = nil, nil, nil
		for _, p := range packets {
			l.post(p)
		}
		for _, f := range flows {
			f.stalled = false
			if f.head < len(f.queue) {
				s := &f.queue[f.head]
				s.tries++
				f.schedule(l.w.now + int64(l.latency(s.try())))
			}
		}
		for _, answer := range answers {
			answer()
		}
	}
}

// attempt is one try to get a message across: the address of what is decided about it.
type attempt struct {
	message uint64
	try     int
}

// The decisions about one attempt, by what is decided. It has 8 ordinals, in a stream of the link for
// first attempts and in one of the message for others: how often one message is tried again changes
// nothing for the next.
const (
	decideLoss = iota + 1
	decideDuplicate
	decideLatency
	decideDelay
	decideSecondLatency
	decisionsPerAttempt = 8
)

// next numbers a message.
func (l *link) next() uint64 {
	l.messages++
	return l.messages
}

func (l *link) decide(a attempt, what uint64) uint64 {
	if a.try == 0 {
		return l.w.choice(l.key, a.message*decisionsPerAttempt+what)
	}
	return l.w.choice(derive(l.key, a.message), uint64(a.try)*decisionsPerAttempt+what)
}

// lost tells whether a message, or one more try to get it across, is lost.
func (l *link) lost(a attempt) bool {
	return l.drop || l.loss > 0 && scale(l.decide(a, decideLoss), million) < uint64(l.loss)
}

func (l *link) latency(a attempt) time.Duration {
	t := l.base.Sample(l.decide(a, decideLatency))
	for _, r := range l.delays {
		t += r.Delay.Sample(derive(l.decide(a, decideDelay), r.stream))
	}
	return t
}

// transmit gives a message of some bytes to the link, and tells when the link will have sent it.
// sent is false when too much waits already.
func (l *link) transmit(size int) (at int64, sent bool) {
	now := l.w.now
	if l.bandwidth <= 0 {
		return now, true
	}
	begin := max(l.free, now)
	if q := l.w.cfg.Net.Queue; q > 0 && mulDiv(begin-now, l.bandwidth, int64(time.Second))+int64(size) > q {
		return 0, false
	}
	l.free = begin + mulDiv(int64(size), int64(time.Second), l.bandwidth)
	return l.free, true
}

// processDied ends what a process had open.
func (n *network) processDied(p *process, silent bool) {
	for _, c := range p.conns {
		c.ownerDied(silent)
	}
	p.conns, p.listeners, p.sockets = nil, nil, nil
}

// nodeNet is host.Net of a process.
type nodeNet process

func (n *nodeNet) Listen(port string) (host.Listener, error) {
	p := (*process)(n)
	p.w.checkAlive()
	if p.listeners[port] != nil {
		return nil, fmt.Errorf("listen on %s: %w", host.JoinAddr(p.node.name, port), host.ErrInUse)
	}
	l := &listener{p: p, port: port}
	l.backlog = host.NewRuntimeChan[*connEnd](p.Runtime(), "connections to "+port, host.Unbounded)
	if p.listeners == nil {
		p.listeners = map[string]*listener{}
	}
	p.listeners[port] = l
	return l, nil
}

type listener struct {
	p       *process
	port    string
	backlog *host.Chan[*connEnd]
}

func (l *listener) Accept(ctx context.Context) (host.Conn, error) {
	c, ok, err := l.backlog.RecvContext(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("accept on %s: %w", l.port, host.ErrClosed)
	}
	return c, nil
}

func (l *listener) Addr() string { return host.JoinAddr(l.p.node.name, l.port) }

func (l *listener) Close() error {
	l.p.w.checkAlive()
	if l.p.listeners[l.port] != l {
		return host.ErrClosed
	}
	delete(l.p.listeners, l.port)
	l.backlog.Close()
	for c, ok := l.backlog.Recv(); ok; c, ok = l.backlog.Recv() {
		c.reset() // nobody will ever take it
	}
	return nil
}

// OpenSocket implements host.Net.
func (n *nodeNet) OpenSocket(port string) (host.Socket, error) {
	p := (*process)(n)
	p.w.checkAlive()
	if p.sockets[port] != nil {
		return nil, fmt.Errorf("open socket %s: %w", host.JoinAddr(p.node.name, port), host.ErrInUse)
	}
	s := &socket{p: p, port: port, addr: host.JoinAddr(p.node.name, port)}
	s.inbox = host.NewRuntimeChan[datagram](p.Runtime(), "datagrams to "+port, socketBuffer)
	if p.sockets == nil {
		p.sockets = map[string]*socket{}
	}
	p.sockets[port] = s
	return s, nil
}

// socketBuffer is how many datagrams a socket keeps; more are dropped, as operating systems do.
const socketBuffer = 1024

type socket struct {
	p          *process
	port, addr string
	inbox      *host.Chan[datagram]
}

type datagram struct {
	from string
	msg  []byte
}

// packet is a datagram on its way.
type packet struct {
	l          *link
	from, port string
	msg        []byte
	sum        uint64
	try        attempt
	departs    int64  // when the link has sent it
	sent       uint64 // the event of its sending
	shared     bool   // msg belongs to another packet too
}

func (n *network) newPacket() *packet {
	if last := len(n.packets) - 1; last >= 0 {
		p := n.packets[last]
		n.packets = n.packets[:last]
		return p
	}
	return &packet{}
}

func (n *network) freePacket(p *packet) {
	*p = packet{}
	n.packets = append(n.packets, p)
}

func (s *socket) SendTo(addr string, msg []byte) error {
	w := s.p.w
	w.checkAlive()
	if s.p.sockets[s.port] != s {
		return fmt.Errorf("send to %s: %w", addr, host.ErrClosed)
	}
	name, port := host.SplitAddr(addr)
	to := w.byName[name]
	if to == nil {
		return fmt.Errorf("send to %s: %w", addr, host.ErrNoHost)
	}
	if len(msg) > host.MaxDatagram {
		return fmt.Errorf("send %d bytes to %s: %w", len(msg), addr, host.ErrTooLong)
	}
	l := w.net.link(s.p.node, to)
	p := w.net.newPacket()
	*p = packet{l: l, from: s.addr, port: port, msg: slices.Clone(msg), sum: xxh3.Hash(msg), try: attempt{message: l.next()}}
	w.emit(EventSend, s.p.node.number, l.number, p.sum)
	p.sent = w.trace.events
	switch {
	case l.lost(p.try):
		w.emitCaused(EventDrop, to.number, l.number, p.sum, p.sent)
		w.net.freePacket(p)
	case l.hold:
		l.held = append(l.held, p)
	default:
		var ok bool
		if p.departs, ok = l.transmit(len(msg)); !ok {
			w.emitCaused(EventDrop, to.number, l.number, p.sum, p.sent)
			w.net.freePacket(p)
			return nil
		}
		if l.duplicate > 0 && scale(l.decide(p.try, decideDuplicate), million) < uint64(l.duplicate) {
			p.shared = true
			again := w.net.newPacket()
			*again = *p
			w.handleAt(p.departs+int64(l.base.Sample(l.decide(p.try, decideSecondLatency))), &l.actor, w.self.proc, again, 0)
		}
		l.post(p)
	}
	return nil
}

// post makes a packet arrive after the link's latency.
func (l *link) post(p *packet) {
	l.w.handleAt(max(p.departs, l.w.now)+int64(l.latency(p.try)), &l.actor, l.w.self.proc, p, 0)
}

// handle is the packet's arrival.
func (p *packet) handle(uint64) {
	l := p.l
	if l.hold {
		l.held = append(l.held, p)
		return
	}
	kind := EventDrop
	if !l.drop && l.to.Up() {
		if s := l.to.proc.sockets[p.port]; s != nil {
			msg := p.msg
			if p.shared {
				msg = slices.Clone(msg) // it belongs to who receives it
			}
			if s.inbox.Offer(datagram{p.from, msg}) {
				kind = EventDeliver
			}
		}
	}
	l.w.emitCaused(kind, l.to.number, l.number, p.sum, p.sent)
	l.w.net.freePacket(p)
}

func (s *socket) RecvFrom(ctx context.Context) (string, []byte, error) {
	d, ok, err := s.inbox.RecvContext(ctx)
	if err != nil {
		return "", nil, err
	}
	if !ok {
		return "", nil, fmt.Errorf("receive on %s: %w", s.port, host.ErrClosed)
	}
	return d.from, d.msg, nil
}

func (s *socket) Close() error {
	s.p.w.checkAlive()
	if s.p.sockets[s.port] != s {
		return host.ErrClosed
	}
	delete(s.p.sockets, s.port)
	s.inbox.Close()
	return nil
}
