package frontend

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Client calls frontends: one of them, and the next one once that gives no answer. It is a
// [flow.Backend]. Any number of tasks may use it.
type Client struct {
	clients []*rpc.Client
	current atomic.Int32
}

// NewClient returns a client of the frontends at addresses. A call waits so long for an answer at most, and
// if that is no time, as long as rpc does by default.
func NewClient(h host.Host, timeout time.Duration, addrs ...string) *Client {
	c := &Client{}
	for _, addr := range addrs {
		c.clients = append(c.clients, rpc.NewClient(h, addr, rpc.ClientOptions{DialTimeout: timeout, CallTimeout: timeout}))
	}
	return c
}

// Close ends the connections.
func (c *Client) Close() {
	for _, one := range c.clients {
		one.Close()
	}
}

// call calls the current frontend. A call is not repeated: the next one goes elsewhere.
func call[Req, Resp any](ctx context.Context, c *Client, m rpc.Method[Req, Resp], req Req) (Resp, error) {
	at := c.current.Load()
	resp, err := m.Call(ctx, c.clients[at], req)
	if errors.Is(err, rpc.ErrNotSent) || errors.Is(err, rpc.ErrUnknown) {
		c.current.CompareAndSwap(at, (at+1)%int32(len(c.clients)))
	}
	return resp, err
}

// Execute executes the statements of a text: see [Frontend.Execute]. An error without a code of a frontend
// or a flow node is one of rpc.
func (c *Client) Execute(ctx context.Context, text string) ([]Result, error) {
	reply, err := call(ctx, c, methodSQL, text)
	if err == nil && reply.Code != "" {
		err = &rpc.Error{Code: reply.Code, Message: reply.Message}
	}
	return reply.Results, err
}

// known turns what a frontend answers into the errors of the interfaces.
func known(err error, missing error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("%w: %w", missing, err)
	case errors.Is(err, ErrForgotten):
		return fmt.Errorf("%w: %w", relation.ErrForgotten, err)
	}
	return err
}

// Table implements flow.TableMeta.
func (c *Client) Table(ctx context.Context, name catalog.Name) (*catalog.Table, error) {
	t, err := call(ctx, c, methodTable, name)
	return t, known(err, &catalog.NotFoundError{What: "table", Name: name})
}

// TableByID implements flow.TableMeta.
func (c *Client) TableByID(ctx context.Context, id catalog.TableID) (*catalog.Table, error) {
	t, err := call(ctx, c, methodTableByID, id)
	return t, known(err, &catalog.NotFoundError{What: "table", Name: catalog.Public(id.String())})
}

// Flows implements flow.FlowMeta.
func (c *Client) Flows(ctx context.Context) ([]*catalog.Flow, uint64, error) {
	reply, err := call(ctx, c, methodFlows, struct{}{})
	return reply.Flows, reply.Revision, err
}

// Enlist implements flow.FlowMeta.
func (c *Client) Enlist(ctx context.Context, node string) (uint64, error) {
	return call(ctx, c, methodEnlist, node)
}

// CreateTable implements flow.FrontendInvoker.
func (c *Client) CreateTable(ctx context.Context, t catalog.Table) (bool, error) {
	return call(ctx, c, methodCreateTable, t)
}

// Upper implements flow.FrontendInvoker.
func (c *Client) Upper(ctx context.Context, id catalog.TableID) (uint64, error) {
	return call(ctx, c, methodUpper, id)
}

// Snapshot implements flow.FrontendInvoker.
func (c *Client) Snapshot(ctx context.Context, id catalog.TableID) ([]dataflow.RowCount, uint64, error) {
	reply, err := call(ctx, c, methodSnapshot, id)
	return reply.Rows, reply.Upper, err
}

// Changes implements flow.FrontendInvoker.
func (c *Client) Changes(ctx context.Context, id catalog.TableID, from uint64) ([]flow.Batch, error) {
	batches, err := call(ctx, c, methodChanges, changesRequest{Table: id, From: from})
	return batches, known(err, flow.ErrTableNotFound)
}

// Write implements flow.FrontendInvoker.
func (c *Client) Write(ctx context.Context, w flow.WriteRequest) error {
	_, err := call(ctx, c, methodWrite, w)
	return err
}

var _ flow.Backend = (*Client)(nil)
var _ flow.Backend = (*Frontend)(nil)
