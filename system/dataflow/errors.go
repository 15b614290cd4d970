package dataflow

import (
	"errors"
	"fmt"
)

// TypeError says that an expression makes no sense, such as the sum of a string and a bool.
type TypeError struct {
	// Construct prints the innermost expression or aggregate that is wrong.
	Construct string
	Reason    string
}

func (e *TypeError) Error() string { return fmt.Sprintf("dataflow: %s: %s", e.Construct, e.Reason) }

// PlanError says that a plan makes no sense.
type PlanError struct {
	// Op is the operator that is wrong, Path how to get to it from the root: the positions of
	// inputs to follow.
	Op    Op
	Path  []int
	Cause error
}

func (e *PlanError) Error() string {
	if len(e.Path) == 0 {
		return fmt.Sprintf("dataflow: invalid %s at the root of the plan: %v", e.Op, e.Cause)
	}
	return fmt.Sprintf("dataflow: invalid %s at inputs %v of the plan: %v", e.Op, e.Path, e.Cause)
}

// Unwrap returns the cause: a [*TypeError], [ErrUnknownSource], or one without a type.
func (e *PlanError) Unwrap() error { return e.Cause }

var (
	// ErrUnknownSource: the plan reads a source that the catalog does not have, or the caller
	// feeds one that the plan does not read.
	ErrUnknownSource = errors.New("unknown source")
	// ErrBehindFrontier: an update came for a time that its source had declared complete.
	ErrBehindFrontier = errors.New("the time is behind the source's frontier")
	// ErrFrontierRegressed: a source was told to go back.
	ErrFrontierRegressed = errors.New("a frontier can't go back")
)

// InputError says that a dataflow refused input. Nothing of the call was taken.
type InputError struct {
	Source SourceID
	// Cause is [ErrUnknownSource], [ErrBehindFrontier], [ErrFrontierRegressed] or a
	// [*RowMismatch].
	Cause  error
	Detail string
}

func (e *InputError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("dataflow: source %s: %v", e.Source, e.Cause)
	}
	return fmt.Sprintf("dataflow: source %s: %v: %s", e.Source, e.Cause, e.Detail)
}

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Cause }
