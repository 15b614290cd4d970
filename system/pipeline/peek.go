package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/rpc"
)

const methodPeek rpc.Method[peekRequest, Answer] = "pipeline/peek"

type peekRequest struct {
	_    struct{} `cbor:",toarray"`
	View string
	At   model.Ts
}

// Answer is what a view holds.
type Answer struct {
	_ struct{} `cbor:",toarray"`
	// At is the ts as of which it does.
	At   model.Ts
	Rows []dataflow.RowCount
}

// handle adds the methods for clients.
func (c *Controller) handle(s *rpc.Service) {
	methodPeek.Handle(s, func(ctx context.Context, r peekRequest) (Answer, error) {
		ctx, cancel := c.h.Clock().WithTimeout(ctx, c.patience())
		defer cancel()
		return c.Peek(ctx, r.View, r.At)
	})
}

// Peek reads a view as of a ts, and waits until it is complete as of it; 0 is the latest as of which it is. It
// fails with ErrNotLeading, ErrUnknownView, ErrNotReadable or ErrUnavailable.
func (c *Controller) Peek(ctx context.Context, view string, at model.Ts) (Answer, error) {
	controller := c.Leading()
	if controller == nil {
		return Answer{}, ErrNotLeading
	}
	v, ok := c.cfg.view(view)
	if !ok {
		return Answer{}, ErrUnknownView
	}
	if at == 0 {
		_, write, err := controller.Frontiers(v.ID)
		if err != nil {
			return Answer{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		upper, open := write.Time()
		if !open || upper == 0 {
			return Answer{}, fmt.Errorf("%w: view %s is written up to %v", ErrUnavailable, view, write)
		}
		at = upper - 1
	}
	rows, err := peek(ctx, controller, v.ID, at)
	return Answer{At: at, Rows: rows}, err
}

func peek(ctx context.Context, controller *compute.Controller, id protocol.GlobalID, at model.Ts) ([]dataflow.RowCount, error) {
	p, err := controller.Peek(compute.PeekRequest{Target: id, Timestamp: at})
	var rows []dataflow.RowCount
	if err == nil {
		rows, err = p.Wait(ctx)
	}
	var beyond *compute.SinceError
	var refused *persist.SinceError
	switch {
	case err == nil:
		return rows, nil
	case errors.As(err, &beyond), errors.As(err, &refused):
		return nil, fmt.Errorf("%w: %w", ErrNotReadable, err)
	case errors.Is(err, compute.ErrFenced), errors.Is(err, compute.ErrClosed):
		return nil, fmt.Errorf("%w: %w", ErrNotLeading, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Client peeks, at whichever controller leads. It is used by one task.
type Client struct {
	controllers []*rpc.Client
	current     int
}

// NewClient returns a client.
func NewClient(h host.Host, cfg Config) *Client {
	cfg = cfg.withDefaults()
	c := &Client{}
	for _, name := range cfg.Topology.Controllers {
		c.controllers = append(c.controllers, dial(h, cfg, name, ControllerPort))
	}
	return c
}

// Peek is [Controller.Peek] of the leading controller, in one attempt: after an error the next one asks another.
// Besides those errors it fails with rpc's.
func (c *Client) Peek(ctx context.Context, view string, at model.Ts) (Answer, error) {
	answer, err := methodPeek.Call(ctx, c.controllers[c.current], peekRequest{View: view, At: at})
	if err != nil && !errors.Is(err, ErrNotReadable) && !errors.Is(err, ErrUnavailable) {
		c.current = (c.current + 1) % len(c.controllers)
	}
	return answer, err
}
