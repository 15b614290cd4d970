package coord

import (
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/rpc"
)

// What is known of a call that failed. Every error that leaves open whether the call took effect
// matches one of the two with errors.Is, and its cause too.
var (
	// ErrNotDone: it surely did not take effect, and never will.
	ErrNotDone = errors.New("surely not done")
	// ErrUnknown: it may have taken effect, it may still, or it never does.
	ErrUnknown = errors.New("outcome unknown")
)

// Errors that repeating the call does not mend. Nothing was changed.
var (
	// ErrInvalid: the call can't be right, whatever is in the store.
	ErrInvalid = errors.New("coord: invalid call")
	// ErrNoLease: there is no such lease. It was revoked, or has expired.
	ErrNoLease = errors.New("coord: no such lease")
	// ErrCompacted: the history asked for is gone. The error is a *CompactedError.
	ErrCompacted = errors.New("coord: compacted")
	// ErrFutureRevision: the store has not come to that revision yet.
	ErrFutureRevision = errors.New("coord: revision is in the future")
	// ErrCorrupt: the server's disk is damaged. Restore its log from a copy.
	ErrCorrupt = errors.New("coord: stored data is corrupt")
)

// Errors of sessions and elections.
var (
	// ErrSessionLost: the session's lease is gone, or may be. Nothing that depends on it holds any
	// more. Open a new one.
	ErrSessionLost = errors.New("coord: the session was lost")
	// ErrNotLeader: the election's key is gone or another's. Campaign anew.
	ErrNotLeader = errors.New("coord: not the leader")
	// ErrNoLeader: nobody leads.
	ErrNoLeader = errors.New("coord: no leader")
)

// CompactedError says that history before a revision is gone. It is ErrCompacted.
type CompactedError struct {
	// Asked is the revision that was asked for, Oldest the oldest that is there.
	Asked, Oldest Revision
}

func (e *CompactedError) Error() string {
	return fmt.Sprintf("coord: revision %d was compacted, the oldest left is %d: read the keys as they are and watch from there", e.Asked, e.Oldest)
}

// Is makes the error match ErrCompacted.
func (e *CompactedError) Is(target error) bool { return target == ErrCompacted }

// CallError is a failed call.
type CallError struct {
	Op   string // "txn", "grant", ...
	Kind error  // ErrNotDone or ErrUnknown
	Err  error  // the cause
}

func (e *CallError) Error() string {
	return fmt.Sprintf("coord: %s failed, %v: %v", e.Op, e.Kind, e.Err)
}

// Unwrap makes the error match both what is known of the call and its cause.
func (e *CallError) Unwrap() []error { return []error{e.Kind, e.Err} }

func notDone(op string, cause error) error { return &CallError{Op: op, Kind: ErrNotDone, Err: cause} }
func unknown(op string, cause error) error { return &CallError{Op: op, Kind: ErrUnknown, Err: cause} }

// open tells whether a call that failed so can have taken effect, or could if it were repeated: whether the error
// is of the first kind above.
func open(err error) bool { return errors.Is(err, ErrNotDone) || errors.Is(err, ErrUnknown) }

// passing tells whether a call that failed so may succeed when it is repeated.
func passing(err error) bool { return open(err) && !errors.Is(err, rpc.ErrClosed) }
