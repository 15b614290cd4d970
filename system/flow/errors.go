package flow

import (
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/rpc"
	"github.com/simrun-dev/simrun/system/sql"
)

// Errors of the manager. They travel: the other side of a connection knows them by errors.Is.
var (
	// ErrFlowExists: there is a flow of that id, and neither is it to be replaced nor left alone.
	ErrFlowExists = &rpc.Error{Code: "flow/exists", Message: "the flow exists already"}
	// ErrFlowNotFound: there is no flow of that id on the node.
	ErrFlowNotFound = &rpc.Error{Code: "flow/no-flow", Message: "there is no such flow on this node"}
	// ErrTableNotFound: there is no such table, or no flow on this node reads it.
	ErrTableNotFound = &rpc.Error{Code: "flow/no-table", Message: "there is no such table"}
	// ErrInvalidQuery: the query makes no sense, or its result does not fit the sink.
	ErrInvalidQuery = &rpc.Error{Code: "flow/invalid-query", Message: "invalid query"}
	// ErrUnsupported: the query has what the planner can't do.
	ErrUnsupported = &rpc.Error{Code: "flow/unsupported", Message: "not supported"}
	// ErrInvalidInsert: rows do not fit their table.
	ErrInvalidInsert = &rpc.Error{Code: "flow/invalid-insert", Message: "invalid insert"}
	// ErrSuperseded: a later request about the flow has been carried out.
	ErrSuperseded = &rpc.Error{Code: "flow/superseded", Message: "the flow was dropped or replaced later"}
	// ErrNoFrontend: no frontend is known yet, or the manager is shut down.
	ErrNoFrontend = &rpc.Error{Code: "flow/no-frontend", Message: "no frontend is known"}
	// ErrInternal: a worker is gone.
	ErrInternal = &rpc.Error{Code: "flow/internal", Message: "internal error"}
	// ErrUndelivered: results could not be written to their sinks yet.
	ErrUndelivered = &rpc.Error{Code: "flow/undelivered", Message: "results are not written yet"}
	// ErrNotCaughtUp: what was inserted could not be fetched yet.
	ErrNotCaughtUp = &rpc.Error{Code: "flow/not-caught-up", Message: "inserts are missing yet"}
	// ErrUnexpected: the request makes no sense.
	ErrUnexpected = &rpc.Error{Code: "flow/unexpected", Message: "unexpected request"}
)

// refused are the errors of a request that was not carried out and leaves nothing behind: they come before its
// sink is made, or of who was faster to make it.
var refused = []error{ErrFlowExists, ErrTableNotFound, ErrInvalidQuery, ErrUnsupported, ErrSuperseded, ErrUnexpected}

// IsRefused tells whether an error of a request to create a flow says that it surely was not created,
// and never will be by that request.
func IsRefused(err error) bool {
	for _, target := range refused {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// planned gives the errors of the planner the code they travel with.
func planned(err error) error {
	var unsupported *sql.Error
	var missing *catalog.NotFoundError
	var invalid *planner.InvalidQuery
	switch {
	case errors.As(err, &unsupported):
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	case errors.As(err, &missing):
		return fmt.Errorf("%w: %w", ErrTableNotFound, err)
	case errors.As(err, &invalid):
		return fmt.Errorf("%w: %w", ErrInvalidQuery, err)
	}
	return err
}
