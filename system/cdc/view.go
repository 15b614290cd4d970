package cdc

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// view follows what the coordination service holds. It may lag behind, never go back.
type view struct {
	h host.Host
	c coord.Client
	// left is called with the keys that were deleted, or turn out to be gone, as of a revision.
	left func(key string, at coord.Revision)

	mu      *host.Mutex
	kvs     map[string]coord.KeyValue
	at      coord.Revision // 0 before the first reading
	current *picture       // of kvs; nil when it has to be made
}

func newView(h host.Host, c coord.Client, left func(string, coord.Revision)) *view {
	return &view{h: h, c: c, left: left, mu: host.NewMutex(h, "cdc view"), kvs: map[string]coord.KeyValue{}}
}

// get returns the picture, nil before there is one.
func (v *view) get() *picture {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.at == 0 {
		return nil
	}
	if v.current == nil {
		kvs := make([]coord.KeyValue, 0, len(v.kvs))
		for _, key := range slices.Sorted(maps.Keys(v.kvs)) {
			kvs = append(kvs, v.kvs[key])
		}
		var bad []string
		v.current, bad = pictureOf(kvs, v.at)
		for _, key := range bad {
			v.h.Logf("cdc: the value of %s can't be read", key)
		}
	}
	return v.current
}

// run is the task that follows, until ctx ends.
func (v *view) run(ctx context.Context) {
	for ctx.Err() == nil {
		s, err := v.c.Range(ctx, coord.Prefix(Root), 0)
		if err != nil {
			_ = host.Sleep(ctx, v.h, 100*time.Millisecond)
			continue
		}
		v.replace(s)
		v.follow(ctx, s.Revision+1)
	}
}

// replace takes over a snapshot.
func (v *view) replace(s coord.Snapshot) {
	v.mu.Lock()
	var gone []string
	fresh := map[string]coord.KeyValue{}
	for _, kv := range s.KVs {
		fresh[kv.Key] = kv
	}
	for key := range v.kvs {
		if _, ok := fresh[key]; !ok {
			gone = append(gone, key)
		}
	}
	v.kvs, v.at, v.current = fresh, s.Revision, nil
	v.mu.Unlock()
	slices.Sort(gone)
	for _, key := range gone {
		v.left(key, s.Revision)
	}
}

// follow watches from a revision on, until that can't go on.
func (v *view) follow(ctx context.Context, from coord.Revision) {
	w := v.c.Watch(coord.Prefix(Root), from)
	defer w.Close()
	for {
		events, err := w.Next(ctx)
		if err != nil {
			v.h.Sometimes("cdc: a view had to be read anew", errors.Is(err, coord.ErrCompacted))
			return
		}
		if v.h.Buggify("cdc/the view lags") {
			_ = host.Sleep(ctx, v.h, time.Duration(v.h.Rand().Int64N(int64(2*time.Second))))
		}
		v.mu.Lock()
		for _, e := range events {
			if e.Deleted() {
				delete(v.kvs, e.Key)
			} else {
				v.kvs[e.Key] = e.KeyValue
			}
			v.at = e.ModRevision
		}
		v.current = nil
		v.mu.Unlock()
		for _, e := range events {
			if e.Deleted() {
				v.left(e.Key, e.ModRevision)
			}
		}
	}
}
