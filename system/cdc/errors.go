package cdc

import (
	"errors"

	"github.com/simrun-dev/simrun/system/rpc"
)

// Errors of [Admin].
var (
	// ErrNotOwner: nobody owns the changefeeds at the moment, or somebody else than was asked.
	// Nothing was done; ask again.
	ErrNotOwner = errors.New("cdc: not the owner")
	// ErrUnknown: no answer came, and what was asked for may have been done, may still, or never is.
	ErrUnknown = errors.New("cdc: outcome unknown")
	// ErrNoFeed: there is no such changefeed.
	ErrNoFeed = errors.New("cdc: no such changefeed")
	// ErrFeedExists: there is one of that id.
	ErrFeedExists = errors.New("cdc: the changefeed exists")
	// ErrFeedFailed: it is in model.StateFailed. The error is a *FailedError, and says why.
	ErrFeedFailed = errors.New("cdc: the changefeed has failed")
	// ErrState: a client can't put a changefeed into that state.
	ErrState = errors.New("cdc: a changefeed can be stopped or resumed, and nothing else")
	// ErrInvalid: a changefeed can't be as it was asked for, whatever there is.
	ErrInvalid = errors.New("cdc: invalid changefeed")
	// ErrTooOld: history upstream is given up before the changefeed's start.
	ErrTooOld = errors.New("cdc: the start is before the upstream's safepoint")
)

// Reasons for which something ended.
var (
	errClosed   = errors.New("the capture was closed")
	errDeposed  = errors.New("the election is held by another, or by nobody")
	errUnlisted = errors.New("the capture's key is gone")
	errResigned = errors.New("it was asked to resign")
)

// errDuplicate restarts a processor that was told to do two things with a key span at once.
var errDuplicate = errors.New("cdc: an operation on the key span is under way already")

// errAnswerLost is a failed write to a sink of which nothing is known: only simulations have it.
var errAnswerLost = errors.New("cdc: the sink's answer was lost")

// notOwner is ErrNotOwner on the wire.
var notOwner = &rpc.Error{Code: "cdc/not-owner", Message: ErrNotOwner.Error()}
