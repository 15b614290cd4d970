package real

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// network is host.Net on TCP and UDP.
type network struct {
	h    *Host
	addr string // where the host is reached, if it is

	tcp  net.Listener
	udp  *net.UDPConn
	work sync.WaitGroup // all goroutines

	mu        sync.Mutex
	closed    bool
	opening   map[*wire]struct{} // whose first frames are not exchanged yet
	listeners map[string]*listener
	sockets   map[string]*socket
	conns     map[*conn]struct{}
}

func openNetwork(h *Host) (*network, error) {
	n := &network{
		h:         h,
		opening:   map[*wire]struct{}{},
		listeners: map[string]*listener{},
		sockets:   map[string]*socket{},
		conns:     map[*conn]struct{}{},
	}
	if h.cfg.Listen == "" {
		return n, nil
	}
	if err := n.bind(h.cfg.Listen); err != nil {
		return nil, fmt.Errorf("listen on %q: %w", h.cfg.Listen, err)
	}
	n.work.Add(2)
	go n.acceptAll()
	go n.receiveAll()
	return n, nil
}

// bind opens the address for TCP and UDP. A port that the system chooses for the one may be taken for
// the other; then it shall choose again.
func (n *network) bind(addr string) (err error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%w: Listen: %w", ErrConfig, err)
	}
	tries := 1
	if port == "0" {
		tries = 20
	}
	for range tries {
		if n.tcp, err = net.Listen("tcp", addr); err != nil {
			return err
		}
		bound := n.tcp.Addr().(*net.TCPAddr)
		n.udp, err = net.ListenUDP("udp", &net.UDPAddr{IP: bound.IP, Port: bound.Port, Zone: bound.Zone})
		if err == nil {
			given, _, _ := net.SplitHostPort(addr)
			n.addr = net.JoinHostPort(given, strconv.Itoa(bound.Port))
			return nil
		}
		n.tcp.Close()
	}
	return err
}

// find is where a machine is.
func (n *network) find(name string) (string, error) {
	addr, err := n.h.cfg.Peers.Find(name)
	if err == nil && addr == "" {
		err = fmt.Errorf("%w: the address of %q is empty", host.ErrNoHost, name)
	}
	return addr, err
}

// acceptAll takes connections for all listeners.
func (n *network) acceptAll() {
	defer n.work.Done()
	for wait := time.Duration(0); ; {
		raw, err := n.tcp.Accept()
		switch {
		case err == nil:
			wait = 0
			n.spawn(raw, n.welcome)
		case errors.Is(err, net.ErrClosed):
			return
		default: // too many open files, most likely: some will be closed
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			n.h.log.Warn("cannot accept connections, will try again", "error", err, "in", wait)
			if !n.pause(wait) {
				return
			}
		}
	}
}

// pause waits, or returns false when the host is closed.
func (n *network) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-n.h.life.Done():
		return false
	}
}

// spawn runs fn with a connection that is being opened. Unless fn has made a conn of it, it is closed
// then.
func (n *network) spawn(raw net.Conn, fn func(*wire) (kept bool)) {
	w := newWire(raw)
	if !n.open(w) {
		return
	}
	go func() {
		defer n.opened(w)
		if !fn(w) {
			w.Close()
		}
	}()
}

// open counts a connection that is being opened. When the host is closed it closes it, and returns
// false.
func (n *network) open(w *wire) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		w.Close()
		return false
	}
	n.opening[w] = struct{}{}
	n.work.Add(1)
	return true
}

// opened ends what open began.
func (n *network) opened(w *wire) {
	n.mu.Lock()
	delete(n.opening, w)
	n.mu.Unlock()
	n.work.Done()
}

// welcome answers the first frame of a connection.
func (n *network) welcome(w *wire) (kept bool) {
	w.SetDeadline(time.Now().Add(n.h.cfg.Timeout))
	kind, body, err := readFrame(w.in, maxHello)
	hello, ok := parseHello(body)
	if err != nil || kind != frameHello || !ok {
		n.h.log.Debug("a connection began with what is not understood", "from", w.RemoteAddr(), "error", err)
		return false
	}
	if hello.to != n.h.cfg.Name {
		w.Write(newFrame(frameUnknown, 0))
		return false
	}
	n.mu.Lock()
	l := n.listeners[hello.port]
	n.mu.Unlock()
	if l == nil {
		w.Write(newFrame(frameRefuse, 0))
		return false
	}
	c := newConn(n, w, host.JoinAddr(n.h.cfg.Name, hello.port), host.JoinAddr(hello.from, ephemeral))
	c.locked(func() { c.enqueue(newFrame(frameAccept, 0)) })
	if !l.backlog.Offer(c) { // it is full, or was closed in this moment
		c.locked(func() { c.timer.Stop() })
		w.Write(newFrame(frameRefuse, 0))
		return false
	}
	if !n.start(c) {
		c.abort(host.ErrClosed)
	}
	return true
}

// ephemeral stands for the port of the end that has dialled.
const ephemeral = "ephemeral"

// start lets the connection's goroutines run, until it or the host is closed.
func (n *network) start(c *conn) bool {
	c.wire.SetDeadline(time.Time{})
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return false
	}
	n.conns[c] = struct{}{}
	n.work.Add(2)
	go c.readAll()
	go c.writeAll()
	return true
}

func (n *network) forget(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

// close ends all that the process has open. Who waits for it is woken with ErrClosed.
func (n *network) close() {
	n.mu.Lock()
	n.closed = true
	listeners, sockets, conns := n.listeners, n.sockets, slices.Collect(maps.Keys(n.conns))
	n.listeners, n.sockets = nil, nil
	for w := range n.opening {
		w.Close()
	}
	n.mu.Unlock()
	if n.tcp != nil {
		n.tcp.Close()
		n.udp.Close()
	}
	for _, l := range listeners {
		l.close()
	}
	for _, s := range sockets {
		s.inbox.Close()
	}
	for _, c := range conns {
		c.hostClosed()
	}
}

// wait waits until what was sent is written and all goroutines have ended.
func (n *network) wait() { n.work.Wait() }
