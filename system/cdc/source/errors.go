package source

import (
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/cdc/model"
)

// What is known of a call that failed, where it leaves that open.
var (
	// ErrNotDone: it surely did not take effect, and never will.
	ErrNotDone = errors.New("source: surely not done")
	// ErrUnknown: it may have taken effect, it may still, or it never does.
	ErrUnknown = errors.New("source: outcome unknown")
)

// Errors that repeating the call does not mend.
var (
	// ErrInvalid: the call can't be right, whatever is in the store.
	ErrInvalid = errors.New("source: invalid call")
	// ErrNoSpan: there is no such key span, or no key span has the key.
	ErrNoSpan = errors.New("source: no such key span")
	// ErrSpanExists: a key span of that id was there before, or one overlaps it.
	ErrSpanExists = errors.New("source: the key span exists or overlaps another")
	// ErrGC: the history asked for was given up. The error is a *GCError.
	ErrGC = errors.New("source: history was given up")
	// ErrCorrupt: the store's disk is damaged.
	ErrCorrupt = errors.New("source: stored data is corrupt")
)

// GCError says that what was asked for can't be read any more. It is ErrGC.
type GCError struct {
	Asked, Safepoint model.Ts
}

func (e *GCError) Error() string {
	return fmt.Sprintf("source: cannot read from ts %d, history before %d was given up: begin another changefeed, or a reader of a later snapshot", e.Asked, e.Safepoint)
}

// Is makes the error match ErrGC.
func (e *GCError) Is(target error) bool { return target == ErrGC }
