package protocol

import "github.com/simrun-dev/simrun/system/dataflow"

// Response is what a replica tells a controller: one of the types below.
type Response interface{ response() }

// Frontiers says how far a collection is. A replica sends it for indexes and shards whenever one of the three
// has advanced. None is before the dataflow's AsOf, none goes back, and in the end all are empty.
type Frontiers struct {
	ID GlobalID
	// Write: the contents before it are there to be read and don't change.
	Write Frontier
	// Input: the replica has read its inputs up to it.
	Input Frontier
	// Output: it is computed up to there, if perhaps not written.
	Output Frontier
}

// PeekResponse answers a peek: with rows, with an error, or that it was cancelled.
type PeekResponse struct {
	ID       PeekID
	Rows     []dataflow.RowCount
	Error    string
	Canceled bool
}

// SubscribeResponse is a batch, or that there will be no more from the subscribe.
type SubscribeResponse struct {
	ID    GlobalID
	Batch *SubscribeBatch
	// DroppedAt is the upper of the last batch, when the subscribe was dropped before its end.
	DroppedAt *Frontier
	// Error is why there will be no more batches, though the subscribe was not dropped. It is to be.
	Error string `cbor:",omitempty"`
}

// SubscribeBatch is a subscribe's output of the times in [Lower, Upper). The first one's Lower is the
// frontier of the minimal time, each other's is the Upper of the one before.
type SubscribeBatch struct {
	Lower, Upper Frontier
	Updates      []dataflow.Update
	Errors       []dataflow.ErrorUpdate
}

// Status is for whoever looks at a replica. Nothing depends on it.
type Status struct {
	ID GlobalID
	// Worker is whose share of the collection it is about, of the replica's workers.
	Worker int
	// Hydrated: the collection is computed beyond its dataflow's AsOf.
	Hydrated bool
	// Records and Bytes are an estimate of what it holds in memory.
	Records, Bytes int
}

func (Frontiers) response()         {}
func (PeekResponse) response()      {}
func (SubscribeResponse) response() {}
func (Status) response()            {}
