package coord

import (
	"errors"
	"time"

	"github.com/simrun-dev/simrun/system/rpc"
)

// The methods of the service.
const (
	methodRange     rpc.Method[rangeRequest, rangeReply] = "coord/range"
	methodTxn       rpc.Method[Txn, TxnResult]           = "coord/txn"
	methodCompact   rpc.Method[Revision, struct{}]       = "coord/compact"
	methodGrant     rpc.Method[grantRequest, struct{}]   = "coord/grant"
	methodKeepAlive rpc.Method[LeaseID, struct{}]        = "coord/keep-alive"
	methodRevoke    rpc.Method[LeaseID, struct{}]        = "coord/revoke"
	methodLease     rpc.Method[LeaseID, LeaseInfo]       = "coord/lease"
	methodWatch     rpc.Method[watchRequest, watchReply] = "coord/watch"
)

type rangeRequest struct {
	_    struct{} `cbor:",toarray"`
	Keys Keys
	At   Revision
}

type rangeReply struct {
	_ struct{} `cbor:",toarray"`
	Snapshot
	// Oldest is set when the revision asked for was compacted.
	Oldest Revision
}

type grantRequest struct {
	_   struct{} `cbor:",toarray"`
	ID  LeaseID
	TTL time.Duration
}

// watchRequest asks for the changes from a revision on; 0 asks only which revision comes next. The
// server answers when there are some, or after a while without.
type watchRequest struct {
	_    struct{} `cbor:",toarray"`
	Keys Keys
	From Revision
	Wait time.Duration
}

type watchReply struct {
	_      struct{} `cbor:",toarray"`
	Events []Event
	Next   Revision
	// Oldest is set when From was compacted.
	Oldest Revision
}

// Codes of the service's errors on the wire.
var codes = []struct {
	code     string
	sentinel error
}{
	{"coord/invalid", ErrInvalid},
	{"coord/no-lease", ErrNoLease},
	{"coord/future-revision", ErrFutureRevision},
	{"coord/not-done", ErrNotDone},
	{"coord/unknown", ErrUnknown},
}

// toWire is an error as the server answers it.
func toWire(err error) error {
	if err == nil {
		return nil
	}
	for _, c := range codes {
		if errors.Is(err, c.sentinel) {
			return &rpc.Error{Code: c.code, Message: err.Error()}
		}
	}
	return &rpc.Error{Code: "coord/unknown", Message: err.Error()}
}

// fromWire is what the failure of a call says. Whatever is not positively known to be not done is
// unknown.
func fromWire(op string, err error) error {
	if err == nil {
		return nil
	}
	var coded *rpc.Error
	if !errors.As(err, &coded) {
		if errors.Is(err, rpc.ErrNotSent) {
			return notDone(op, err)
		}
		return unknown(op, err)
	}
	if coded.Code == rpc.CodeNoMethod || coded.Code == rpc.CodeBadRequest {
		return notDone(op, coded)
	}
	for _, c := range codes {
		switch {
		case c.code != coded.Code:
		case c.sentinel == ErrNotDone:
			return notDone(op, coded)
		case c.sentinel != ErrUnknown:
			return &remoteError{c.sentinel, coded}
		}
	}
	return unknown(op, coded)
}

// remoteError is one of the package's errors with the text that the server gave it.
type remoteError struct {
	sentinel error
	cause    *rpc.Error
}

func (e *remoteError) Error() string   { return e.cause.Message }
func (e *remoteError) Unwrap() []error { return []error{e.sentinel, e.cause} }
