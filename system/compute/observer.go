package compute

import (
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// Observer is told what happens, at the time and by the task that does it: it must not wait, nor call the
// controller. What it is given is not changed afterwards, and must not be.
type Observer interface {
	Observe(Event)
}

// Event is one of the types below.
type Event interface{ event() }

// ReplicaSpawned: a task was started for a replica, under an epoch higher than all before.
type ReplicaSpawned struct {
	Replica protocol.ReplicaID
	Epoch   protocol.Epoch
}

// ReplicaConnected: it has made its connection.
type ReplicaConnected struct {
	Replica protocol.ReplicaID
	Epoch   protocol.Epoch
}

// ReplicaTaskEnded: it has ended, for a reason.
type ReplicaTaskEnded struct {
	Replica protocol.ReplicaID
	Epoch   protocol.Epoch
	Reason  error
}

// ReplicaRemoved: the controller no longer listens to the task of that epoch.
type ReplicaRemoved struct {
	Replica protocol.ReplicaID
	Epoch   protocol.Epoch
}

// CommandSent: a command is handed to the connection.
type CommandSent struct {
	Replica protocol.ReplicaID
	Epoch   protocol.Epoch
	Command protocol.Command
}

// ResponseReceived: a response has come out of the connection.
type ResponseReceived struct {
	Replica  protocol.ReplicaID
	Epoch    protocol.Epoch
	Response protocol.Response
}

// ResponseApplied: the controller takes a response for true. Epoch is that of the task it came from.
type ResponseApplied struct {
	Replica  protocol.ReplicaID
	Epoch    protocol.Epoch
	Response protocol.Response
}

// Commanded: a command for all replicas was added to the history.
type Commanded struct{ Command protocol.Command }

// CollectionCreated: a collection has come into being.
type CollectionCreated struct {
	Dataflow *protocol.Dataflow
}

// CollectionDropped: the caller has no use for it any more.
type CollectionDropped struct{ ID protocol.GlobalID }

// CollectionRemoved: nothing of it is left, on any replica.
type CollectionRemoved struct{ ID protocol.GlobalID }

// FrontierAdvanced: a collection is written up to a frontier by some replica.
type FrontierAdvanced struct {
	ID    protocol.GlobalID
	Write protocol.Frontier
}

// SinceAdvanced: a collection can be read only from a frontier on.
type SinceAdvanced struct {
	ID    protocol.GlobalID
	Since protocol.Frontier
}

// ShardSinceAdvanced: nobody holds a shard before a frontier any more; its since is about to follow.
type ShardSinceAdvanced struct {
	Shard persist.ShardID
	Since protocol.Frontier
}

// PeekBegun: a peek was taken.
type PeekBegun struct {
	ID        protocol.PeekID
	Target    protocol.GlobalID
	Timestamp uint64
}

// PeekEnded: its caller was given the one answer. Err is nil if it has rows.
type PeekEnded struct {
	ID   protocol.PeekID
	Rows int
	Err  error
}

// SubscribeAdvanced: a subscription was given a batch.
type SubscribeAdvanced struct {
	ID    protocol.GlobalID
	Batch *protocol.SubscribeBatch
}

// Fenced: another controller has taken over.
type Fenced struct{ Incarnation int64 }

func (ReplicaSpawned) event()     {}
func (ReplicaConnected) event()   {}
func (ReplicaTaskEnded) event()   {}
func (ReplicaRemoved) event()     {}
func (CommandSent) event()        {}
func (ResponseReceived) event()   {}
func (ResponseApplied) event()    {}
func (Commanded) event()          {}
func (CollectionCreated) event()  {}
func (CollectionDropped) event()  {}
func (CollectionRemoved) event()  {}
func (FrontierAdvanced) event()   {}
func (SinceAdvanced) event()      {}
func (ShardSinceAdvanced) event() {}
func (PeekBegun) event()          {}
func (PeekEnded) event()          {}
func (SubscribeAdvanced) event()  {}
func (Fenced) event()             {}

// nobody is the observer that does nothing.
type nobody struct{}

func (nobody) Observe(Event) {}
