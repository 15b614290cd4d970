package cdc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
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

// status is what the scheduler believes of each capture.
func (a *adapter) status() map[model.CaptureID]Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	positions, _ := a.d.GetTaskPositions() // these errors are nil
	tasks, _ := a.d.GetTaskStatuses()
	statuses := map[model.CaptureID]Status{}
	for id, p := range positions {
		statuses[id] = Status{CheckpointTs: p.CheckPointTs, ResolvedTs: p.ResolvedTs}
	}
	for id, task := range tasks {
		s := statuses[id]
		for _, k := range slices.Sorted(maps.Keys(task.KeySpans)) {
			switch op := task.Operation[k]; {
			case op == nil:
				s.Running = append(s.Running, k)
			case op.Delete:
				s.Removing = append(s.Removing, k)
			default:
				s.Adding = append(s.Adding, k)
			}
		}
		statuses[id] = s
	}
	return statuses
}

// Admin is how clients create, change and look at changefeeds. Its methods are single attempts that fail
// with coord's errors, or with those named; what they ask of the owner they may ask twice.
type Admin struct {
	h        host.Host
	c        coord.Client
	upstream source.Reader
}

// NewAdmin returns a client on a host.
func NewAdmin(h host.Host, c coord.Client, upstream source.Reader) *Admin {
	return &Admin{h: h, c: c, upstream: upstream}
}

// creatingTTL is how long history is kept for a changefeed that is being created, until an owner has
// taken over.
const creatingTTL = 10 * time.Minute

// Create creates a changefeed, in StateNormal unless info says otherwise. A StartTs of 0 stands for 1:
// everything there ever was. It fails with ErrFeedExists or ErrTooOld.
func (a *Admin) Create(ctx context.Context, id model.ChangeFeedID, info model.ChangeFeedInfo) error {
	if info.State == "" {
		info.State = model.StateNormal
	}
	info.StartTs = max(info.StartTs, 1) // 0 is no checkpoint
	hold := info.StartTs - 1
	kept, err := a.upstream.Safepoint(ctx, safepointService+creating+id, hold, creatingTTL)
	if err != nil {
		return err
	}
	if kept > hold {
		kv, ok, err := coord.ReadKey(ctx, a.c, InfoKey(id))
		switch {
		case err != nil:
			return err
		case ok && kv.Value == encode(info):
			return nil // from an earlier call, and in an owner's hands
		case ok:
			return fmt.Errorf("%w: %s", ErrFeedExists, id)
		}
		return fmt.Errorf("%w: start %d, safepoint %d", ErrTooOld, info.StartTs, kept)
	}
	r, err := a.c.Txn(ctx, coord.Txn{
		If:   []coord.Compare{coord.Absent(InfoKey(id))},
		Then: []coord.Op{coord.Put(InfoKey(id), encode(info)), coord.Delete(coord.One(StatusKey(id)))},
		Else: []coord.Op{coord.Get(coord.One(InfoKey(id))), coord.Get(coord.One(StatusKey(id)))},
	})
	if err != nil || r.Succeeded {
		return err
	}
	if len(r.Ops[1].KVs) > 0 {
		// An owner has taken it up, and let go of the hold before this call took it again. If this fails
		// it ends by itself.
		_ = a.upstream.Release(ctx, safepointService+creating+id)
	}
	if r.Ops[0].KVs[0].Value != encode(info) {
		return fmt.Errorf("%w: %s", ErrFeedExists, id)
	}
	return nil
}

// SetState stops or resumes a changefeed. It fails with ErrNoFeed.
func (a *Admin) SetState(ctx context.Context, id model.ChangeFeedID, state model.FeedState) error {
	for {
		kv, ok, err := coord.ReadKey(ctx, a.c, InfoKey(id))
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("%w: %s", ErrNoFeed, id)
		}
		var info model.ChangeFeedInfo
		if err := json.Unmarshal([]byte(kv.Value), &info); err != nil {
			return err
		}
		info.State = state
		r, err := a.c.Txn(ctx, coord.Txn{
			If:   []coord.Compare{coord.ModifiedAt(InfoKey(id), kv.ModRevision)},
			Then: []coord.Op{coord.Put(InfoKey(id), encode(info))},
		})
		if err != nil || r.Succeeded {
			return err
		}
	}
}

