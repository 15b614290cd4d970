package rpc

import (
	"errors"

	"github.com/simrun-dev/simrun/system/rawcbor"
)

// request and response are the two kinds of message. A connection carries requests one way
// and responses the other, so nothing needs to tell them apart.
//
//	request  = array of 3: id, method, body
//	response = array of 4: id, code, message, body
//
// Both are CBOR in its core deterministic form, with strings as byte strings. They are written and
// read by hand: a body is CBOR already, of whatever type, and through reflection each message would
// be gone over twice, and copied, at either end.
type request struct {
	ID     uint64 // unique among the calls of one connection
	Method string
	Body   []byte
}

type response struct {
	ID      uint64
	Code    string // empty for success
	Message string
	Body    []byte // CBOR null for an error
}

var null = []byte{rawcbor.Null}

var errEnvelope = errors.New("rpc: the message is none of this protocol")

// appendTo adds the message to p.
func (r request) appendTo(p []byte) []byte {
	p = rawcbor.AppendHead(p, rawcbor.Array, 3)
	p = rawcbor.AppendHead(p, rawcbor.Uint, r.ID)
	p = rawcbor.AppendString(p, r.Method)
	return append(p, r.Body...)
}

// decodeRequest reads a message, whose body stays where it is.
func decodeRequest(p []byte) (r request, err error) {
	m := rawcbor.Read(p)
	m.Tuple(3)
	r.ID, r.Method = m.Uint(), m.Text()
	r.Body, err = body(&m)
	return r, err
}

// appendTo adds the message to p.
func (r response) appendTo(p []byte) []byte {
	p = rawcbor.AppendHead(p, rawcbor.Array, 4)
	p = rawcbor.AppendHead(p, rawcbor.Uint, r.ID)
	p = rawcbor.AppendString(p, r.Code)
	p = rawcbor.AppendString(p, r.Message)
	return append(p, r.Body...)
}

// decodeResponse reads a message, whose body stays where it is.
func decodeResponse(p []byte) (r response, err error) {
	m := rawcbor.Read(p)
	m.Tuple(4)
	r.ID, r.Code, r.Message = m.Uint(), m.Text(), m.Text()
	r.Body, err = body(&m)
	return r, err
}

// body is what is left of a message, unless that is not one of this protocol.
func body(m *rawcbor.Reader) ([]byte, error) {
	if m.Failed() || len(m.Rest()) == 0 {
		return nil, errEnvelope
	}
	return m.Rest(), nil
}
