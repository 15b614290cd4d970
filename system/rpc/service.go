package rpc

import (
	"bytes"
	"context"
	"fmt"
)

// Service is a table of methods. Methods are added with [Method.Handle] before the service is
// served; afterwards it does not change.
type Service struct {
	methods map[string]handler
}

// handler executes a request of the encoded body, and encodes its answer.
type handler func(ctx context.Context, body []byte, answer *bytes.Buffer) error

// NewService returns a service without methods.
func NewService() *Service { return &Service{methods: map[string]handler{}} }

func (s *Service) add(name string, h handler) {
	if _, ok := s.methods[name]; ok {
		panic("rpc: method " + name + " is handled twice")
	}
	s.methods[name] = h
}

// answer executes one request. It uses the buffer for the body of the response.
func (s *Service) answer(ctx context.Context, req request, body *bytes.Buffer) response {
	h, ok := s.methods[req.Method]
	if !ok {
		return response{ID: req.ID, Code: CodeNoMethod, Message: fmt.Sprintf("rpc: no method %q here", req.Method), Body: null}
	}
	if err := h(ctx, req.Body, body); err != nil {
		code, message := wireError(err)
		return response{ID: req.ID, Code: code, Message: message, Body: null}
	}
	return response{ID: req.ID, Body: body.Bytes()}
}
