package storage

import (
	"errors"

	"github.com/simrun-dev/simrun/system/persist"
)

// outcome is what became of one attempt to write.
type outcome int

const (
	written outcome = iota
	// mismatched: the upper was another.
	mismatched
	// ambiguous: it can't be told whether it was written.
	ambiguous
	// invalid: the task has made a mistake.
	invalid
	// failed: the task was aborted, or a store is damaged.
	failed
)

func classify(err error) (*persist.UpperMismatch, outcome) {
	var mismatch *persist.UpperMismatch
	var usage *persist.InvalidUsage
	switch {
	case err == nil:
		return nil, written
	case errors.As(err, &mismatch):
		return mismatch, mismatched
	case errors.Is(err, persist.ErrAmbiguous):
		return nil, ambiguous
	case errors.As(err, &usage):
		return nil, invalid
	}
	return nil, failed
}
