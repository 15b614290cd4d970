package persist

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// ReadHandle reads a shard. It is registered with the shard and holds two things back, under a
// lease that a task of the client keeps alive: the shard's since, and, by the pins of what is
// being fetched, the deletion of blobs. When the lease ran out all the same (the process was
// paused, or cut off from Consensus), the methods fail with ErrLeaseExpired.
//
// Its methods may be called by several tasks.
type ReadHandle struct {
	c  *Client
	m  *machine
	id ReaderID

	mu    *host.Mutex
	since Frontier
	// wanted is the hold that the next heartbeat or downgrade asks for at least.
	wanted   Frontier
	heard    time.Time // of the latest heartbeat or downgrade that went in
	expired  bool
	closed   bool
	consumed bool          // by a listener
	pinned   map[SeqNo]int // what is being fetched, by the version that refers to it
}

// registration adds a reader of that id, and returns what it holds. A reader that is there
// already keeps its hold.
type registration func(next *state, id ReaderID, now, lease uint64) (Frontier, verdict)

// openReadHandle registers a reader.
func openReadHandle(ctx context.Context, c *Client, m *machine, register registration) (*ReadHandle, error) {
	r := &ReadHandle{
		c: c, m: m, id: ReaderID(newID(c.h, "r")),
		mu: host.NewMutex(c.h, "persist reader of "+string(m.shard)), pinned: map[SeqNo]int{},
		heard: c.h.Clock().Now(),
	}
	lease := uint64(c.cfg.ReaderLease.Milliseconds())
	_, _, err := m.idempotent(ctx, func(next *state, now uint64) (v verdict) {
		r.since, v = register(next, r.id, now, lease)
		return v
	})
	if err != nil {
		return nil, err
	}
	m.attend(r)
	return r, nil
}

// Clone registers another reader of the shard, at the hold of this one, so that what one of
// them gives up is still there for the other. The two know nothing of each other afterwards.
func (r *ReadHandle) Clone(ctx context.Context) (*ReadHandle, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	known := true
	clone, err := openReadHandle(ctx, r.c, r.m, func(next *state, id ReaderID, now, lease uint64) (since Frontier, v verdict) {
		since, known, v = next.cloneReader(r.id, id, now, lease)
		return since, v
	})
	if err != nil || known {
		return clone, err
	}
	clone.abandon()
	s, _ := r.m.state()
	if err := r.checkLease(s); err != nil {
		return nil, err
	}
	return nil, ErrLeaseExpired // of a shard that has become a tombstone just now
}

// Shard is the shard that the handle reads.
func (r *ReadHandle) Shard() ShardID { return r.m.shard }

// Since is the time from which on the handle can read: its own hold.
func (r *ReadHandle) Since() Frontier {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since
}

// usable tells why the handle can't be used, if so.
func (r *ReadHandle) usable() error {
	if err := r.alive(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.consumed {
		return &InvalidUsage{Cause: ErrHandleConsumed}
	}
	return nil
}

// alive tells why neither the handle nor a listener that it was turned into can be used, if so.
func (r *ReadHandle) alive() error {
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
	return r.lost()
}

// lost is the error of a handle that holds nothing any more.
func (r *ReadHandle) lost() error {
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

// MaybeDowngradeSince is DowngradeSince for callers that give up times all the time: it does
// nothing, and returns what the handle holds, unless Config.DowngradeInterval has gone by since
// the shard last heard of the handle.
func (r *ReadHandle) MaybeDowngradeSince(ctx context.Context, since Frontier) (Frontier, error) {
	if err := r.usable(); err != nil {
		return Frontier{}, err
	}
	return r.maybeDowngrade(ctx, since)
}

// want has the next heartbeat downgrade to since.
func (r *ReadHandle) want(since Frontier) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = r.wanted.Join(since)
}

func (r *ReadHandle) maybeDowngrade(ctx context.Context, since Frontier) (Frontier, error) {
	r.mu.Lock()
	held, quiet := r.since, r.c.h.Clock().Now().Sub(r.heard)
	r.mu.Unlock()
	// The clock may have been set back: then the time is not known, and is taken to be over.
	if quiet >= 0 && quiet < r.c.cfg.DowngradeInterval && !r.c.h.Buggify("persist/downgrade at once") {
		return held, nil
	}
	return r.downgrade(ctx, since)
}

func (r *ReadHandle) downgrade(ctx context.Context, since Frontier) (Frontier, error) {
	var held Frontier
	var ok bool
	s, _, err := r.m.idempotent(ctx, func(next *state, now uint64) (v verdict) {
		held, ok, v = next.downgradeReader(r.id, r.oldestNeeded(next.SeqNo-1), since, now)
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
	r.held(held, r.c.h.Clock().Now())
	return held, nil
}

// oldestNeeded is the oldest version whose blobs the handle may still fetch, given that latest
// has been cached: what is pinned later is no older. A downgrade must not hold less than that,
// whenever it takes effect.
func (r *ReadHandle) oldestNeeded(latest SeqNo) SeqNo {
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest := latest
	for v := range r.pinned {
		oldest = min(oldest, v)
	}
	return oldest
}

// pin returns the latest version seen, and keeps its blobs until unpin is called with its
// number. That it is looked up and pinned in one step is what oldestNeeded relies on.
func (r *ReadHandle) pin() *state {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, _ := r.m.state()
	r.pinned[s.SeqNo]++
	return s
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
	r.m.dismiss(r)
	_, _, err := r.m.idempotent(ctx, func(next *state, _ uint64) verdict {
		_, v := next.expireReader(r.id)
		return v
	})
	return err
}

// abandon ends a handle that was never registered.
func (r *ReadHandle) abandon() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.m.dismiss(r)
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
	r.m.dismiss(r)
	r.c.h.Go("persist expire reader", func() {
		ctx, cancel := r.c.h.Clock().WithTimeout(r.c.life, r.c.cfg.ReaderLease)
		defer cancel()
		if err := r.Expire(ctx); err != nil && r.c.life.Err() == nil {
			r.c.h.Logf("persist: expiring reader %s of %s: %v", r.id, r.m.shard, err)
		}
	})
}
