package compute

import (
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/compute/protocol"
)

var (
	// ErrClosed: the controller was closed.
	ErrClosed = errors.New("compute: the controller was closed")
	// ErrFenced: a controller of a higher incarnation has taken over.
	ErrFenced = errors.New("compute: another controller has taken over")
	// ErrReplicaExists: the instance has a replica of that id.
	ErrReplicaExists = errors.New("compute: there is a replica of that id already; drop it first")
	// ErrUnknownReplica: the instance has none of that id.
	ErrUnknownReplica = errors.New("compute: there is no replica of that id")
	// ErrCollectionExists: a collection of that id was created before. Ids are not used again.
	ErrCollectionExists = errors.New("compute: there is a collection of that id already; choose another id")
	// ErrUnknownCollection: there is none of that id, or it was dropped.
	ErrUnknownCollection = errors.New("compute: there is no collection of that id")
	// ErrNotReadable: the collection is a subscribe, which only its Subscription tells of.
	ErrNotReadable = errors.New("compute: a subscribe can't be read; use its Subscription")
	// ErrNoLog: the replica has not told anything of itself on its present connection.
	ErrNoLog = errors.New("compute: the replica has no logs yet; set ReplicaConfig.Logging, and wait until it is connected")
	// ErrReplicaLost: the replica that alone was asked was dropped, or its connection has ended.
	ErrReplicaLost = errors.New("compute: the replica that was asked was dropped, or its connection has ended")
	// ErrCanceled: the peek was cancelled.
	ErrCanceled = errors.New("compute: the peek was cancelled")
	// ErrDropped: the subscribe was dropped before its end.
	ErrDropped = errors.New("compute: the subscribe was dropped")
	// ErrFellBehind: batches were taken so slowly that more of them waited than [Config.SubscribeBacklog].
	ErrFellBehind = errors.New("compute: the subscription has ended, as too much of it waited to be taken; take batches faster and subscribe again, or raise Config.SubscribeBacklog")
	// ErrNoKey: what is written to a shard can't be looked up.
	ErrNoKey = errors.New("compute: a collection that is written to a shard has no key; restrict the peek by a plan")
	// ErrPolicy: a collection that nobody reads has no read policy.
	ErrPolicy = errors.New("compute: a collection that is written to a shard or subscribed to has no read policy of its own")
)

// SinceError says that a collection can't be read as of a time any more.
type SinceError struct {
	// Collection is its id, or the name of a shard.
	Collection string
	AsOf       protocol.Frontier
	Since      protocol.Frontier
}

func (e *SinceError) Error() string {
	return fmt.Sprintf("compute: %s cannot be read as of %v, its since is %v; choose a later time, or hold the since back", e.Collection, e.AsOf, e.Since)
}

// SinkError says that a dataflow can't go on where the shard of its sink ends, because it would begin later.
type SinkError struct{ AsOf, Upper protocol.Frontier }

func (e *SinkError) Error() string {
	return fmt.Sprintf("compute: a dataflow as of %v leaves a gap behind the upper %v of its sink's shard", e.AsOf, e.Upper)
}

// SubscribeError is why a replica could not go on with a subscribe: a batch was too long, or too many waited to be sent.
type SubscribeError struct{ Message string }

func (e *SubscribeError) Error() string { return "compute: subscribe: " + e.Message }

// PeekError is a replica's answer to a peek that it can't tell the rows of.
type PeekError struct{ Message string }

func (e *PeekError) Error() string { return "compute: peek: " + e.Message }
