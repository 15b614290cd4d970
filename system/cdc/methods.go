package cdc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/rpc"
)

// The methods of a capture for clients.
const (
	methodMove      rpc.Method[moveRequest, struct{}]                 = "cdc/move"
	methodRebalance rpc.Method[model.ChangeFeedID, struct{}]          = "cdc/rebalance"
	methodResign    rpc.Method[struct{}, struct{}]                    = "cdc/resign"
	methodStatus    rpc.Method[model.ChangeFeedID, map[string]Status] = "cdc/status"
)

type moveRequest struct {
	_      struct{} `cbor:",toarray"`
	Feed   model.ChangeFeedID
	Span   model.KeySpanID
	Target model.CaptureID
}

// Status is what the owner's scheduler believes of one capture.
type Status struct {
	CheckpointTs, ResolvedTs  model.Ts
	Running, Adding, Removing []model.KeySpanID // sorted
}

// handle adds the methods for clients to the capture's service.
func (c *Capture) handle(s *rpc.Service) {
	owning := func() (*owner, error) {
		if l := c.present(); l != nil {
			if o := l.owning(); o != nil && l.session.Err() == nil {
				return o, nil
			}
		}
		return nil, notOwner
	}
	methodMove.Handle(s, func(_ context.Context, r moveRequest) (struct{}, error) {
		o, err := owning()
		if err == nil {
			o.ask(job{feed: r.Feed, span: r.Span, target: r.Target})
		}
		return struct{}{}, err
	})
	methodRebalance.Handle(s, func(_ context.Context, id model.ChangeFeedID) (struct{}, error) {
		o, err := owning()
		if err == nil {
			o.ask(job{feed: id, rebalance: true})
		}
		return struct{}{}, err
	})
	methodResign.Handle(s, func(context.Context, struct{}) (struct{}, error) {
		o, err := owning()
		if err == nil {
			o.askToResign()
		}
		return struct{}{}, err
	})
	methodStatus.Handle(s, func(_ context.Context, id model.ChangeFeedID) (map[string]Status, error) {
		o, err := owning()
		if err != nil {
			return nil, err
		}
		return o.status(id), nil
	})
}

// status is what the scheduler of a changefeed believes; nil when there is none.
func (o *owner) status(id model.ChangeFeedID) map[model.CaptureID]Status {
	o.mu.Lock()
	a := o.adapters[id]
	o.mu.Unlock()
	if a == nil {
		return nil
	}
	return a.status()
}

// askOwner calls the process of the present owner.
func askOwner[Req, Resp any](ctx context.Context, a *Admin, m rpc.Method[Req, Resp], r Req) (Resp, error) {
	var none Resp
	now, err := a.read(ctx)
	if err != nil {
		return none, err
	}
	owner, ok := now.captures[now.leader.Value]
	if !now.led || !ok {
		return none, ErrNotOwner
	}
	c := rpc.NewClient(a.h, owner.info.AdvertiseAddr, rpc.ClientOptions{DialTimeout: time.Second, CallTimeout: 2 * time.Second})
	defer c.Close()
	resp, err := m.Call(ctx, c, r)
	switch {
	case errors.Is(err, notOwner):
		return none, ErrNotOwner
	case errors.Is(err, rpc.ErrNotSent):
		return none, fmt.Errorf("%w: %w", ErrNotOwner, err)
	case err != nil:
		return none, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return resp, nil
}
