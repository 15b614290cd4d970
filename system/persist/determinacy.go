package persist

import (
	"context"
	"errors"
	"fmt"
)

// What is known of an operation that failed. Every error of a [Blob], a [Consensus] and a
// handle that leaves the question open whether the operation took effect matches one of the
// two with errors.Is; whatever is not positively known to be determinate is indeterminate.
var (
	// ErrDeterminate: the operation surely did not take effect, and never will.
	ErrDeterminate = errors.New("surely not done")
	// ErrIndeterminate: the operation may have taken effect, may still, or never does.
	ErrIndeterminate = errors.New("outcome unknown")
)

// Errors that retrying does not mend. They match neither of the two above.
var (
	// ErrCorrupt: what is stored is not what was written. The store's disk is damaged.
	ErrCorrupt = errors.New("persist: stored data is corrupt")
	// ErrInvalidSeqNo: the sequence numbers of the call can't be right, whatever is stored.
	ErrInvalidSeqNo = errors.New("persist: invalid sequence number")
	// ErrTooLarge: the key or the data is larger than the store can hold. Nothing was stored, nor will be.
	ErrTooLarge = errors.New("persist: too large for the store")
	// ErrRegressed: Consensus has forgotten versions that it had acknowledged.
	ErrRegressed = errors.New("persist: consensus went back to an older version of the shard")
)

// StoreError is a failed operation of a store.
type StoreError struct {
	Op   string // "set", "compare-and-set", ...
	Key  string
	Kind error // ErrDeterminate or ErrIndeterminate
	Err  error // the cause
}

func (e *StoreError) Error() string {
	return fmt.Sprintf("persist: %s of %q failed, %v: %v", e.Op, e.Key, e.Kind, e.Err)
}

// Unwrap makes the error match both what is known of it and its cause.
func (e *StoreError) Unwrap() []error { return []error{e.Kind, e.Err} }

func determinate(op, key string, cause error) error {
	return &StoreError{Op: op, Key: key, Kind: ErrDeterminate, Err: detach(cause)}
}

func indeterminate(op, key string, cause error) error {
	return &StoreError{Op: op, Key: key, Kind: ErrIndeterminate, Err: detach(cause)}
}

// harmless is the error of an operation that changes nothing, whether it was executed or not.
func harmless(op, key string, err error) error {
	if transient(err) {
		return determinate(op, key, err)
	}
	return err
}

// detached is a cause that no longer says what is known of the operation: an append that
// surely did not happen because its fetch of the state timed out is determinate, whatever the
// fetch was. What remains is the text, and the context's error.
type detached struct{ cause error }

func (d *detached) Error() string { return d.cause.Error() }

func (d *detached) Unwrap() error {
	for _, err := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(d.cause, err) {
			return err
		}
	}
	return nil
}

func detach(cause error) error {
	if transient(cause) {
		return &detached{cause}
	}
	return cause
}

// transient tells whether the operation that failed with err is worth another try.
func transient(err error) bool {
	return errors.Is(err, ErrDeterminate) || errors.Is(err, ErrIndeterminate)
}
