package raftkv

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// retry is how long a client waits for a server before it asks another.
const retry = 250 * time.Millisecond

// ErrGaveUp says that a command was not answered in time: it may have taken effect, or may yet.
var ErrGaveUp = errors.New("raftkv: not answered in time")

// Client is one session: one task's commands, one after the other.
type Client struct {
	h       host.Host
	servers []string
	socket  host.Socket
	session string
	seq     uint64
	turn    int
	server  string // to ask
}

// NewClient opens a session under a name that no other ever had. The name is its port too.
func NewClient(h host.Host, session string, servers []string) (*Client, error) {
	socket, err := h.Net().OpenSocket(session)
	if err != nil {
		return nil, err
	}
	c := &Client{h: h, servers: servers, socket: socket, session: session, turn: h.Rand().IntN(len(servers))}
	c.askNext()
	return c, nil
}

// Close ends the session.
func (c *Client) Close() error { return c.socket.Close() }

func (c *Client) askNext() {
	c.turn++
	c.server = host.JoinAddr(c.servers[c.turn%len(c.servers)], port)
}

// Do has a command carried out; Session and Seq are filled in. It fails with ErrGaveUp when ctx is
// done, or with the socket's error.
func (c *Client) Do(ctx context.Context, cmd Command) (Result, error) {
	c.seq++
	cmd.Session, cmd.Seq = c.session, c.seq
	for ctx.Err() == nil {
		send(c.socket, c.server, message{Kind: askDo, From: host.JoinAddr(c.h.Name(), c.session), Command: cmd})
		m, err := c.answer(ctx, cmd.Seq)
		switch {
		case errors.Is(err, host.ErrClosed):
			return Result{}, err
		case err != nil:
			c.askNext()
		case m.Yes:
			return m.Result, nil
		case m.Leader != "":
			c.server = m.Leader
		default: // nobody leads yet, or so it seems to this one
			c.askNext()
			c.h.Clock().Sleep(retry / 10)
		}
	}
	return Result{}, ErrGaveUp
}

// answer waits for the answer to a command.
func (c *Client) answer(ctx context.Context, seq uint64) (m message, err error) {
	ctx, cancel := c.h.Clock().WithTimeout(ctx, retry)
	defer cancel()
	for {
		_, data, err := c.socket.RecvFrom(ctx)
		if err != nil {
			return m, err
		}
		if json.Unmarshal(data, &m) == nil && m.Command.Seq == seq { // or it is an old one
			return m, nil
		}
	}
}
