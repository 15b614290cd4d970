package flow

import (
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// FlowRequest asks for one of three things.
type FlowRequest struct {
	Create *CreateFlowArgs `cbor:"1,keyasint,omitempty"`
	Drop   *DropFlow       `cbor:"2,keyasint,omitempty"`
	Flush  *FlushFlow      `cbor:"3,keyasint,omitempty"`
}

// CreateFlowArgs say what flow to create. Revision is that of its definition: a request for one that the
// manager has, or has a later one of, has been carried out already.
type CreateFlowArgs struct {
	_        struct{} `cbor:",toarray"`
	ID       catalog.FlowID
	Revision uint64
	Name     catalog.Name
	Sink     catalog.Name
	// Earlier are sinks of its earlier definitions into which something may be on its way yet, of an earlier
	// life of the node.
	Earlier []catalog.Name
	// Sources is the table that it reads.
	Sources []catalog.TableID
	// CreateIfNotExists: if the flow exists there is nothing to do. OrReplace: it is replaced.
	CreateIfNotExists bool
	OrReplace         bool
	// ExpireAfter is in seconds, or [catalog.NoExpiry].
	ExpireAfter int64
	Comment     string
	// SQL is the text of the SELECT.
	SQL string
}

// ArgsOf are the arguments that make a flow as the catalog has it, whatever is there already.
func ArgsOf(f *catalog.Flow) CreateFlowArgs {
	return CreateFlowArgs{
		ID: f.ID, Revision: f.Revision, Name: f.Name, Sink: f.Sink, Earlier: f.Earlier, Sources: f.Sources, CreateIfNotExists: true, OrReplace: true,
		ExpireAfter: f.ExpireAfter, Comment: f.Comment, SQL: f.Query,
	}
}

// DropFlow asks for the removal of a flow. Revision is that of the catalog without it, Sink where its
// results went, and Earlier where they went as it was defined before.
type DropFlow struct {
	_        struct{} `cbor:",toarray"`
	ID       catalog.FlowID
	Revision uint64
	Sink     catalog.Name
	Earlier  []catalog.Name
}

// FlushFlow asks that all that was inserted before be in the sinks. Revision is that of the flow's definition
// which whoever asks knows of.
type FlushFlow struct {
	_        struct{} `cbor:",toarray"`
	ID       catalog.FlowID
	Revision uint64
}

// FlowResponse is the answer.
type FlowResponse struct {
	_ struct{} `cbor:",toarray"`
	// Affected are the flows that were created, or flushed.
	Affected []catalog.FlowID
	// Rows is how many rows a flush has written.
	Rows int
}

// InsertRequests are what frontends mirror to the flow nodes: changes of tables.
type InsertRequests struct {
	_        struct{} `cbor:",toarray"`
	Requests []InsertRequest
}

// InsertRequest is one change of a table.
type InsertRequest struct {
	_      struct{} `cbor:",toarray"`
	Region RegionID
	// Seq is the sequence number of the change in the table.
	Seq uint64
	// Columns and Rows are what was inserted, as the statement named it: columns may be left out that
	// have a default or may be NULL, and stand in any order.
	Columns []string
	Rows    []dataflow.Row
	// Retracted are the rows that went, in the order of the table's columns.
	Retracted []dataflow.Row
}

// FlowStat is a state report: of each flow, how much it holds in memory and the tick of its last run,
// if there was one.
type FlowStat struct {
	_           struct{} `cbor:",toarray"`
	StateBytes  map[catalog.FlowID]int
	LastRunTick map[catalog.FlowID]int64
}
