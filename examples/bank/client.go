package bank

import (
	"context"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Client asks a coordinator.
type Client struct{ rpc *rpc.Client }

// NewClient returns a client of the coordinator on that machine.
func NewClient(h host.Host, coordinator string) *Client {
	return &Client{rpc.NewClient(h, host.JoinAddr(coordinator, port), callOptions)}
}

// Close ends the client.
func (c *Client) Close() { c.rpc.Close() }

// Transfer changes all accounts, or none. Of its errors, one that is rpc.ErrNotSent says that
// nothing was changed; after any other it may have been, or may yet be.
func (c *Client) Transfer(ctx context.Context, legs ...Leg) (Reply, error) {
	return transfer.Call(ctx, c.rpc, transferRequest{legs})
}
