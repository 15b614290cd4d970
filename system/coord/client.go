package coord

import (
	"context"
	"time"
)

// Client is the service as one process sees it. All methods may be called by several tasks, and fail
// as described at [ErrNotDone], besides with the errors that they name.
type Client interface {
	KV
	Leases
	Watches
}

// KV is the store of keys.
type KV interface {
	// Range returns the keys as they are at the revision, 0 for now: with every write in that was
	// acknowledged before the call. It fails with *CompactedError or ErrFutureRevision.
	Range(ctx context.Context, keys Keys, at Revision) (Snapshot, error)
	// Txn executes a transaction. It fails with ErrInvalid, or with ErrNoLease when it would put a
	// key under a lease that is gone.
	Txn(ctx context.Context, t Txn) (TxnResult, error)
	// Compact gives up the history before the revision. It fails with ErrFutureRevision;
	// what was compacted already is no error.
	Compact(ctx context.Context, before Revision) error
}

// Leases are what keys live under.
type Leases interface {
	// Grant makes a lease, of which the caller chooses the id, at random, so that the call can be
	// repeated. It fails with ErrInvalid for an id or ttl that is not above 0. The id of a
	// lease that exists is that lease's: nothing happens.
	Grant(ctx context.Context, id LeaseID, ttl time.Duration) error
	// KeepAlive gives the lease its whole time to live again, from a time during the call on. It
	// fails with ErrNoLease.
	KeepAlive(ctx context.Context, id LeaseID) error
	// Revoke ends the lease and deletes its keys. One that is gone is no error.
	Revoke(ctx context.Context, id LeaseID) error
	// Lease describes a lease. It fails with ErrNoLease.
	Lease(ctx context.Context, id LeaseID) (LeaseInfo, error)
}

// Watches tell of changes.
type Watches interface {
	// Watch begins a watch of the keys with the changes of the revision from, 0 for those to come.
	// It does not wait, and must be closed.
	Watch(keys Keys, from Revision) Watcher
}

// Watcher is one watch. It is used by one task.
type Watcher interface {
	// Next waits for changes and returns them in the order of their revisions, and within one of
	// their keys; the changes of a revision come together. It fails with *CompactedError, for ever
	// then, or with ctx's error, after which it can be called again; nothing is lost. Whether the
	// service can't be reached does not show: it goes on when it can. When the client is closed it fails
	// with rpc.ErrClosed.
	Next(ctx context.Context) ([]Event, error)
	// Close ends the watch.
	Close()
}

// ReadKey returns one key as it is now.
func ReadKey(ctx context.Context, c KV, key string) (kv KeyValue, ok bool, err error) {
	s, err := c.Range(ctx, One(key), 0)
	if err != nil || len(s.KVs) == 0 {
		return KeyValue{}, false, err
	}
	return s.KVs[0], true, nil
}

// Write executes operations without a condition, and returns the revision.
func Write(ctx context.Context, c KV, ops ...Op) (Revision, error) {
	r, err := c.Txn(ctx, Txn{Then: ops})
	return r.Revision, err
}
