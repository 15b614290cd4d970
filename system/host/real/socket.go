package real

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// A datagram is a UDP packet:
//
//	packet = magic to port from port message
//
// where the names and ports are each a length (2 bytes, big-endian) and so many bytes.
const (
	datagramMagic = "srd1"
	// maxPacket is what UDP carries over IPv4.
	maxPacket = 65507
	// socketBuffer is how many datagrams wait to be received at a port; more are dropped.
	socketBuffer = 1024
)

// OpenSocket is part of host.Net.
func (n *network) OpenSocket(port string) (host.Socket, error) {
	s := &socket{n: n, port: port, addr: host.JoinAddr(n.h.cfg.Name, port)}
	if !n.h.alive() {
		return nil, fmt.Errorf("open socket %s: %w", s.addr, host.ErrClosed)
	}
	if n.udp == nil {
		return nil, fmt.Errorf("open socket %s: %w", s.addr, errNotReached)
	}
	s.inbox = host.NewRuntimeChan[datagram](n.h.rt, "datagrams to "+port, socketBuffer)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closed:
		return nil, fmt.Errorf("open socket %s: %w", s.addr, host.ErrClosed)
	case n.sockets[port] != nil:
		return nil, fmt.Errorf("open socket %s: %w", s.addr, host.ErrInUse)
	}
	n.sockets[port] = s
	return s, nil
}

type socket struct {
	n          *network
	port, addr string
	inbox      *host.Chan[datagram]
}

type datagram struct {
	from string
	msg  []byte
}

func (s *socket) SendTo(addr string, msg []byte) error {
	s.n.h.alive()
	if err := s.send(addr, msg); err != nil {
		return fmt.Errorf("send %d bytes to %s: %w", len(msg), addr, netError(err))
	}
	return nil
}

func (s *socket) send(addr string, msg []byte) error {
	if s.inbox.Closed() {
		return host.ErrClosed
	}
	name, port := host.SplitAddr(addr)
	found, err := s.n.find(name)
	if err != nil {
		return err
	}
	packet := make([]byte, 0, len(datagramMagic)+8+len(name)+len(port)+len(s.addr)+len(msg))
	packet = append(packet, datagramMagic...)
	for _, part := range []string{name, port, s.n.h.cfg.Name, s.port} {
		packet = appendName(packet, part)
	}
	if len(msg) > host.MaxDatagram || len(packet)+len(msg) > maxPacket {
		return host.ErrTooLong
	}
	to, err := resolve(found)
	if err != nil {
		return err
	}
	_, err = s.n.udp.WriteToUDPAddrPort(append(packet, msg...), to)
	return err
}

// resolve returns the address that "10.0.0.7:7100" or "blob.example.com:7100" stands for.
func resolve(addr string) (netip.AddrPort, error) {
	if at, err := netip.ParseAddrPort(addr); err == nil {
		return at, nil
	}
	udp, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return udp.AddrPort(), nil
}

// receiveAll takes datagrams for all sockets.
func (n *network) receiveAll() {
	defer n.work.Done()
	buffer := make([]byte, maxPacket)
	for {
		size, _, err := n.udp.ReadFromUDPAddrPort(buffer)
		switch {
		case err == nil:
			n.receive(buffer[:size])
		case errors.Is(err, net.ErrClosed) || !n.pause(5*time.Millisecond):
			return
		default:
			n.h.log.Debug("a datagram could not be received", "error", err)
		}
	}
}

// receive gives a datagram to its socket. What is not understood, or for another machine that had the
// address before, is dropped, as is what there is no socket or no room for.
func (n *network) receive(packet []byte) {
	rest, ok := bytes.CutPrefix(packet, []byte(datagramMagic))
	var to, port, from, fromPort string
	for _, part := range []*string{&to, &port, &from, &fromPort} {
		if ok {
			*part, rest, ok = cutName(rest)
		}
	}
	if !ok || to != n.h.cfg.Name {
		return
	}
	n.mu.Lock()
	s := n.sockets[port]
	n.mu.Unlock()
	if s != nil {
		s.inbox.Offer(datagram{host.JoinAddr(from, fromPort), bytes.Clone(rest)})
	}
}

func (s *socket) RecvFrom(ctx context.Context) (string, []byte, error) {
	d, ok, err := s.inbox.RecvContext(ctx)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("receive on %s: %w", s.addr, err)
	case !ok:
		return "", nil, fmt.Errorf("receive on %s: %w", s.addr, host.ErrClosed)
	}
	return d.from, d.msg, nil
}

func (s *socket) Close() error {
	s.n.h.alive()
	if !s.n.removeSocket(s) {
		return fmt.Errorf("close %s: %w", s.addr, host.ErrClosed)
	}
	s.inbox.Close()
	return nil
}

func (n *network) removeSocket(s *socket) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sockets[s.port] != s {
		return false
	}
	delete(n.sockets, s.port)
	return true
}
