package compute

import (
	"context"
	"io"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/host"
)

// Subscription is what a subscribe puts out, once, whichever replicas it comes from.
type Subscription struct {
	c    *Controller
	id   protocol.GlobalID
	asOf uint64
	// upper is that of the last batch; everything before it has been given.
	upper   protocol.Frontier
	batches *host.Chan[*protocol.SubscribeBatch]
	waiting int   // bytes of batches, about
	reason  error // why there will be no more; nil while there may
}

// Subscribe creates a dataflow whose output is given to the caller. With d.Sink.Snapshot it begins with the
// contents as of the dataflow's AsOf, at that time; without, with what changes after it. It fails as
// [Controller.CreateDataflow] does.
func (c *Controller) Subscribe(ctx context.Context, d Description) (*Subscription, error) {
	d.Sink.Kind = protocol.Subscribe
	s := &Subscription{c: c, id: d.ID, batches: host.NewChan[*protocol.SubscribeBatch](c.h, "compute subscription", host.Unbounded)}
	var err error
	if s.asOf, err = c.create(ctx, d, s); err != nil {
		return nil, err
	}
	return s, nil
}

// ID is the subscribe's collection, by which it is dropped.
func (s *Subscription) ID() protocol.GlobalID { return s.id }

// AsOf is the time at which it begins.
func (s *Subscription) AsOf() uint64 { return s.asOf }

// Next waits for the next batch. Its Lower is the Upper of the one before, that of the first one the frontier
// of the minimal time; its updates' times lie between its bounds. It fails with io.EOF after the last
// one, whose Upper is empty, with [ErrDropped], with [ErrFellBehind] or a [*SubscribeError], after which the collection
// is dropped, why the controller has ended, or ctx's error.
func (s *Subscription) Next(ctx context.Context) (*protocol.SubscribeBatch, error) {
	b, ok, err := s.batches.RecvContext(ctx)
	if err != nil {
		return nil, err
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if !ok {
		return nil, s.reason
	}
	s.waiting -= b.Size()
	return b, nil
}

// finish ends the subscription. The lock is held.
func (s *Subscription) finish(reason error) {
	if s.reason == nil {
		s.reason = reason
		s.batches.Close()
	}
}

// handleSubscribeResponse takes in a batch, or that the subscribe was dropped, and passes on what is new.
func (c *Controller) handleSubscribeResponse(r *replica, rc *replicaCollection, resp protocol.SubscribeResponse) {
	col := c.collections[resp.ID]
	if resp.Error != "" {
		c.h.Sometimes("compute: a replica could not go on with a subscribe", true)
		if !col.dropped {
			c.drop(col, &SubscribeError{resp.Error})
		}
		return // how far the replica is it tells once it has dropped it
	}
	if resp.Batch == nil {
		c.updateReplica(r, rc, done(resp.ID))
		return
	}
	b := resp.Batch
	// The replica's frontiers begin at the time of the dataflow.
	upper := b.Upper.Join(rc.asOf)
	c.updateReplica(r, rc, protocol.Frontiers{ID: resp.ID, Write: upper, Input: upper, Output: upper})
	if s := col.subscription; s != nil && !s.merge(b) {
		c.h.Sometimes("compute: a subscription fell behind", true)
		s.discard()
		c.drop(col, ErrFellBehind)
	}
	c.updateWrite(col, upper)
}

// merge passes on what of a batch was not given before. As every replica's batches are without gaps, the batch
// begins no later than where the last one ended. It tells whether there was room.
func (s *Subscription) merge(b *protocol.SubscribeBatch) (room bool) {
	if s.reason != nil {
		return true
	}
	s.c.h.Always("compute: a subscribe's batch leaves no gap", !s.upper.Before(b.Lower), "%v: [%v, %v) after %v", s.id, b.Lower, b.Upper, s.upper)
	if !s.upper.Before(b.Upper) {
		s.c.h.Sometimes("compute: a subscribe's batch came too late", true)
		return true
	}
	s.c.h.Sometimes("compute: a subscribe's batch was cut off", b.Lower.Before(s.upper))
	next := &protocol.SubscribeBatch{Lower: s.upper, Upper: b.Upper}
	for _, u := range b.Updates {
		if s.upper.LessEqual(u.Time) {
			next.Updates = append(next.Updates, u)
		}
	}
	for _, u := range b.Errors {
		if s.upper.LessEqual(u.Time) {
			next.Errors = append(next.Errors, u)
		}
	}
	size := next.Size()
	if s.waiting > 0 && s.waiting+size > s.c.cfg.SubscribeBacklog {
		return false
	}
	s.waiting += size
	s.upper = next.Upper
	s.c.cfg.Observer.Observe(SubscribeAdvanced{s.id, next})
	s.batches.Send(next)
	if s.upper.IsEmpty() {
		s.finish(io.EOF)
	}
	return true
}

// discard gives up what waits.
func (s *Subscription) discard() {
	for ready := true; ready; {
		_, _, ready = s.batches.TryRecv()
	}
	s.waiting = 0
}
