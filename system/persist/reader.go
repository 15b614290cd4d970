package persist

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/host"
)

// ReadHandle reads a shard. It is registered with the shard and holds its since back, under a
// lease that a task of the handle keeps alive. When the lease ran out all the same (the
// process was paused, or cut off from Consensus), the methods fail with ErrLeaseExpired.
//
// Its methods may be called by several tasks.
type ReadHandle struct {
	c    *Client
	m    *machine
	id   ReaderID
	life context.Context // ends with the handle
	end  context.CancelFunc

	mu      *host.Mutex
	since   Frontier
	expired bool
	closed  bool
	pinned  map[SeqNo]int // snapshots not closed yet, by version
}

func openReadHandle(ctx context.Context, c *Client, m *machine) (*ReadHandle, error) {
	r := &ReadHandle{
		c: c, m: m, id: ReaderID(newID(c.h, "r")),
		mu: host.NewMutex(c.h, "persist reader of "+string(m.shard)), pinned: map[SeqNo]int{},
	}
	lease := uint64(c.cfg.ReaderLease.Milliseconds())
	_, _, err := m.idempotent(ctx, func(next *state, now uint64) (v verdict) {
		r.since, v = next.registerReader(r.id, now, lease)
		return v
	})
	if err != nil {
		return nil, err
	}
	r.life, r.end = host.WithCancel(c.h, c.life)
	c.h.Go("persist heartbeat "+string(m.shard), r.heartbeat)
	return r, nil
}

// Shard is the shard that the handle reads.
func (r *ReadHandle) Shard() ShardID { return r.m.shard }

// Since is the time from which on the handle can read: its own hold.
func (r *ReadHandle) Since() Frontier {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since
}

// heartbeat keeps the lease alive until the handle is closed, or the lease is gone.
func (r *ReadHandle) heartbeat() {
	for sleep(r.life, r.c.h, r.c.cfg.HeartbeatInterval) == nil {
		if _, err := r.downgrade(r.life, Frontier{}); err != nil {
			if r.life.Err() == nil {
				r.c.h.Logf("persist: heartbeat of reader %s of %s: %v", r.id, r.m.shard, err)
			}
			if errors.Is(err, ErrLeaseExpired) {
				return
			}
		}
	}
}

// usable tells why the handle can't be used, if so.
func (r *ReadHandle) usable() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return &InvalidUsage{Cause: ErrHandleClosed}
	case r.expired:
		return ErrLeaseExpired
	}
	return nil
}

// checkLease tells whether the reader is registered in s, a version no older than the handle.
// A shard that is gone for good has no readers; there nothing is held, and nothing to read.
func (r *ReadHandle) checkLease(s *state) error {
	if _, ok := s.Readers[r.id]; ok || s.tombstone() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return &InvalidUsage{Cause: ErrHandleClosed}
	}
	r.expired = true
	r.c.h.Sometimes("persist: a reader noticed that its lease had expired", true)
	return ErrLeaseExpired
}

// DowngradeSince gives up the times before since and returns what the handle holds now, which
// is further on if the handle had given up more already. The shard's since follows when no
// other reader and no critical since needs the times.
func (r *ReadHandle) DowngradeSince(ctx context.Context, since Frontier) (Frontier, error) {
	if err := r.usable(); err != nil {
		return Frontier{}, err
	}
	return r.downgrade(ctx, since)
}

func (r *ReadHandle) downgrade(ctx context.Context, since Frontier) (Frontier, error) {
	var held Frontier
	var ok bool
	s, _, err := r.m.idempotent(ctx, func(next *state, now uint64) (v verdict) {
		held, ok, v = next.downgradeReader(r.id, r.oldestPinned(), since, now)
		return v
	})
	if err != nil {
		return Frontier{}, err
	}
	if !ok {
		if err := r.checkLease(s); err != nil {
			return Frontier{}, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = r.since.Join(held)
	return held, nil
}

// oldestPinned is the oldest version that a snapshot of the handle still fetches blobs of, 0
// when there is none.
func (r *ReadHandle) oldestPinned() SeqNo {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pinned) == 0 {
		return 0
	}
	return slices.Min(slices.Collect(maps.Keys(r.pinned)))
}

func (r *ReadHandle) pin(v SeqNo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pinned[v]++
}

func (r *ReadHandle) unpin(v SeqNo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pinned[v]--; r.pinned[v] == 0 {
		delete(r.pinned, v)
	}
}

// Expire gives up the handle's hold. It can't be used afterwards. The shard's since stays
// until another reader's next downgrade.
func (r *ReadHandle) Expire(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end()
	_, _, err := r.m.idempotent(ctx, func(next *state, _ uint64) verdict {
		_, v := next.expireReader(r.id)
		return v
	})
	return err
}

// Close is Expire that does not wait. If it does not succeed the lease runs out.
func (r *ReadHandle) Close() {
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.mu.Unlock()
	if closed {
		return
	}
	r.end()
	r.c.h.Go("persist expire reader", func() {
		ctx, cancel := r.c.h.Clock().WithTimeout(r.c.life, r.c.cfg.ReaderLease)
		defer cancel()
		if err := r.Expire(ctx); err != nil && r.c.life.Err() == nil {
			r.c.h.Logf("persist: expiring reader %s of %s: %v", r.id, r.m.shard, err)
		}
	})
}
