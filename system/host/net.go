package host

import (
	"context"
	"errors"
	"strings"
)

// Errors of the network. What a peer's silence means is never known: there is no error for
// "the message was lost".
var (
	// ErrRefused: the machine answered that nobody listens on that port.
	ErrRefused = errors.New("host: connection refused")
	// ErrReset: the connection is gone; messages sent on it may or may not have arrived.
	ErrReset = errors.New("host: connection reset")
	// ErrTimeout: the peer did not answer within the transport's own limit.
	ErrTimeout = errors.New("host: connection timed out")
	// ErrInUse: the process already listens on that port.
	ErrInUse = errors.New("host: port in use")
	// ErrNoHost: no machine has that name.
	ErrNoHost = errors.New("host: no such host")
	// ErrTooLong: the message is longer than MaxMessage or MaxDatagram, and was not sent.
	ErrTooLong = errors.New("host: message too long")
)

const (
	// MaxMessage is the length, in bytes, of the longest message that a Conn sends.
	MaxMessage = 64 << 20
	// MaxDatagram is the length, in bytes, of the longest datagram that a Socket sends: what an
	// IP packet carries, less room for the names of the ends.
	MaxDatagram = 60 << 10
)

// Net is one machine's network. Addresses are "name:port": the machine's name and the port's
// name or number, such as "blob:persist".
type Net interface {
	// Listen accepts connections to the port until the listener is closed or the process
	// dies.
	Listen(port string) (Listener, error)
	// Dial opens a connection. It fails with ErrRefused, ErrNoHost or ErrTimeout, or with
	// ctx's error.
	Dial(ctx context.Context, addr string) (Conn, error)
	// OpenSocket receives and sends datagrams on the port.
	OpenSocket(port string) (Socket, error)
}

// Listener accepts connections.
type Listener interface {
	// Accept waits for the next connection. It fails with ErrClosed or ctx's error.
	Accept(ctx context.Context) (Conn, error)
	// Close stops accepting; connections already accepted go on, those that nobody has accepted
	// are reset. Closed again, it fails with ErrClosed.
	Close() error
	// Addr is the address that peers dial.
	Addr() string
}

// Conn is an ordered, reliable connection that keeps message boundaries: what arrives is a
// prefix of what was sent. Any number of tasks may use it. A context that ends while Send or
// Recv waits leaves the connection as it was.
type Conn interface {
	// Send sends one message. A nil error means that it is on its way, not that it arrived.
	// The message is copied. Send waits while too much is on its way that the peer has not
	// received. It fails with ErrReset, ErrTimeout, ErrClosed or ErrTooLong, or with ctx's
	// error.
	Send(ctx context.Context, msg []byte) error
	// Recv waits for the next message. It fails with io.EOF after the peer closed and all
	// its messages were received, with ErrReset, ErrTimeout or ErrClosed, or with ctx's error.
	// The message belongs to the caller.
	Recv(ctx context.Context) ([]byte, error)
	// Close ends both directions, and with ErrClosed whatever waits in Send or Recv; messages
	// already sent still arrive. Closed again, it fails with ErrClosed.
	Close() error
	// LocalAddr and RemoteAddr are the ends' addresses.
	LocalAddr() string
	RemoteAddr() string
}

// Socket sends and receives datagrams, each of which may be lost, repeated, or overtaken.
type Socket interface {
	// SendTo sends one datagram. It fails with ErrNoHost, ErrClosed or ErrTooLong, which mean
	// that it was not sent; nil promises nothing.
	SendTo(addr string, msg []byte) error
	// RecvFrom waits for the next datagram. It fails with ErrClosed or ctx's error.
	RecvFrom(ctx context.Context) (from string, msg []byte, err error)
	// Close closes the socket. Closed again, it fails with ErrClosed.
	Close() error
}

// SplitAddr splits "name:port". Without a colon the port is empty.
func SplitAddr(addr string) (name, port string) {
	name, port, _ = strings.Cut(addr, ":")
	return name, port
}

// JoinAddr is "name:port".
func JoinAddr(name, port string) string { return name + ":" + port }
