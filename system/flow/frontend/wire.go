package frontend

import (
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Port is where a frontend answers.
const Port = "frontend"

// The methods of a frontend.
const (
	methodSQL         rpc.Method[string, sqlReply]                = "frontend/sql"
	methodTable       rpc.Method[catalog.Name, *catalog.Table]    = "frontend/table"
	methodTableByID   rpc.Method[catalog.TableID, *catalog.Table] = "frontend/table-by-id"
	methodFlows       rpc.Method[struct{}, flowsReply]            = "frontend/flows"
	methodEnlist      rpc.Method[string, uint64]                  = "frontend/enlist"
	methodCreateTable rpc.Method[catalog.Table, bool]             = "frontend/create-table"
	methodUpper       rpc.Method[catalog.TableID, uint64]         = "frontend/upper"
	methodSnapshot    rpc.Method[catalog.TableID, snapshotReply]  = "frontend/snapshot"
	methodChanges     rpc.Method[changesRequest, []flow.Batch]    = "frontend/changes"
	methodWrite       rpc.Method[flow.WriteRequest, struct{}]     = "frontend/write"
)

// sqlReply has the results before the statement that failed, if one did.
type sqlReply struct {
	_       struct{} `cbor:",toarray"`
	Results []Result
	Code    string // of the error, "" if there is none
	Message string
}

type flowsReply struct {
	_        struct{} `cbor:",toarray"`
	Flows    []*catalog.Flow
	Revision uint64
}

type snapshotReply struct {
	_     struct{} `cbor:",toarray"`
	Rows  []dataflow.RowCount
	Upper uint64
}

type changesRequest struct {
	_     struct{} `cbor:",toarray"`
	Table catalog.TableID
	From  uint64
}
