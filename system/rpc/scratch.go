package rpc

import (
	"bytes"
	"sync"
)

// scratch is memory to put a message together in: a connection copies what it sends, so that the next
// message can use it again.
type scratch struct {
	body  bytes.Buffer
	frame []byte
}

// maxScratch is how much memory is kept for the next message, in bytes: the largest that was ever sent is
// not to be kept for ever.
const maxScratch = 64 << 10

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func newScratch() *scratch { return scratches.Get().(*scratch) }

// release gives the memory to whoever needs some next.
func (s *scratch) release() {
	s.reset()
	scratches.Put(s)
}

// reset makes room for the next message.
func (s *scratch) reset() {
	if s.body.Cap() > maxScratch {
		s.body = bytes.Buffer{}
	}
	if cap(s.frame) > maxScratch {
		s.frame = nil
	}
	s.body.Reset()
}

// request is the message of a request with the encoded body.
func (s *scratch) request(id uint64, method string) []byte {
	s.frame = request{ID: id, Method: method, Body: s.body.Bytes()}.appendTo(s.frame[:0])
	return s.frame
}

// response is the message of a response.
func (s *scratch) response(r response) []byte {
	s.frame = r.appendTo(s.frame[:0])
	return s.frame
}
