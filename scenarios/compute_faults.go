package scenarios

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/system/host"
)

// cutter cuts a replica's connection to the controller after so many messages.
type cutter struct {
	after int // 0 while no fault is in force
	left  int
}

// cuttableHost is the controller's machine, whose connections to replicas can be cut between any two messages.
type cuttableHost struct {
	host.Host
	s *computeCluster
}

func (h *cuttableHost) Net() host.Net { return &cuttableNet{h.Host.Net(), h.s} }

type cuttableNet struct {
	host.Net
	s *computeCluster
}

func (n *cuttableNet) Dial(ctx context.Context, addr string) (host.Conn, error) {
	conn, err := n.Net.Dial(ctx, addr)
	name, _ := host.SplitAddr(addr)
	if err != nil || n.s.cuts[name] == nil {
		return conn, err
	}
	return &cuttableConn{conn, n.s, name}, nil
}

type cuttableConn struct {
	host.Conn
	s       *computeCluster
	replica string
}

func (c *cuttableConn) Send(ctx context.Context, msg []byte) error {
	err := c.Conn.Send(ctx, msg)
	c.passed(err)
	return err
}

func (c *cuttableConn) Recv(ctx context.Context) ([]byte, error) {
	msg, err := c.Conn.Recv(ctx)
	c.passed(err)
	return msg, err
}

// passed counts a message.
func (c *cuttableConn) passed(err error) {
	cut := c.s.cuts[c.replica]
	if err != nil || cut.after == 0 {
		return
	}
	if cut.left--; cut.left <= 0 {
		cut.left = cut.after
		c.s.r.World.ResetConns(controllerNode, c.replica)
	}
}

func (s *computeCluster) addFaults() {
	for _, name := range s.replicas {
		s.cuts[name] = &cutter{}
	}
	s.c.unreliable(append([]string{controllerNode}, s.replicas...)...)
	s.r.Handle("replica.disconnect", s.replicas, func(f *faults.Fault) (func(), bool) {
		name, n := f.Target[0], f.Int("after")
		reach := func() {}
		if f.Text("stores") == "cold" {
			if !s.r.World.Node(name).Up() {
				return nil, false
			}
			reach = s.startCold(name)
		}
		cut := s.cuts[name]
		if n == 0 {
			return reach, s.r.World.ResetConns(controllerNode, name) > 0 || f.Text("stores") == "cold"
		}
		cut.after, cut.left = n, n
		return func() { cut.after = 0; reach() }, true
	})
	s.r.Handle("replica.version", s.replicas, func(f *faults.Fault) (func(), bool) {
		name := f.Target[0]
		node := s.r.World.Node(name)
		replace := func(version string) {
			s.versions[name] = version
			node.Crash()
			node.Restart()
		}
		if !node.Up() || s.versions[name] != rightVersion {
			return nil, false
		}
		replace("0.9.0")
		return func() { replace(rightVersion) }, true
	})
	s.r.Handle("controller.restart", []string{controllerNode}, func(f *faults.Fault) (func(), bool) {
		node := s.r.World.Node(controllerNode)
		old, incarnation := s.current, s.incarnation
		if !node.Up() || old == nil {
			return nil, false
		}
		h, zombie := node.Host(), f.Duration("zombie")
		h.Go("take over", func() { s.lead(h) })
		h.Go("zombie", func() {
			h.Clock().Sleep(zombie)
			old.Close()
			s.watch.closed(incarnation)
		})
		return nil, true
	})
}

// startCold has a replica's process start anew, and not reach the stores until that is ended.
func (s *computeCluster) startCold(name string) (reach func()) {
	node, stores := s.r.World.Node(name), s.c.flaky[name]
	stores.blobDown++
	stores.consensusDown++
	node.Crash()
	node.Restart()
	return func() {
		stores.blobDown--
		stores.consensusDown--
	}
}

// settleLimit bounds what the final phase waits for.
const settleLimit = 20 * time.Second
