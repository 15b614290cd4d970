package scenarios

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// flakiness is how the calls of one machine's clients to Blob and Consensus fail.
type flakiness struct {
	w           *sim.World
	calls       *sim.Stream
	share, told int // parts per million; see the fault persist.indeterminate
	// How many faults persist.unavailable are in force, by store.
	blobDown, consensusDown int
	hung                    []*hungShards
}

// hungShards are shards, by the beginning of their names, of which calls to Consensus hang until a time.
type hungShards struct {
	prefix string
	until  time.Duration
}

// hangs tells whether calls to Consensus about a shard hang.
func (f *flakiness) hangs(shard string) bool {
	f.hung = slices.DeleteFunc(f.hung, func(h *hungShards) bool { return f.w.Now() >= h.until })
	return slices.ContainsFunc(f.hung, func(h *hungShards) bool { return strings.HasPrefix(shard, h.prefix) })
}

// answerTimeout is how long a call to a store waits for an answer.
const answerTimeout = time.Second

// outage waits while down, as a call does that nobody answers, and tells whether it gave up.
func outage(ctx context.Context, h host.Host, down func() bool) (gaveUp bool) {
	for waited := time.Duration(0); down(); waited += poll {
		if waited >= answerTimeout || ctx.Err() != nil {
			return true
		}
		h.Clock().Sleep(poll)
	}
	return false
}

var errInjected = errors.New("connection lost")

// fate is what becomes of a call.
type fate int

const (
	fateNormal  fate = iota
	fateRefused      // not executed, and the caller is told so
	fateLost         // not executed, and the caller is not told
	fateSilent       // executed, and the caller is not told
	fateLate         // executed some time after the caller was told that nobody knows
)

// next decides the fate of a call: one word of the stream each, whether or not the fault is in
// force, so that no call's fate depends on those before it.
func (f *flakiness) next() (fate, time.Duration) {
	word := f.calls.Uint64()
	part := func(salt string) *sim.Stream { return sim.NewStream(word, salt) }
	if !part("fails").PerMillion(f.share) {
		return fateNormal, 0
	}
	if part("told").PerMillion(f.told) {
		return fateRefused, 0
	}
	switch part("executed").N(4) {
	case 0, 1:
		return fateLost, 0
	case 2:
		return fateSilent, 0
	default:
		return fateLate, time.Duration(part("late").Between(int64(time.Millisecond), int64(3*time.Second)))
	}
}

// apply does a call to a store, or not, as its fate is. A call that changes nothing is executed or
// refused; when is of no matter.
func apply[T any](ctx context.Context, h host.Host, f *flakiness, down *int, op, key string, reads bool, call func(context.Context) (T, error)) (T, error) {
	what, delay := f.next()
	var zero T
	fail := func(kind error) (T, error) {
		return zero, &persist.StoreError{Op: op, Key: key, Kind: kind, Err: errInjected}
	}
	if outage(ctx, h, func() bool { return *down > 0 || down == &f.consensusDown && f.hangs(key) }) {
		return fail(persist.ErrIndeterminate)
	}
	switch what {
	case fateNormal:
		return call(ctx)
	case fateRefused:
		return fail(persist.ErrDeterminate)
	case fateSilent:
		if _, err := call(ctx); err != nil {
			return zero, err
		}
	case fateLate:
		if !reads {
			h.Go("late "+op, func() {
				h.Clock().Sleep(delay)
				late, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
				defer cancel()
				_, _ = call(late)
			})
		}
	}
	return fail(persist.ErrIndeterminate)
}

type flakyConsensus struct {
	persist.Consensus
	h host.Host
	f *flakiness
}

func (c *flakyConsensus) Head(ctx context.Context, key string) (persist.Versioned, error) {
	return apply(ctx, c.h, c.f, &c.f.consensusDown, "head", key, true, func(ctx context.Context) (persist.Versioned, error) {
		return c.Consensus.Head(ctx, key)
	})
}

func (c *flakyConsensus) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	return apply(ctx, c.h, c.f, &c.f.consensusDown, "compare-and-set", key, false, func(ctx context.Context) (bool, error) {
		return c.Consensus.CompareAndSet(ctx, key, expected, next)
	})
}

func (c *flakyConsensus) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) ([]persist.Versioned, error) {
	return apply(ctx, c.h, c.f, &c.f.consensusDown, "scan", key, true, func(ctx context.Context) ([]persist.Versioned, error) {
		return c.Consensus.Scan(ctx, key, from, limit)
	})
}

func (c *flakyConsensus) Truncate(ctx context.Context, key string, seqno persist.SeqNo) (int, error) {
	return apply(ctx, c.h, c.f, &c.f.consensusDown, "truncate", key, false, func(ctx context.Context) (int, error) {
		return c.Consensus.Truncate(ctx, key, seqno)
	})
}

type flakyBlob struct {
	persist.Blob
	h host.Host
	f *flakiness
}

func (b *flakyBlob) Set(ctx context.Context, key string, value []byte) error {
	_, err := apply(ctx, b.h, b.f, &b.f.blobDown, "set", key, false, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.Blob.Set(ctx, key, value)
	})
	return err
}

type blobValue struct {
	value []byte
	ok    bool
}

func (b *flakyBlob) Get(ctx context.Context, key string) ([]byte, bool, error) {
	v, err := apply(ctx, b.h, b.f, &b.f.blobDown, "get", key, true, func(ctx context.Context) (blobValue, error) {
		value, ok, err := b.Blob.Get(ctx, key)
		return blobValue{value, ok}, err
	})
	return v.value, v.ok, err
}

type deleted struct {
	size    int64
	existed bool
}

func (b *flakyBlob) Delete(ctx context.Context, key string) (int64, bool, error) {
	d, err := apply(ctx, b.h, b.f, &b.f.blobDown, "delete", key, false, func(ctx context.Context) (deleted, error) {
		size, existed, err := b.Blob.Delete(ctx, key)
		return deleted{size, existed}, err
	})
	return d.size, d.existed, err
}
