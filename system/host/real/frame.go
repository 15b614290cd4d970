package real

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/simrun-dev/simrun/system/host"
)

// What travels on a TCP connection is frames:
//
//	frame = length of what follows (4 bytes, big-endian) kind (1 byte) body
//
// The dialling end begins with a hello, and the other answers with accept, refuse or unknown. Then
// both send data, in the bounds of a window: what the peer's process has not received yet. It learns
// of more room by credit; when it has to wait for some it says blocked, and so none need be sent to
// ends that never fill the window.
//
// An end that is closed says so, and reads on until the peer has closed too; what data comes then is
// answered with reset. A connection that ends in any other way has been cut.
type frameKind uint8

const (
	frameHello   frameKind = iota + 1 // body: see hello
	frameAccept                       // that port accepts
	frameRefuse                       // nobody listens on that port
	frameUnknown                      // this is another machine
	frameData                         // body: a message
	frameCredit                       // body: how much more has been received (4 bytes, big-endian)
	frameBlocked                      // the sender waits for credit
	frameClose                        // the last of its direction, but for a reset
	frameReset                        // data came after close
	framePing                         // to be answered with pong
	framePong
)

const (
	frameHeader = 5
	// window is how much an end sends that the peer's process has not received, by weight; a
	// message that is heavier goes alone.
	window = 256 << 10
)

var errProtocol = errors.New("real: the peer does not keep to the protocol")

// newFrame returns a frame with room for a body of that length.
func newFrame(kind frameKind, body int) []byte {
	f := make([]byte, frameHeader, frameHeader+body)
	binary.BigEndian.PutUint32(f, uint32(1+body))
	f[4] = byte(kind)
	return f
}

func newCredit(n int) []byte {
	return binary.BigEndian.AppendUint32(newFrame(frameCredit, 4), uint32(n))
}

// readFrame reads the next frame. The body belongs to the caller.
func readFrame(r *bufio.Reader, limit int) (frameKind, []byte, error) {
	header, err := r.Peek(frameHeader)
	if err != nil {
		if len(header) > 0 && err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	length, kind := binary.BigEndian.Uint32(header), frameKind(header[4])
	if length < 1 || length-1 > uint32(limit) {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes, where 1 to %d are right", errProtocol, length, 1+limit)
	}
	if _, err := r.Discard(frameHeader); err != nil {
		return 0, nil, err
	}
	body := make([]byte, length-1)
	if _, err := io.ReadFull(r, body); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return kind, body, nil
}

// hello opens a connection.
type hello struct {
	to, port string // whom it is for
	from     string // the name of the dialling machine
}

const (
	helloMagic = "simrun host 1"
	maxHello   = 4096
)

func (h hello) frame() ([]byte, error) {
	n := len(helloMagic)
	for _, s := range []string{h.to, h.port, h.from} {
		n += 2 + len(s)
	}
	if n > maxHello {
		return nil, fmt.Errorf("names of %d bytes: %w", n, host.ErrTooLong)
	}
	f := append(newFrame(frameHello, n), helloMagic...)
	for _, s := range []string{h.to, h.port, h.from} {
		f = appendName(f, s)
	}
	return f, nil
}

func parseHello(body []byte) (h hello, ok bool) {
	if len(body) < len(helloMagic) || string(body[:len(helloMagic)]) != helloMagic {
		return h, false
	}
	rest := body[len(helloMagic):]
	for _, s := range []*string{&h.to, &h.port, &h.from} {
		if *s, rest, ok = cutName(rest); !ok {
			return h, false
		}
	}
	return h, len(rest) == 0
}

func appendName(p []byte, name string) []byte {
	return append(binary.BigEndian.AppendUint16(p, uint16(len(name))), name...)
}

func cutName(p []byte) (name string, rest []byte, ok bool) {
	if len(p) < 2 {
		return "", nil, false
	}
	n := int(binary.BigEndian.Uint16(p))
	if len(p)-2 < n {
		return "", nil, false
	}
	return string(p[2 : 2+n]), p[2+n:], true
}
