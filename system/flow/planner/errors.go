package planner

import (
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/sql"
)

// InvalidQuery says that a statement is well formed and makes no sense: a column that there is not,
// types that don't go together. What the planner can't do is a [*sql.Error] of kind
// [sql.ErrUnsupported] instead.
type InvalidQuery struct {
	// At is the place in the text.
	At     sql.Pos
	Reason string
}

func (e *InvalidQuery) Error() string { return fmt.Sprintf("invalid query at %s: %s", e.At, e.Reason) }

func invalid(n sql.Node, format string, args ...any) error {
	return Invalid(n, format, args...)
}

// Invalid is an error about a place of a statement, on one line.
func Invalid(n sql.Node, format string, args ...any) error {
	return &InvalidQuery{At: n.Position(), Reason: sql.Printable(fmt.Sprintf(format, args...))}
}

// At is an error with the place of a node: an [*InvalidQuery] that has the error in it.
func At(n sql.Node, err error) error {
	return &located{&InvalidQuery{At: n.Position(), Reason: sql.Printable(err.Error())}, err}
}

type located struct {
	*InvalidQuery
	cause error
}

func (e *located) Unwrap() []error { return []error{e.InvalidQuery, e.cause} }

// Position is the place that an error is about, if it knows one.
func Position(err error) (sql.Pos, bool) {
	var invalid *InvalidQuery
	var wrong *sql.Error
	switch {
	case errors.As(err, &invalid):
		return invalid.At, true
	case errors.As(err, &wrong):
		return wrong.At, true
	}
	return sql.Pos{}, false
}
