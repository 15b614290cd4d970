package cdc

import (
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord"
)

// message is what owner and agents tell each other about a changefeed: one of the pointers is set.
type message struct {
	_    struct{} `cbor:",toarray"`
	Feed model.ChangeFeedID
	// Incarnation is that of the changefeed: another one of the same id is none of the receiver's business.
	Incarnation coord.Revision
	// Epoch is that of the owner that sends it, or that it is meant for.
	Epoch coord.Revision
	// Sync is the number of the Sync since which it counts; of a Sync its own, of an announcement none.
	Sync uint64

	Dispatch *dispatch
	Announce *announce
	Statuses *statuses
	Finished *finished
	Report   *report
}

// dispatch tells an agent to add or remove a key span.
type dispatch struct {
	_       struct{} `cbor:",toarray"`
	Span    model.KeySpanID
	Remove  bool
	StartTs model.Ts
}

// announce asks an agent for its statuses.
type announce struct {
	_ struct{} `cbor:",toarray"`
}

// statuses tells an owner all that a capture replicates.
type statuses struct {
	_ struct{} `cbor:",toarray"`

	Running, Adding, Removing []model.KeySpanID
}

// finished tells an owner that what it dispatched is done.
type finished struct {
	_    struct{} `cbor:",toarray"`
	Span model.KeySpanID
}

// report tells an owner how far a capture is.
type report struct {
	_            struct{} `cbor:",toarray"`
	CheckpointTs model.Ts
	ResolvedTs   model.Ts
}
