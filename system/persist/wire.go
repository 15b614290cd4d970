package persist

import (
	"errors"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Codes of the stores' errors on the wire.
const (
	codeDeterminate   = "persist/determinate"
	codeIndeterminate = "persist/indeterminate"
	codeCorrupt       = "persist/corrupt"
	codeInvalidSeqNo  = "persist/invalid-seqno"
	codeTooLarge      = "persist/too-large"
)

// serverOptions are the limits of a store's server.
func serverOptions(h host.Host) rpc.ServerOptions {
	if h.Buggify("persist/one worker a connection") {
		return rpc.ServerOptions{MaxInFlight: 1}
	}
	return rpc.ServerOptions{}
}

// toWire is a store's error as its server answers it.
func toWire(err error) error {
	code := codeIndeterminate
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrCorrupt):
		code = codeCorrupt
	case errors.Is(err, ErrInvalidSeqNo):
		code = codeInvalidSeqNo
	case errors.Is(err, ErrTooLarge):
		code = codeTooLarge
	case errors.Is(err, ErrDeterminate):
		code = codeDeterminate
	}
	return &rpc.Error{Code: code, Message: err.Error()}
}

// fromWire is what the failure of a call says about the operation. Whatever is not positively
// known to be determinate is indeterminate.
func fromWire(op, key string, err error) error {
	if err == nil {
		return nil
	}
	var coded *rpc.Error
	if !errors.As(err, &coded) {
		if errors.Is(err, rpc.ErrNotSent) {
			return determinate(op, key, err)
		}
		return indeterminate(op, key, err)
	}
	switch coded.Code {
	case codeCorrupt:
		return &remoteError{sentinel: ErrCorrupt, cause: coded}
	case codeInvalidSeqNo:
		return &remoteError{sentinel: ErrInvalidSeqNo, cause: coded}
	case codeTooLarge:
		return &remoteError{sentinel: ErrTooLarge, cause: coded}
	case codeDeterminate, rpc.CodeNoMethod, rpc.CodeBadRequest:
		return determinate(op, key, coded)
	}
	return indeterminate(op, key, coded)
}

// remoteError is an error of a store with the text that its server gave it.
type remoteError struct {
	sentinel error
	cause    *rpc.Error
}

func (e *remoteError) Error() string   { return e.cause.Message }
func (e *remoteError) Unwrap() []error { return []error{e.sentinel, e.cause} }
