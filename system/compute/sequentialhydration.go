package compute

import (
	"context"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/host"
)

// SequentialHydration is a client of a replica, that is a connection, which lets only so many dataflows hydrate
// at a time. A task of its own receives, so that whoever waits for commands and responses at
// once loses nothing of either.
type SequentialHydration struct {
	h        host.Host
	conn     *protocol.Conn
	policy   *hydration
	metrics  *ReplicaMetrics
	life     context.Context // until the connection has ended
	end      context.CancelFunc
	received *host.Chan[received]
}

// received is a response, or why there are no more.
type received struct {
	response protocol.Response
	err      error
}

// receivedQueue is how many responses may wait for the task. Then the connection is not read on.
const receivedQueue = 4

func newSequentialHydration(h host.Host, life context.Context, conn *protocol.Conn, concurrency func() int, metrics *ReplicaMetrics) *SequentialHydration {
	s := &SequentialHydration{
		h: h, conn: conn, policy: newHydration(concurrency), metrics: metrics,
		received: host.NewChan[received](h, "compute responses of "+conn.RemoteAddr(), receivedQueue),
	}
	s.life, s.end = host.WithCancel(h, life)
	h.Go("compute receive from "+conn.RemoteAddr(), s.receive)
	return s
}

func (s *SequentialHydration) receive() {
	defer s.end()
	for {
		r, err := s.conn.RecvResponse(s.life)
		if s.received.SendContext(s.life, received{r, err}) != nil || err != nil {
			return
		}
	}
}

// send sends a command, now or later. An error is the connection's end.
func (s *SequentialHydration) send(cmd protocol.Command) error {
	return s.sendAll(s.policy.command(cmd))
}

// absorb learns from a response, which may let dataflows begin to hydrate.
func (s *SequentialHydration) absorb(r protocol.Response) error {
	return s.sendAll(s.policy.response(r))
}

func (s *SequentialHydration) sendAll(commands []protocol.Command) error {
	s.metrics.HydrationQueue.Store(int64(len(s.policy.queue)))
	s.h.Sometimes("compute: a dataflow waits for others to hydrate", len(s.policy.queue) > 0)
	for _, cmd := range commands {
		if err := s.conn.SendCommand(s.life, cmd); err != nil {
			return err
		}
	}
	return nil
}

// close ends the connection.
func (s *SequentialHydration) close() {
	s.end()
	s.conn.Close()
}
