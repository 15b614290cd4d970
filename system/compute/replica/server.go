package replica

import (
	"context"
	"errors"
	"io"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/host"
)

// Server is a replica that listens for controllers.
type Server struct {
	h        host.Host
	cfg      Config
	listener host.Listener
	life     context.Context
	end      context.CancelFunc
	tasks    *host.WaitGroup
	process  *process
}

// Serve starts a replica. When it returns the port accepts connections; the work is done by tasks that
// end with the process or with Close.
func Serve(h host.Host, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	listener, err := h.Net().Listen(cfg.Port)
	if err != nil {
		return nil, err
	}
	s := &Server{h: h, cfg: cfg, listener: listener, tasks: host.NewWaitGroup(h, "compute replica")}
	s.life, s.end = host.WithCancel(h, context.Background())
	s.process = newProcess(s, cfg.Workers)
	s.tasks.Go(h, "compute accept", s.accept)
	for _, w := range s.process.workers {
		s.tasks.Go(h, "compute worker", w.run)
	}
	return s, nil
}

// Close ends the replica and waits for the end of its tasks that answer controllers. Appends under way may
// still take effect.
func (s *Server) Close() {
	s.end()
	_ = s.listener.Close() // it fails only when it is closed already
	s.tasks.Wait()
}

// Wait waits until the replica was closed.
func (s *Server) Wait() { s.tasks.Wait() }

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept(s.life)
		if err != nil {
			if s.life.Err() == nil {
				s.h.Logf("compute: accepting controllers ended: %v", err)
			}
			return
		}
		s.tasks.Go(s.h, "compute serve "+conn.RemoteAddr(), func() { s.serve(conn) })
	}
}

// serve is one connection, from the greeting to its end.
func (s *Server) serve(raw host.Conn) {
	ctx, cancel := host.WithCancel(s.h, s.life)
	defer cancel()
	conn, timely, err := s.begin(ctx, raw)
	if err != nil {
		if ctx.Err() == nil {
			s.h.Logf("compute: the controller at %s is not served: %v", raw.RemoteAddr(), err)
		}
		return
	}
	defer conn.Close()
	c := newConnection(s.h, timely.Epoch, cancel, s.cfg.ResponseBacklog)
	if stale := s.process.admit(c, timely); stale != nil {
		s.h.Sometimes("compute: a replica refused a stale epoch", true)
		s.h.Logf("compute: the controller at %s is not served: %v", conn.RemoteAddr(), stale)
		conn.Refuse(ctx, stale)
		return
	}
	defer s.process.disconnect(c)
	s.h.Go("compute respond "+conn.RemoteAddr(), func() {
		defer cancel()
		c.respond(ctx, s.h, conn, s.process.relieved)
	})
	err = s.receive(ctx, conn, c)
	if ctx.Err() == nil && !errors.Is(err, io.EOF) {
		s.h.Logf("compute: the connection of epoch %v has ended: %v", c.epoch, err)
	}
}

// begin greets a controller and takes its first command.
func (s *Server) begin(ctx context.Context, raw host.Conn) (conn *protocol.Conn, timely protocol.CreateTimely, err error) {
	ctx, cancel := s.h.Clock().WithTimeout(ctx, greeting)
	defer cancel()
	if conn, err = protocol.Accept(ctx, s.h, raw, s.cfg.Build, s.cfg.Conn); err != nil {
		return nil, timely, err
	}
	first, err := conn.RecvCommand(ctx)
	timely, ok := first.(protocol.CreateTimely)
	if err == nil && !ok {
		err = errors.New("its first command is not CreateTimely")
	}
	if err != nil {
		conn.Close()
	}
	return conn, timely, err
}

// receive hands on what the controller commands, until the connection ends.
func (s *Server) receive(ctx context.Context, conn *protocol.Conn, c *connection) error {
	for {
		cmd, err := conn.RecvCommand(ctx)
		if err != nil {
			return err
		}
		s.process.command(c, cmd)
	}
}
