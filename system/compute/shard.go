package compute

import (
	"context"
	"errors"
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// shard is a persist shard that the instance reads or writes. The controller holds its since, and follows its
// upper.
type shard struct {
	id     persist.ShardID
	handle *persist.SinceHandle
	writer *persist.WriteHandle // for its upper only

	holders *holders
	implied *hold
	// since is from where on the controller counts on reading it: the critical since is there or on its way
	// to it.
	since protocol.Frontier
	upper protocol.Frontier
	// moved says that since has gone on.
	moved *host.Chan[struct{}]
}

// openShard makes a shard one that the controller holds, if it is not.
func (c *Controller) openShard(ctx context.Context, id persist.ShardID) error {
	c.mu.Lock()
	known, reason := c.shards[id] != nil, c.reason
	c.mu.Unlock()
	if known || reason != nil {
		return reason
	}
	handle, err := c.takeOver(ctx, id)
	if err != nil {
		return err
	}
	writer, err := c.cfg.Persist.OpenWriter(ctx, id)
	if err != nil {
		return err
	}
	upper, err := writer.FetchRecentUpper(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shards[id] != nil || c.reason != nil { // another task was faster
		writer.Close()
		return c.reason
	}
	s := &shard{
		id: id, handle: handle, writer: writer, holders: newHolders(),
		since: handle.Since(), upper: upper, moved: host.NewChan[struct{}](c.h, "compute since of "+string(id), 1),
	}
	s.implied = s.holders.take(s.since)
	c.shards[id] = s
	c.h.Go("compute follow upper of "+string(id), func() { c.followUpper(s) })
	c.h.Go("compute move since of "+string(id), func() { c.moveSince(s) })
	return nil
}

// refreshUpper looks at the shard's upper.
func (c *Controller) refreshUpper(ctx context.Context, id persist.ShardID) error {
	c.mu.Lock()
	s := c.shards[id]
	c.mu.Unlock()
	upper, err := s.writer.FetchRecentUpper(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.upper = s.upper.Join(upper)
	return nil
}

// isNew tells whether nothing was written to the shard yet.
func (s *shard) isNew() bool { return s.upper == protocol.Frontier{} }

// beginShard lets a new shard be read only from a time on.
func (c *Controller) beginShard(ctx context.Context, id persist.ShardID, at uint64) error {
	c.mu.Lock()
	s := c.shards[id]
	c.mu.Unlock()
	mine := persist.Opaque(c.cfg.Incarnation)
	held, err := s.handle.CompareAndDowngradeSince(ctx, mine, mine, persist.At(at))
	var mismatch *persist.OpaqueMismatch
	if errors.As(err, &mismatch) {
		c.fenced()
		return ErrFenced
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.implied.downgrade(held)
	s.since = s.since.Join(held)
	return nil
}

// takeOver makes the critical since of a shard this controller's.
func (c *Controller) takeOver(ctx context.Context, id persist.ShardID) (*persist.SinceHandle, error) {
	mine := persist.Opaque(c.cfg.Incarnation)
	handle, err := c.cfg.Persist.OpenCritical(ctx, id, c.cfg.Holder, mine)
	if err != nil {
		return nil, err
	}
	for handle.Opaque() != mine {
		held := handle.Opaque()
		if held > mine {
			c.fenced()
			return nil, ErrFenced
		}
		_, err := handle.CompareAndDowngradeSince(ctx, held, mine, handle.Since())
		var mismatch *persist.OpaqueMismatch
		if err != nil && !errors.As(err, &mismatch) {
			return nil, err
		}
	}
	return handle, nil
}

func (c *Controller) fenced() {
	c.h.Sometimes("compute: a controller was fenced out", true)
	c.cfg.Observer.Observe(Fenced{c.cfg.Incarnation})
	c.shutDown(ErrFenced)
}

// followUpper keeps the shard's upper up to date.
func (c *Controller) followUpper(s *shard) {
	upper := s.upper
	for !upper.IsEmpty() {
		if err := s.writer.WaitForUpperPast(c.life, upper); err != nil {
			if c.life.Err() == nil {
				c.h.Logf("compute: following the upper of %s: %v", s.id, err)
			}
			if c.pause() != nil {
				break
			}
			continue
		}
		upper = s.writer.Upper()
		c.mu.Lock()
		s.upper = s.upper.Join(upper)
		c.mu.Unlock()
	}
}

// pause waits before something is tried again. The error says that there is no need.
func (c *Controller) pause() error {
	ctx, cancel := c.h.Clock().WithTimeout(c.life, time.Second)
	defer cancel()
	host.Select(c.h, host.OnDone(ctx))
	return c.life.Err()
}

// moveSince lets the critical since follow.
func (c *Controller) moveSince(s *shard) {
	mine := persist.Opaque(c.cfg.Incarnation)
	for {
		if _, _, err := s.moved.RecvContext(c.life); err != nil {
			return
		}
		c.mu.Lock()
		to := s.since
		c.mu.Unlock()
		_, err := s.handle.CompareAndDowngradeSince(c.life, mine, mine, to)
		var mismatch *persist.OpaqueMismatch
		switch {
		case c.life.Err() != nil:
			return
		case errors.As(err, &mismatch):
			c.fenced()
			return
		case err != nil:
			c.h.Logf("compute: moving the since of %s: %v", s.id, err)
			if c.pause() != nil {
				return
			}
			s.moved.TrySend(struct{}{})
		}
	}
}
