package rpc

import (
	"encoding/binary"
	"errors"
	"math"
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

// The major types of CBOR that messages are made of (RFC 8949), and its null.
const (
	majorUint  = 0 << 5
	majorBytes = 2 << 5
	majorArray = 4 << 5
	cborNull   = 0xf6
)

var null = []byte{cborNull}

var errEnvelope = errors.New("rpc: the message is none of this protocol")

// appendTo adds the message to p.
func (r request) appendTo(p []byte) []byte {
	p = appendHead(p, majorArray, 3)
	p = appendHead(p, majorUint, r.ID)
	p = append(appendHead(p, majorBytes, uint64(len(r.Method))), r.Method...)
	return append(p, r.Body...)
}

// decodeRequest reads a message, whose body stays where it is.
func decodeRequest(p []byte) (r request, err error) {
	m := message{rest: p}
	m.array(3)
	r.ID, r.Method = m.head(majorUint), m.string()
	r.Body = m.rest
	return r, m.err()
}

// appendTo adds the message to p.
func (r response) appendTo(p []byte) []byte {
	p = appendHead(p, majorArray, 4)
	p = appendHead(p, majorUint, r.ID)
	p = append(appendHead(p, majorBytes, uint64(len(r.Code))), r.Code...)
	p = append(appendHead(p, majorBytes, uint64(len(r.Message))), r.Message...)
	return append(p, r.Body...)
}

// decodeResponse reads a message, whose body stays where it is.
func decodeResponse(p []byte) (r response, err error) {
	m := message{rest: p}
	m.array(4)
	r.ID, r.Code, r.Message = m.head(majorUint), m.string(), m.string()
	r.Body = m.rest
	return r, m.err()
}

// appendHead adds a head: a major type and its argument, in as few bytes as possible.
func appendHead(p []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(p, major|byte(n))
	case n <= math.MaxUint8:
		return append(p, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(p, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(p, major|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(p, major|27), n)
	}
}

// message is what is left to be read of one. Once it is found not to be what it should be, everything
// read of it is zero.
type message struct {
	rest []byte
	bad  bool
}

// err tells whether what was read was there, and a body behind it.
func (m *message) err() error {
	if m.bad || len(m.rest) == 0 {
		return errEnvelope
	}
	return nil
}

func (m *message) fail() uint64 {
	m.rest, m.bad = nil, true
	return 0
}

func (m *message) array(n uint64) {
	if m.head(majorArray) != n {
		m.fail()
	}
}

func (m *message) head(major byte) uint64 {
	if len(m.rest) == 0 || m.rest[0]&0xe0 != major {
		return m.fail()
	}
	short := m.rest[0] & 0x1f
	if short < 24 {
		m.rest = m.rest[1:]
		return uint64(short)
	}
	if short > 27 {
		return m.fail()
	}
	size := 1 << (short - 24)
	if len(m.rest) < 1+size {
		return m.fail()
	}
	var n uint64
	for _, b := range m.rest[1 : 1+size] {
		n = n<<8 | uint64(b)
	}
	m.rest = m.rest[1+size:]
	return n
}

func (m *message) string() string {
	n := m.head(majorBytes)
	if n > uint64(len(m.rest)) {
		m.fail()
		return ""
	}
	s := string(m.rest[:n])
	m.rest = m.rest[n:]
	return s
}
