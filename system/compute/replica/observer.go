package replica

import (
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// Observer is told what happens, at the time and by the task that does it: it must not wait, nor call the
// server. What it is given is not changed afterwards, and must not be.
type Observer interface {
	Observe(Event)
}

// Event is one of the types below. Epoch is that of the connection that it happened on.
type Event interface{ event() }

// Accepted: a controller's connection is the one that counts from now on.
type Accepted struct{ Epoch protocol.Epoch }

// Refused: a controller came with an epoch that is not higher than all before.
type Refused struct{ Epoch, Seen protocol.Epoch }

// Reconciled: a connection's initialisation is complete.
type Reconciled struct {
	Epoch protocol.Epoch
	// Retained, Dropped and Created are the dataflows that went on, ended and began.
	Retained, Dropped, Created []protocol.GlobalID
}

// Rendered: a dataflow begins to run, or goes on under a new AsOf.
type Rendered struct {
	Epoch protocol.Epoch
	ID    protocol.GlobalID
	AsOf  protocol.Frontier
}

// Scheduled: a dataflow may run. Transient ones don't count among those that hydrate.
type Scheduled struct {
	Epoch     protocol.Epoch
	ID        protocol.GlobalID
	Transient bool
}

// Discarded: a dataflow is not wanted any more.
type Discarded struct {
	Epoch protocol.Epoch
	ID    protocol.GlobalID
}

// ReadRefused: what a dataflow or a peek reads can't be read as of its time any more. A dataflow stands still
// from here on; a peek is answered with an error.
type ReadRefused struct {
	Epoch protocol.Epoch
	ID    protocol.GlobalID // the dataflow's; 0 for a peek
	Peek  protocol.PeekID   // the peek's; "" for a dataflow
	From  string            // the shard or index
	AsOf  uint64
	Since protocol.Frontier
}

// Appending: an append to a sink's shard begins.
type Appending struct {
	ID           protocol.GlobalID
	Shard        persist.ShardID
	Lower, Upper protocol.Frontier
	// Allowed is whether the replica was told that it may write.
	Allowed bool
}

// Sent: a response was handed to the connection.
type Sent struct {
	Epoch    protocol.Epoch
	Response protocol.Response
}

// Halted: the replica has forgotten everything, as if its process had been started anew.
type Halted struct{ Reason string }

func (Accepted) event()    {}
func (Refused) event()     {}
func (Reconciled) event()  {}
func (Rendered) event()    {}
func (Scheduled) event()   {}
func (Discarded) event()   {}
func (ReadRefused) event() {}
func (Appending) event()   {}
func (Sent) event()        {}
func (Halted) event()      {}

// nobody is the observer that does nothing.
type nobody struct{}

func (nobody) Observe(Event) {}
