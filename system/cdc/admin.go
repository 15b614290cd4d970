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
)

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
// everything there ever was. The history that it needs is held for ten minutes: if no owner takes it up within those
// it may turn out to have failed.
//
// It fails with ErrInvalid for a StartTs that is not reached upstream yet, or a TargetTs that is not above it; with
// ErrFeedExists or ErrTooOld; or with an error of package source when the upstream store can't be asked. Repeated
// after an error that leaves the outcome open it creates nothing twice. Created again under the id of one that was
// removed it is another changefeed, which needs a sink of its own, or one that is as of its StartTs.
func (a *Admin) Create(ctx context.Context, id model.ChangeFeedID, info model.ChangeFeedInfo) error {
	if info.State == "" {
		info.State = model.StateNormal
	}
	info.StartTs = max(info.StartTs, 1) // 0 is no checkpoint
	if info.TargetTs != 0 && info.TargetTs <= info.StartTs {
		return fmt.Errorf("%w: its target %d is not above its start %d", ErrInvalid, info.TargetTs, info.StartTs)
	}
	now, err := a.upstream.Spans(ctx)
	if err != nil {
		return err
	}
	if info.StartTs > now.AsOf {
		return fmt.Errorf("%w: its start %d is in the future, the upstream store is at %d", ErrInvalid, info.StartTs, now.AsOf)
	}
	// A name that nobody else uses: letting go of it, however late, is letting go of nothing else.
	info.Hold = fmt.Sprintf("%s%016x", creatingHold, a.h.Rand().Uint64())
	asked := info.StartTs - 1
	kept, err := a.upstream.Safepoint(ctx, info.Hold, asked, creatingTTL)
	if err != nil {
		return err
	}
	if kept > asked {
		switch created, err := a.created(ctx, id, info); {
		case err != nil:
			return err
		case created:
			return nil // by an earlier call, and in an owner's hands
		}
		return fmt.Errorf("%w: start %d, safepoint %d", ErrTooOld, info.StartTs, kept)
	}
	r, err := a.c.Txn(ctx, coord.Txn{
		If:   []coord.Compare{coord.Absent(InfoKey(id))},
		Then: []coord.Op{coord.Put(InfoKey(id), encode(info)), coord.Delete(coord.One(StatusKey(id)))},
	})
	if err != nil || r.Succeeded {
		return err
	}
	_ = a.upstream.Release(ctx, info.Hold) // if this fails it ends by itself
	created, err := a.created(ctx, id, info)
	if err == nil && !created {
		err = fmt.Errorf("%w: %s was removed meanwhile; create it again", ErrNoFeed, id)
	}
	return err
}

// created tells whether a changefeed is there as it was to be created. It fails with ErrFeedExists when there is
// another.
func (a *Admin) created(ctx context.Context, id model.ChangeFeedID, info model.ChangeFeedInfo) (bool, error) {
	there, _, ok, err := a.info(ctx, id)
	if err != nil || !ok {
		return false, err
	}
	there.Hold = info.Hold
	if encode(there) != encode(info) {
		return false, fmt.Errorf("%w: %s", ErrFeedExists, id)
	}
	return true, nil
}

// info reads a changefeed's info.
func (a *Admin) info(ctx context.Context, id model.ChangeFeedID) (info model.ChangeFeedInfo, kv coord.KeyValue, ok bool, err error) {
	kv, ok, err = coord.ReadKey(ctx, a.c, InfoKey(id))
	if err == nil && ok {
		if err = json.Unmarshal([]byte(kv.Value), &info); err != nil {
			err = fmt.Errorf("cdc: the value of %s can't be read, remove the changefeed or put it right: %w", kv.Key, err)
		}
	}
	return info, kv, ok, err
}

// SetState stops or resumes a changefeed: StateStopped or StateNormal. From which state does not matter: one that has
// failed or finished is stopped or resumed like another, and what is resumed at its target finishes again. It fails
// with ErrNoFeed, and with ErrState for another state.
func (a *Admin) SetState(ctx context.Context, id model.ChangeFeedID, state model.FeedState) error {
	if state != model.StateStopped && state != model.StateNormal {
		return fmt.Errorf("%w: not %q", ErrState, state)
	}
	for {
		info, kv, ok, err := a.info(ctx, id)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("%w: %s", ErrNoFeed, id)
		}
		info.State, info.Error = state, nil
		r, err := a.c.Txn(ctx, coord.Txn{
			If:   []coord.Compare{coord.ModifiedAt(InfoKey(id), kv.ModRevision)},
			Then: []coord.Op{coord.Put(InfoKey(id), encode(info))},
		})
		if err != nil || r.Succeeded {
			return err
		}
	}
}

// Resume has a changefeed replicated on from its checkpoint that was stopped, or has failed: then the cause should
// have been removed, or it fails again. It fails with ErrNoFeed.
//
// A changefeed that has failed can be resumed for as long as the history it needs is there: that is held for
// Config.SafepointTTL after the failure.
func (a *Admin) Resume(ctx context.Context, id model.ChangeFeedID) error {
	return a.SetState(ctx, id, model.StateNormal)
}

// Remove removes a changefeed and its checkpoint, if there is one of the id. What is in its sink stays there.
func (a *Admin) Remove(ctx context.Context, id model.ChangeFeedID) error {
	kv, ok, err := coord.ReadKey(ctx, a.c, InfoKey(id))
	if err != nil || !ok {
		return err
	}
	// This one, and not another that is created under the id before the call gets there.
	r, err := a.c.Txn(ctx, coord.Txn{
		If:   []coord.Compare{coord.CreatedAt(InfoKey(id), kv.CreateRevision)},
		Then: []coord.Op{coord.Delete(coord.One(InfoKey(id))), coord.Delete(coord.One(StatusKey(id)))},
	})
	if err == nil && r.Succeeded {
		// The owner lets go of the history too, unless there is another one by then. If both fail that ends by
		// itself.
		_ = a.upstream.Release(ctx, HoldOf(id, kv.CreateRevision))
	}
	return err
}

// Feed is a changefeed as it is stored.
type Feed struct {
	Info   model.ChangeFeedInfo
	Status model.ChangeFeedStatus // zero before an owner has taken it up
	// Revision is when the status was stored, 0 when there is none.
	Revision coord.Revision
	// Incarnation is when it was created: one that is removed and created again has a higher one.
	Incarnation coord.Revision

	id model.ChangeFeedID
}

// Err is nil, or a *FailedError when the changefeed has failed.
func (f Feed) Err() error {
	if f.Info.State != model.StateFailed || f.Info.Error == nil {
		return nil
	}
	return &FailedError{Feed: f.id, Cause: *f.Info.Error}
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
	return Feed{Info: f.info, Status: f.status, Revision: f.statusRev, Incarnation: f.incarnation, id: id}, nil
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
