package rpc

import (
	"bytes"
	"context"
	"fmt"
)

// Method is the name of a call, with the types of its request and its response. Both must be
// types that CBOR can carry.
type Method[Req, Resp any] string

// Handle makes fn answer the method's requests. It panics when the service has the method
// already.
func (m Method[Req, Resp]) Handle(s *Service, fn func(ctx context.Context, req Req) (Resp, error)) {
	s.add(string(m), func(ctx context.Context, body []byte, answer *bytes.Buffer) error {
		var req Req
		if err := decoding.Unmarshal(body, &req); err != nil {
			return &Error{Code: CodeBadRequest, Message: fmt.Sprintf("rpc: cannot decode the request of %s: %v", string(m), err)}
		}
		resp, err := fn(ctx, req)
		if err != nil {
			return err
		}
		return encoding.MarshalToBuffer(resp, answer)
	})
}

// Call calls the method and waits for its answer, for at most the client's CallTimeout. For
// its errors see the package's documentation.
func (m Method[Req, Resp]) Call(ctx context.Context, c *Client, req Req) (Resp, error) {
	var resp Resp
	s := newScratch()
	defer s.release()
	if err := encoding.MarshalToBuffer(req, &s.body); err != nil {
		return resp, notSent(c.addr, string(m), err)
	}
	answer, err := c.call(ctx, string(m), s)
	if err != nil {
		return resp, err
	}
	if err := decoding.Unmarshal(answer, &resp); err != nil {
		// It was executed, but what came of it can't be read.
		return resp, unknown(c.addr, string(m), err)
	}
	return resp, nil
}
