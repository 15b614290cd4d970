package rpc

import (
	"errors"
	"fmt"
)

// What is known of a request that got no answer. The errors of a call match one of the two
// with errors.Is, and match their cause too: a call that ran out of time is
// context.DeadlineExceeded as well.
var (
	// ErrNotSent: the request never left this machine and was surely not executed.
	ErrNotSent = errors.New("rpc: request not sent")
	// ErrUnknown: the request was sent and no answer came. It may have been executed, it may
	// still be, or it never is.
	ErrUnknown = errors.New("rpc: request sent, outcome unknown")
)

// ErrClosed is a cause that does not pass: the client was closed.
var ErrClosed = errors.New("rpc: the client was closed")

// Codes of the errors that this package itself answers a request with.
const (
	// CodeNoMethod: the service has no method of that name. The request was not executed.
	CodeNoMethod = "rpc/no-method"
	// CodeBadRequest: the request could not be decoded. It was not executed.
	CodeBadRequest = "rpc/bad-request"
	// CodeInternal: the handler returned an error that has no code of its own.
	CodeInternal = "rpc/internal"
)

// Error is an error that travels from a handler to the caller.
//
// A handler returns one, wrapped or not; the caller gets its Code and Message. Two Errors
// match under errors.Is when their codes are equal, so a package can declare one as a
// sentinel and have it recognised on the other side.
type Error struct {
	// Code identifies the error for programs. It never changes once it was deployed.
	Code string
	// Message is for people.
	Message string
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code
	}
	return e.Message + " (" + e.Code + ")"
}

// Is tells whether target is an *Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// wireError is what a handler's error looks like on the wire.
func wireError(err error) (code, message string) {
	var coded *Error
	if !errors.As(err, &coded) {
		return CodeInternal, err.Error()
	}
	if err == error(coded) {
		return coded.Code, coded.Message
	}
	return coded.Code, err.Error()
}

func notSent(addr, method string, cause error) error {
	return fmt.Errorf("%w: %s at %s: %w", ErrNotSent, method, addr, cause)
}

func unknown(addr, method string, cause error) error {
	return fmt.Errorf("%w: %s at %s: %w", ErrUnknown, method, addr, cause)
}
