package compute

import (
	"context"
	"fmt"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// PeekRequest is a peek to be made.
type PeekRequest struct {
	// Target is an index, or a collection that is written to a shard.
	Target protocol.GlobalID
	// Key, if not nil, restricts the peek of an index to the rows with that key.
	Key *dataflow.Row
	// Timestamp is the time of which the contents are wanted. The answer comes when they are complete.
	Timestamp uint64
	// Plan, if not nil, is applied to the rows. It reads [protocol.PeekSource].
	Plan *dataflow.Plan
	// Replica, if not "", is the only one whose answer counts.
	Replica protocol.ReplicaID
}

// Peek is a peek that was begun. It is answered once.
type Peek struct {
	c  *Controller
	id protocol.PeekID
	// replica, if not "", is the only one whose answer counts.
	replica protocol.ReplicaID
	hold    *hold
	answer  *host.Chan[peekAnswer] // of capacity 1
}

type peekAnswer struct {
	rows []dataflow.RowCount
	err  error
}

// Peek begins to read a collection as of a time. It fails with [*SinceError], [ErrUnknownCollection],
// [ErrUnknownReplica], [ErrNotReadable], [ErrNoKey], dataflow's *PlanError, host.ErrTooLong, or why the controller has ended.
func (c *Controller) Peek(req PeekRequest) (*Peek, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	col, err := c.find(req.Target)
	if err != nil {
		return nil, err
	}
	if req.Replica != "" && c.replicas[req.Replica] == nil {
		return nil, fmt.Errorf("%w: %s", ErrUnknownReplica, req.Replica)
	}
	if req.Plan != nil {
		if _, err := req.Plan.Schema(dataflow.Catalog{protocol.PeekSource: col.schema}); err != nil {
			return nil, err
		}
	}
	target := protocol.PeekTarget{ID: req.Target, Schema: col.schema}
	from, since := col.holders, col.since
	switch col.desc.Sink.Kind {
	case protocol.Subscribe:
		return nil, fmt.Errorf("%w: %v", ErrNotReadable, req.Target)
	case protocol.Shard:
		if req.Key != nil {
			return nil, fmt.Errorf("%w: %v", ErrNoKey, req.Target)
		}
		s := c.shards[col.desc.Sink.Shard]
		target.Shard, from, since = s.id, s.holders, s.since
	}
	at := persist.At(req.Timestamp)
	if at.Before(since) {
		return nil, &SinceError{Collection: req.Target.String(), AsOf: at, Since: since}
	}
	return c.beginPeek(req, target, from, at)
}

// PeekLog begins to read what a replica tells of itself, as of the latest time that the controller knows to be
// complete there. Plan, if not nil, is applied to the rows. It fails with [ErrUnknownReplica], [ErrNoLog], dataflow's
// *PlanError, host.ErrTooLong, or why the controller has ended; waiting for the answer fails with a [*PeekError] too when it comes so
// late that the replica has forgotten that time.
func (c *Controller) PeekLog(id protocol.ReplicaID, log protocol.Log, plan *dataflow.Plan) (*Peek, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason != nil {
		return nil, c.reason
	}
	r := c.replicas[id]
	if r == nil {
		return nil, fmt.Errorf("%w: %s", ErrUnknownReplica, id)
	}
	write, ok := r.logs[log.ID()].Time()
	if !ok || write == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoLog, id)
	}
	if plan != nil {
		if _, err := plan.Schema(dataflow.Catalog{protocol.PeekSource: log.Schema()}); err != nil {
			return nil, err
		}
	}
	req := PeekRequest{Target: log.ID(), Timestamp: write - 1, Plan: plan, Replica: id}
	return c.beginPeek(req, protocol.PeekTarget{ID: log.ID(), Schema: log.Schema()}, newHolders(), persist.At(write-1))
}

// beginPeek asks the replicas, with what they read held at a time. The lock is held.
func (c *Controller) beginPeek(req PeekRequest, target protocol.PeekTarget, from *holders, at protocol.Frontier) (*Peek, error) {
	c.peekCount++
	id := protocol.PeekID(fmt.Sprintf("%d-%06d", c.cfg.Incarnation, c.peekCount))
	cmd := protocol.Peek{ID: id, Target: target, Key: req.Key, Timestamp: req.Timestamp, Plan: req.Plan}
	if err := protocol.Fits(cmd); err != nil {
		return nil, err
	}
	p := &Peek{
		c: c, id: id, replica: req.Replica, hold: from.take(at),
		answer: host.NewChan[peekAnswer](c.h, "compute peek", 1),
	}
	c.peeks[p.id] = p
	c.cfg.Observer.Observe(PeekBegun{p.id, req.Target, req.Timestamp})
	c.send(cmd)
	return p, nil
}

// ID names the peek.
func (p *Peek) ID() protocol.PeekID { return p.id }

// Wait waits for the answer: the rows, sorted. It fails with [*PeekError], [ErrCanceled], [ErrReplicaLost], or why
// the controller has ended. If ctx is done first the peek is cancelled, and the error is that of ctx.
func (p *Peek) Wait(ctx context.Context) ([]dataflow.RowCount, error) {
	a, _, err := p.answer.RecvContext(ctx)
	if err != nil {
		p.Cancel()
		return nil, err
	}
	p.answer.Send(a) // for who waits again
	return a.rows, a.err
}

// Cancel ends the peek, if it was not answered, without waiting for replicas.
func (p *Peek) Cancel() {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.finishPeek(p.id, nil, ErrCanceled)
}

// handlePeekResponse takes the first answer for the answer.
func (c *Controller) handlePeekResponse(from protocol.ReplicaID, r protocol.PeekResponse) {
	if p := c.peeks[r.ID]; p != nil && p.replica != "" && p.replica != from {
		c.h.Sometimes("compute: the answer of another replica than was asked was ignored", true)
		return
	}
	var err error
	switch {
	case r.Canceled:
		err = ErrCanceled
	case r.Error != "":
		err = &PeekError{r.Error}
	}
	c.h.Sometimes("compute: a second answer to a peek was swallowed", c.peeks[r.ID] == nil && err == nil)
	c.finishPeek(r.ID, r.Rows, err)
}

// finishPeek answers a peek, if that was not done. Its hold goes last: replaying the history must not come to
// the peek with what it reads given up. The lock is held.
func (c *Controller) finishPeek(id protocol.PeekID, rows []dataflow.RowCount, err error) {
	p := c.peeks[id]
	if p == nil {
		return
	}
	delete(c.peeks, id)
	p.finish(rows, err)
	c.send(protocol.CancelPeek{ID: id})
	p.hold.release()
}

func (p *Peek) finish(rows []dataflow.RowCount, err error) {
	p.c.cfg.Observer.Observe(PeekEnded{p.id, len(rows), err})
	p.answer.Send(peekAnswer{rows, err})
}
