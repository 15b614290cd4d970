package coord

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/host"
)

// Observation follows an election from outside.
type Observation struct {
	h       host.Host
	c       Client
	prefix  string
	watcher Watcher // nil: the keys have to be read anew
	keys    map[string]KeyValue
	last    Leader
	told    bool
}

// Observe begins to follow the election of that prefix.
func Observe(h host.Host, c Client, prefix string) *Observation {
	return &Observation{h: h, c: c, prefix: prefix}
}

// Next waits until somebody leads, or what is known of the leader is no longer so: another leads, or
// the same with another value. It fails with ctx's error. Leaders that came and went in between may be
// left out.
func (o *Observation) Next(ctx context.Context) (Leader, error) {
	wait := backoff{h: o.h}
	for {
		if o.watcher == nil {
			s, err := o.c.Range(ctx, Prefix(o.prefix), 0)
			switch {
			case ctx.Err() != nil:
				return Leader{}, ctx.Err()
			case err != nil && !passing(err):
				return Leader{}, err
			case err != nil:
				_ = wait.wait(ctx)
				continue
			}
			o.keys = map[string]KeyValue{}
			for _, kv := range s.KVs {
				o.keys[kv.Key] = kv
			}
			o.watcher = o.c.Watch(Prefix(o.prefix), s.Revision+1)
		}
		if leader, ok := o.leader(); ok && (!o.told || leader != o.last) {
			o.last, o.told = leader, true
			return leader, nil
		}
		events, err := o.watcher.Next(ctx)
		if errors.Is(err, ErrCompacted) {
			o.Close()
			continue
		}
		if err != nil {
			return Leader{}, err
		}
		for _, e := range events {
			if e.Deleted() {
				delete(o.keys, e.Key)
			} else {
				o.keys[e.Key] = e.KeyValue
			}
		}
	}
}

func (o *Observation) leader() (Leader, bool) {
	kvs := make([]KeyValue, 0, len(o.keys))
	for _, key := range slices.Sorted(maps.Keys(o.keys)) {
		kvs = append(kvs, o.keys[key])
	}
	return LeaderIn(kvs, o.prefix)
}

// Close ends the observation. It may be taken up again with Next.
func (o *Observation) Close() {
	if o.watcher != nil {
		o.watcher.Close()
		o.watcher = nil
	}
}
