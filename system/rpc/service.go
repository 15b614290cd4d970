package rpc

import (
	"context"
	"fmt"
)

// Service is a table of methods. Methods are added with [Method.Handle] before the service is
// served; afterwards it does not change.
type Service struct {
	methods map[string]handler
}

type handler func(ctx context.Context, body []byte) ([]byte, error)

// NewService returns a service without methods.
func NewService() *Service { return &Service{methods: map[string]handler{}} }

func (s *Service) add(name string, h handler) {
	if _, ok := s.methods[name]; ok {
		panic("rpc: method " + name + " is handled twice")
	}
	s.methods[name] = h
}

// answer executes one request.
func (s *Service) answer(ctx context.Context, req request) response {
	h, ok := s.methods[req.Method]
	if !ok {
		return response{ID: req.ID, Code: CodeNoMethod, Message: fmt.Sprintf("rpc: no method %q here", req.Method), Body: null}
	}
	body, err := h(ctx, req.Body)
	if err != nil {
		code, message := wireError(err)
		return response{ID: req.ID, Code: code, Message: message, Body: null}
	}
	return response{ID: req.ID, Body: body}
}
