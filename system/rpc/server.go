package rpc

import (
	"context"
	"errors"
	"io"

	"github.com/simrun-dev/simrun/system/host"
)

// ServerOptions are the limits of a server. The zero value means the defaults.
type ServerOptions struct {
	// MaxInFlight is how many requests of one connection are executed at a time. While so
	// many are, no more are read from it. Default 64.
	MaxInFlight int
}

func (o ServerOptions) withDefaults() ServerOptions {
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 64
	}
	return o
}

// Server answers requests on one port.
type Server struct {
	h        host.Host
	service  *Service
	opts     ServerOptions
	listener host.Listener
	life     context.Context
	end      context.CancelFunc
	tasks    *host.WaitGroup
}

// Serve starts to answer requests on the port. When it returns the port accepts connections;
// the work is done by tasks that end with the process or with Close.
//
// The context of a handler is done once its connection is gone or the server is closed.
func Serve(h host.Host, port string, service *Service, opts ServerOptions) (*Server, error) {
	listener, err := h.Net().Listen(port)
	if err != nil {
		return nil, err
	}
	s := &Server{
		h: h, service: service, opts: opts.withDefaults(), listener: listener,
		tasks: host.NewWaitGroup(h, "rpc server "+port),
	}
	s.life, s.end = host.WithCancel(h, context.Background())
	s.tasks.Go(h, "rpc accept "+port, s.accept)
	return s, nil
}

// Close stops the server and waits for its tasks. Requests being executed lose their context
// and are not answered.
func (s *Server) Close() {
	s.end()
	s.listener.Close()
	s.tasks.Wait()
}

// Wait waits until the server was closed. It is what the main task of a process that only
// serves does.
func (s *Server) Wait() { s.tasks.Wait() }

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept(s.life)
		if err != nil {
			if s.life.Err() == nil {
				s.h.Logf("rpc: accepting connections ended: %v", err)
			}
			return
		}
		s.tasks.Go(s.h, "rpc serve "+conn.RemoteAddr(), func() { s.serve(conn) })
	}
}

// serve reads the requests of one connection and hands them to workers. Workers are started
// as they are needed, up to the limit, and stay until the connection ends: an idle one costs
// less than starting a task for each request.
func (s *Server) serve(conn host.Conn) {
	ctx, cancel := host.WithCancel(s.h, s.life)
	defer cancel()
	defer conn.Close()
	queue := host.NewChan[request](s.h, "rpc requests", 0)
	defer queue.Close()
	workers := 0
	for {
		msg, err := conn.Recv(ctx)
		if err != nil {
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				s.h.Logf("rpc: connection from %s ended: %v", conn.RemoteAddr(), err)
			}
			return
		}
		req, err := decodeRequest(msg)
		if err != nil {
			s.h.Logf("rpc: connection from %s closed, it sent no request: %v", conn.RemoteAddr(), err)
			return
		}
		switch {
		case queue.TrySend(req):
		case workers < s.opts.MaxInFlight:
			workers++
			s.tasks.Go(s.h, "rpc worker", func() { s.work(ctx, conn, queue, req) })
		default:
			s.h.Sometimes("rpc: a connection waits for a worker", true)
			if queue.SendContext(ctx, req) != nil {
				return
			}
		}
	}
}

func (s *Server) work(ctx context.Context, conn host.Conn, queue *host.Chan[request], req request) {
	var memory scratch
	for ok := true; ok; req, ok = queue.Recv() {
		memory.reset()
		// A response that can't be sent leaves the caller in the dark, which is what the
		// broken connection tells it. The reader notices the same.
		if err := conn.Send(ctx, memory.response(s.service.answer(ctx, req, &memory.body))); err != nil {
			s.h.Sometimes("rpc: a request was executed and its answer lost", true)
		}
	}
}
