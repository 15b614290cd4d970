package frontend

import (
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/rpc"
	"github.com/simrun-dev/simrun/system/sql"
)

// Errors that travel, beside those of package flow: the other side of a connection knows them by
// errors.Is.
var (
	// ErrSyntax: the text is no SQL.
	ErrSyntax = &rpc.Error{Code: "frontend/syntax", Message: "syntax error"}
	// ErrExists: the name is taken.
	ErrExists = &rpc.Error{Code: "frontend/exists", Message: "the name is taken"}
	// ErrNotFound: there is no such table or flow.
	ErrNotFound = &rpc.Error{Code: "frontend/not-found", Message: "there is no such table or flow"}
	// ErrForgotten is [relation.ErrForgotten].
	ErrForgotten = &rpc.Error{Code: "frontend/forgotten", Message: "the changes are not kept any more"}
	// ErrUnknown: the statement may have taken effect, or may still.
	ErrUnknown = &rpc.Error{Code: "frontend/unknown", Message: "the outcome of the statement is not known"}
	// ErrUnavailable: the statement surely had no effect, and may succeed when it is tried again.
	ErrUnavailable = &rpc.Error{Code: "frontend/unavailable", Message: "the frontend can't do it at present"}
)

// Definite tells whether an error says that its statement had no effect and never will have.
func Definite(err error) bool {
	for _, target := range []error{
		ErrSyntax, ErrExists, ErrNotFound, ErrUnavailable, flow.ErrInvalidQuery, flow.ErrUnsupported, flow.ErrInvalidInsert,
		flow.ErrTableNotFound, flow.ErrFlowExists, flow.ErrUnexpected, flow.ErrSuperseded, rpc.ErrNotSent,
	} {
		if errors.Is(err, target) {
			return !errors.Is(err, ErrUnknown)
		}
	}
	return false
}

// coded gives an error the code it travels with.
func coded(err error) error {
	var carries *rpc.Error
	var wrong *sql.Error
	var invalid *planner.InvalidQuery
	var missing *catalog.NotFoundError
	var exists *catalog.ExistsError
	var mismatch *planner.SinkMismatch
	switch {
	case err == nil, errors.As(err, &carries):
		return err
	case errors.As(err, &wrong) && errors.Is(err, sql.ErrSyntax):
		return fmt.Errorf("%w: %w", ErrSyntax, err)
	case errors.As(err, &wrong):
		return fmt.Errorf("%w: %w", flow.ErrUnsupported, err)
	case errors.As(err, &missing), errors.Is(err, relation.ErrClosed): // the shard was given up, as the table is dropped
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case errors.As(err, &invalid), errors.As(err, &mismatch):
		return fmt.Errorf("%w: %w", flow.ErrInvalidQuery, err)
	case errors.As(err, &exists):
		return fmt.Errorf("%w: %w", ErrExists, err)
	case errors.Is(err, relation.ErrForgotten):
		return fmt.Errorf("%w: %w", ErrForgotten, err)
	case errors.Is(err, persist.ErrDeterminate) && !errors.Is(err, persist.ErrIndeterminate):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// invalidAt is an error about a place of a statement.
func invalidAt(n sql.Node, format string, args ...any) error {
	return planner.Invalid(n, format, args...)
}

// placed is what a flow node answered, about a place of a statement. Other errors stay as they are.
func placed(n sql.Node, err error) error {
	var answered *rpc.Error
	if !errors.As(err, &answered) {
		return err
	}
	return planner.At(n, err)
}
