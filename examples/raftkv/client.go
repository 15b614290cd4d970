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
	self    string
	session string
	seq     uint64
	server  string // to ask first
	turn    int
}

// NewClient opens a session under a name that no other ever had. The name is its port too.
func NewClient(h host.Host, session string, servers []string) (*Client, error) {
	socket, err := h.Net().OpenSocket(session)
	if err != nil {
		return nil, err
	}
	c := &Client{h: h, socket: socket, self: host.JoinAddr(h.Name(), session), session: session, turn: h.Rand().IntN(len(servers))}
	for _, name := range servers {
		c.servers = append(c.servers, host.JoinAddr(name, port))
	}
	return c, nil
}

// Close ends the session.
func (c *Client) Close() error { return c.socket.Close() }

// Do has a command carried out; Session and Seq are filled in. It fails with ErrGaveUp when ctx is
// done, or with the socket's error.
func (c *Client) Do(ctx context.Context, cmd Command) (Result, error) {
	c.seq++
	cmd.Session, cmd.Seq = c.session, c.seq
	for ctx.Err() == nil {
		if c.server == "" {
			c.turn++
			c.server = c.servers[c.turn%len(c.servers)]
		}
		_ = c.socket.SendTo(c.server, encode(message{Kind: askDo, From: c.self, Command: cmd}))
		result, done, err := c.await(ctx, cmd.Seq)
		if err != nil || done {
			return result, err
		}
	}
	return Result{}, ErrGaveUp
}

// await waits for the answer to a command; without one it says so, and where to ask next.
func (c *Client) await(ctx context.Context, seq uint64) (r Result, done bool, err error) {
	ctx, cancel := c.h.Clock().WithTimeout(ctx, retry)
	defer cancel()
	for {
		_, data, err := c.socket.RecvFrom(ctx)
		if err != nil {
			c.server = ""
			if errors.Is(err, host.ErrClosed) {
				return Result{}, false, err
			}
			return Result{}, false, nil
		}
		var m message
		switch {
		case json.Unmarshal(data, &m) != nil || m.Command.Seq != seq: // an old one
		case m.Yes:
			return m.Result, true, nil
		case m.Leader != "" && m.Leader != c.server:
			c.server = m.Leader
			return Result{}, false, nil
		default:
			// Nobody leads yet, or so it seems to this one.
			c.server = ""
			c.h.Clock().Sleep(retry / 10)
			return Result{}, false, nil
		}
	}
}
