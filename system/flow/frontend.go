package flow

import (
	"context"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// TableMeta tells what tables there are. It is asked afresh each time: definitions are not kept.
type TableMeta interface {
	// Table and TableByID fail with [*catalog.NotFoundError], or say nothing about the table.
	Table(ctx context.Context, name catalog.Name) (*catalog.Table, error)
	TableByID(ctx context.Context, id catalog.TableID) (*catalog.Table, error)
}

// FlowMeta tells what flows there are.
type FlowMeta interface {
	// Flows are the flows of all nodes as of a revision.
	Flows(ctx context.Context) (flows []*catalog.Flow, revision uint64, err error)
	// Enlist begins a life of a node and returns its number, greater than those of all lives before it.
	Enlist(ctx context.Context, node string) (epoch uint64, err error)
}

// FrontendInvoker is how the manager gets at tables: it reads sources, and writes sinks.
type FrontendInvoker interface {
	// CreateTable creates a table; created is false if it exists.
	CreateTable(ctx context.Context, t catalog.Table) (created bool, err error)
	// Upper is the sequence number that a table's next change will have. It reflects every change that
	// was acknowledged before the call.
	Upper(ctx context.Context, id catalog.TableID) (uint64, error)
	// Snapshot is what a table holds, and the sequence number of the first change that is not in it.
	Snapshot(ctx context.Context, id catalog.TableID) (rows []dataflow.RowCount, upper uint64, err error)
	// Changes are a table's changes from a sequence number on, as far as there are any. It fails with
	// [relation.ErrForgotten] if they are not known any more.
	Changes(ctx context.Context, id catalog.TableID, from uint64) ([]Batch, error)
	// Write changes a sink, once for each stamp: one that is not later than the latest of its writer
	// does nothing. It fails with [ErrInvalidInsert] if the rows do not fit, and with [ErrTableNotFound];
	// any other error leaves open whether it took effect, or will.
	Write(ctx context.Context, w WriteRequest) error
}

// WriteRequest changes a sink: all of it, or nothing.
type WriteRequest struct {
	_     struct{} `cbor:",toarray"`
	Table catalog.TableID
	Stamp Stamp
	// Requests are in the order in which they take effect. Rows to insert have all the sink's columns;
	// of those to delete, the columns of its key, unless they are whole.
	Requests []DiffRequest
}

// Stamp orders what a writer asks of a table.
type Stamp struct {
	_      struct{} `cbor:",toarray"`
	Writer string
	// Epoch is the writer's life, N counts its requests to the sink.
	Epoch, N uint64
}

// After tells whether s is later than t, both of one writer.
func (s Stamp) After(t Stamp) bool {
	return s.Epoch > t.Epoch || s.Epoch == t.Epoch && s.N > t.N
}
