package coord

import (
	"fmt"
	"time"
)

type (
	// Revision numbers the states of the whole store. The empty store is at 1, and every command
	// that changes a key makes the next one. 0 is no revision.
	Revision uint64
	// LeaseID names a lease. 0 is no lease.
	LeaseID uint64
)

// KeyValue is a key as it is at some revision.
type KeyValue struct {
	_     struct{} `cbor:",toarray"`
	Key   string
	Value string
	// CreateRevision is when the key came into being, the last time if it was deleted in between.
	CreateRevision Revision
	// ModRevision is when it was last put.
	ModRevision Revision
	// Version counts the puts since it came into being, from 1. It is 0 for a key that was deleted.
	Version uint64
	// Lease is the lease that the key is deleted with.
	Lease LeaseID
}

// Event is a change of one key.
type Event struct {
	_ struct{} `cbor:",toarray"`
	// KeyValue is the key as it is after the change. Of one that was deleted only Key and
	// ModRevision are set; the latter is when it was deleted.
	KeyValue
}

// Deleted tells whether the key was deleted. Otherwise it was put.
func (e Event) Deleted() bool { return e.Version == 0 }

func (e Event) String() string {
	if e.Deleted() {
		return fmt.Sprintf("%d: delete %q", e.ModRevision, e.Key)
	}
	return fmt.Sprintf("%d: put %q = %q", e.ModRevision, e.Key, e.Value)
}

// Snapshot is some keys as they are at a revision.
type Snapshot struct {
	_ struct{} `cbor:",toarray"`
	// Revision is the store's revision when it was read, or the one that was asked for.
	Revision Revision
	// KVs are the keys that exist, sorted.
	KVs []KeyValue
}

// Get returns the key's entry.
func (s Snapshot) Get(key string) (kv KeyValue, ok bool) {
	for _, kv := range s.KVs {
		if kv.Key == key {
			return kv, true
		}
	}
	return KeyValue{}, false
}

// LeaseInfo describes a lease.
type LeaseInfo struct {
	_ struct{} `cbor:",toarray"`
	// TTL is the time to live that it was granted with.
	TTL time.Duration
	// Remaining is for how long it lives unless it is kept alive, by the server's clock.
	Remaining time.Duration
	// Keys are the keys under it, sorted.
	Keys []string
}
