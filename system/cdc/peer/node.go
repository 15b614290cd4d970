package peer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Config are the limits of a [Node]. The zero value means the defaults.
type Config struct {
	// Queue bounds the messages queued for a peer and not acknowledged. Default 128.
	Queue int
	// Batch bounds how many are sent at once. Default 32.
	Batch int
	// Timeout bounds one attempt to send. Default 1 s.
	Timeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Queue <= 0 {
		c.Queue = 128
	}
	if c.Batch <= 0 {
		c.Batch = 32
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Second
	}
	return c
}

// Node is a named process's end of all its conversations. M is the type of the messages, which CBOR
// must be able to carry.
type Node[M any] struct {
	h      host.Host
	name   string
	cfg    Config
	handle func(from string, m M)
	life   context.Context
	end    context.CancelFunc

	mu    *host.Mutex
	peers map[string]*link[M]
	from  map[string]*inbox
	gone  departed
}

// inbox is what came from one peer.
type inbox struct {
	mu   *host.Mutex // held while its messages are handled
	last uint64      // the number of the last one that was
}

// NewNode returns the node of that name. Handle is called with each message received, those of one
// peer one after the other; it must not wait for long.
func NewNode[M any](h host.Host, name string, cfg Config, handle func(from string, m M)) *Node[M] {
	n := &Node[M]{
		h: h, name: name, cfg: cfg.withDefaults(), handle: handle,
		mu: host.NewMutex(h, "peer node"), peers: map[string]*link[M]{}, from: map[string]*inbox{},
		gone: departed{names: map[string]bool{}},
	}
	n.life, n.end = host.WithCancel(h, context.Background())
	return n
}

// Close ends all conversations. What is queued is lost.
func (n *Node[M]) Close() { n.end() }

// Name is the node's name.
func (n *Node[M]) Name() string { return n.name }

// Add makes a peer known, at its address. A peer that is known stays where it is, and one that was
// removed is not taken back: numbered anew, its messages would be taken for repetitions.
func (n *Node[M]) Add(name, addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.peers[name] != nil || n.gone.names[name] || n.life.Err() != nil {
		return
	}
	l := newLink(n, name, addr)
	n.peers[name] = l
	n.h.Go("peer send to "+name, l.run)
}

// Remove ends the conversation with a peer that is gone for good. What is queued for it is lost, and what it
// may still send is refused.
func (n *Node[M]) Remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.peers[name]; l != nil {
		l.end()
	}
	delete(n.peers, name)
	delete(n.from, name)
	n.gone.add(name)
}

// TrySend queues a message for a peer and returns its number, by which [Node.Acked] tells that it was
// handled. Not ok is that it was not queued: the peer is not known, or dead, or the queue is full.
func (n *Node[M]) TrySend(to string, m M) (number uint64, ok bool) {
	n.mu.Lock()
	l := n.peers[to]
	n.mu.Unlock()
	if l == nil || n.h.Buggify("cdc/peer/the queue is full") {
		return 0, false
	}
	return l.offer(m)
}

// Acked is the number of the last message that the peer is known to have handled.
func (n *Node[M]) Acked(to string) uint64 {
	n.mu.Lock()
	l := n.peers[to]
	n.mu.Unlock()
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked
}

// batch is some messages from one node to another, numbered from First on.
type batch[M any] struct {
	_        struct{} `cbor:",toarray"`
	From, To string
	First    uint64
	Messages []M
}

// errWrongPeer is the answer of a process that is not, or no longer, the peer; or to one that it takes for gone.
var errWrongPeer = &rpc.Error{Code: "peer/wrong", Message: "peer: these two do not talk to each other, or no longer"}

// errLost is the answer to messages that others should have come before.
var errLost = &rpc.Error{Code: "peer/lost", Message: "peer: messages are missing before these"}

// receive handles a batch and returns the number of the last message handled.
func (n *Node[M]) receive(b batch[M]) (uint64, error) {
	if b.To != n.name || n.life.Err() != nil {
		return 0, errWrongPeer
	}
	n.mu.Lock()
	if n.gone.names[b.From] {
		n.mu.Unlock()
		n.h.Sometimes("cdc/peer: somebody who is taken for gone is refused", true)
		return 0, errWrongPeer
	}
	in := n.from[b.From]
	if in == nil {
		in = &inbox{mu: host.NewMutex(n.h, "peer inbox")}
		n.from[b.From] = in
	}
	n.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	if b.First > in.last+1 {
		n.h.Unreachable("cdc/peer: messages are missing", "from %s to %s: %d after %d", b.From, b.To, b.First, in.last)
		return in.last, errLost
	}
	for i, m := range b.Messages {
		if number := b.First + uint64(i); number > in.last {
			n.handle(b.From, m)
			in.last = number
		} else {
			n.h.Sometimes("cdc/peer: a message came again", true)
		}
	}
	return in.last, nil
}

