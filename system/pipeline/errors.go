package pipeline

import (
	"errors"

	"github.com/simrun-dev/simrun/system/rpc"
)

var (
	// ErrNotLeading: the controller that was asked does not lead at present. Nothing was done; ask another.
	ErrNotLeading = &rpc.Error{Code: "pipeline/not-leading", Message: "the controller does not lead"}
	// ErrUnknownView: there is no view of that name.
	ErrUnknownView = &rpc.Error{Code: "pipeline/no-view", Message: "there is no such view"}
	// ErrNotReadable: the view can't be read as of that time any more.
	ErrNotReadable = &rpc.Error{Code: "pipeline/not-readable", Message: "the view can't be read as of that time any more; ask for a later one"}
	// ErrUnavailable: the peek failed, and may succeed when it is tried again.
	ErrUnavailable = &rpc.Error{Code: "pipeline/unavailable", Message: "the view can't be read at present"}
)

// ErrNoCheckpoint: the changefeed has no checkpoint yet.
var ErrNoCheckpoint = errors.New("pipeline: the changefeed has no checkpoint yet")