// Remove removes a changefeed and its checkpoint. What is in its sink stays there.
func (a *Admin) Remove(ctx context.Context, id model.ChangeFeedID) error {
	_, err := coord.Write(ctx, a.c, coord.Delete(coord.One(InfoKey(id))), coord.Delete(coord.One(StatusKey(id))))
	return err
}

// Feed is a changefeed as it is stored.
type Feed struct {
	Info   model.ChangeFeedInfo
	Status model.ChangeFeedStatus // zero before an owner has taken it up
	// Revision is when the status was stored, 0 when there is none.
	Revision coord.Revision
}

// Feed returns a changefeed. It fails with ErrNoFeed.
func (a *Admin) Feed(ctx context.Context, id model.ChangeFeedID) (Feed, error) {
	now, err := a.read(ctx)
	if err != nil {
		return Feed{}, err
	}
	f := now.feeds[id]
	if f == nil {
		return Feed{}, fmt.Errorf("%w: %s", ErrNoFeed, id)
	}
	return Feed{Info: f.info, Status: f.status, Revision: f.statusRev}, nil
}

// Captures are those that are alive, sorted by id.
func (a *Admin) Captures(ctx context.Context) ([]model.CaptureInfo, error) {
	now, err := a.read(ctx)
	if err != nil {
		return nil, err
	}
	var infos []model.CaptureInfo
	for _, id := range slices.Sorted(maps.Keys(now.captures)) {
		infos = append(infos, now.captures[id].info)
	}
	return infos, nil
}

// Owner is the owner, and its epoch. It fails with ErrNotOwner when there is none.
func (a *Admin) Owner(ctx context.Context) (model.CaptureID, coord.Revision, error) {
	leader, err := coord.CurrentLeader(ctx, a.c, OwnerElection)
	if errors.Is(err, coord.ErrNoLeader) {
		return "", 0, ErrNotOwner
	}
	return leader.Value, leader.Revision, err
}

// MoveKeySpan asks the owner to move a key span to a capture. It fails with ErrNotOwner or ErrUnknown.
// Success says that the owner was told: a move that turns out to be impossible is given up.
func (a *Admin) MoveKeySpan(ctx context.Context, id model.ChangeFeedID, span model.KeySpanID, target model.CaptureID) error {
	_, err := askOwner(ctx, a, methodMove, moveRequest{Feed: id, Span: span, Target: target})
	return err
}

// Rebalance asks the owner to spread a changefeed's key spans evenly. It fails as MoveKeySpan does.
func (a *Admin) Rebalance(ctx context.Context, id model.ChangeFeedID) error {
	_, err := askOwner(ctx, a, methodRebalance, id)
	return err
}

// Resign asks the owner to let another be the owner. It fails as MoveKeySpan does.
func (a *Admin) Resign(ctx context.Context) error {
	_, err := askOwner(ctx, a, methodResign, struct{}{})
	return err
}

// Scheduled returns what the owner believes of each capture; nothing when it does not schedule the
// changefeed. It fails as MoveKeySpan does.
func (a *Admin) Scheduled(ctx context.Context, id model.ChangeFeedID) (map[model.CaptureID]Status, error) {
	return askOwner(ctx, a, methodStatus, id)
}

func (a *Admin) read(ctx context.Context) (*picture, error) {
	s, err := a.c.Range(ctx, coord.Prefix(Root), 0)
	if err != nil {
		return nil, err
	}
	now, _ := pictureOf(s.KVs, s.Revision)
	return now, nil
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