// link is a node's way to one peer.
type link[M any] struct {
	n    *Node[M]
	to   string
	addr string
	life context.Context
	end  context.CancelFunc
	kick *host.Chan[struct{}] // of capacity 1: something was queued

	mu     *host.Mutex
	queue  []M    // not acknowledged
	acked  uint64 // the number before that of the first in the queue
	closed bool
}

func newLink[M any](n *Node[M], to, addr string) *link[M] {
	l := &link[M]{
		n: n, to: to, addr: addr,
		kick: host.NewChan[struct{}](n.h, "peer queue to "+to, 1),
		mu:   host.NewMutex(n.h, "peer link to "+to),
	}
	l.life, l.end = host.WithCancel(n.h, n.life)
	return l
}

func (l *link[M]) offer(m M) (number uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.life.Err() != nil || len(l.queue) >= l.n.cfg.Queue {
		l.n.h.Sometimes("cdc/peer: a queue is full", !l.closed && l.life.Err() == nil)
		return 0, false
	}
	l.queue = append(l.queue, m)
	l.kick.Offer(struct{}{})
	return l.acked + uint64(len(l.queue)), true
}

// next is the batch to send, empty when there is nothing.
func (l *link[M]) next() batch[M] {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.queue[:min(len(l.queue), l.n.cfg.Batch)]
	return batch[M]{From: l.n.name, To: l.to, First: l.acked + 1, Messages: append([]M(nil), m...)}
}

// handled records that the peer has handled messages up to a number.
func (l *link[M]) handled(number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if number > l.acked {
		l.queue = append([]M(nil), l.queue[min(number-l.acked, uint64(len(l.queue))):]...)
		l.acked = number
	}
}

// run is the task that sends.
func (l *link[M]) run() {
	defer l.end()
	c := rpc.NewClient(l.n.h, l.addr, rpc.ClientOptions{DialTimeout: l.n.cfg.Timeout, CallTimeout: l.n.cfg.Timeout})
	defer c.Close()
	again := false
	for {
		b := l.next()
		if len(b.Messages) == 0 {
			if _, _, err := l.kick.RecvContext(l.life); err != nil {
				return
			}
			continue
		}
		handled, err := method[M]().Call(l.life, c, b)
		switch {
		case l.life.Err() != nil:
			return
		case err == nil:
			l.n.h.Sometimes("cdc/peer: messages were sent again after a failure", again)
			again = false
			l.handled(handled)
		case errors.Is(err, errWrongPeer):
			l.n.h.Sometimes("cdc/peer: a peer is no longer who it was", true)
			l.mu.Lock()
			l.closed, l.queue = true, nil
			l.mu.Unlock()
			return
		case errors.Is(err, errLost):
			l.n.h.Logf("peer: %s lost messages: %v", l.to, err)
			return
		default:
			again = true
			pause, cancel := l.n.h.Clock().WithTimeout(l.life, 10*time.Millisecond+time.Duration(l.n.h.Rand().Int64N(int64(90*time.Millisecond))))
			host.Select(l.n.h, host.OnDone(pause))
			cancel()
		}
	}
}

func method[M any]() rpc.Method[batch[M], uint64] { return "peer/deliver" }

// Server receives messages for the node that a process has at present.
type Server[M any] struct {
	mu   *host.Mutex
	node *Node[M]
}

// NewServer returns a server without a node, whose method it adds to s.
func NewServer[M any](h host.Host, s *rpc.Service) *Server[M] {
	server := &Server[M]{mu: host.NewMutex(h, "peer server")}
	method[M]().Handle(s, func(_ context.Context, b batch[M]) (uint64, error) {
		server.mu.Lock()
		n := server.node
		server.mu.Unlock()
		if n == nil {
			return 0, fmt.Errorf("%w: it is not known yet who is here", errNobody)
		}
		return n.receive(b)
	})
	return server
}

// errNobody is the answer while a process has no name: the sender tries again.
var errNobody = &rpc.Error{Code: "peer/nobody", Message: "peer: nobody is here"}

// Use makes the server receive for a node from now on.
func (s *Server[M]) Use(n *Node[M]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.node = n
}
