package persist

import (
	"errors"
	"fmt"
)

// UpperMismatch says that an append found another upper than the caller expected. Nothing of
// the append was written, nor will be.
type UpperMismatch struct {
	Expected Frontier
	// Current was the shard's upper at some time during the call.
	Current Frontier
}

func (e *UpperMismatch) Error() string {
	if e.Current.IsEmpty() {
		return fmt.Sprintf("persist: the shard is closed for writing: its upper is [], expected was %v", e.Expected)
	}
	return fmt.Sprintf("persist: the shard's upper is %v, expected was %v", e.Current, e.Expected)
}

// What can be wrong with a call. They are the causes of [InvalidUsage].
var (
	ErrUpdateNotBeyondLower = errors.New("an update's time is before the expected upper")
	ErrUpdateBeyondUpper    = errors.New("an update's time is not before the new upper")
	ErrInvalidBounds        = errors.New("the new upper is before the expected upper")
	ErrEmptyInterval        = errors.New("the new upper equals the expected upper, which leaves no time for updates")
	ErrClosedLower          = errors.New("the expected upper is [], beyond which there is nothing to append")
	ErrHandleClosed         = errors.New("the handle was expired or closed")
	ErrHandleConsumed       = errors.New("the handle was turned into a listener; clone it first to use both")
	ErrBatchConsumed        = errors.New("the batch was appended or discarded, or may have been appended; build another")
	ErrForeignBatch         = errors.New("the batch was built for another shard")
	ErrBatchBounds          = errors.New("the batch does not cover all times from the expected to the new upper")
)

// InvalidUsage says that a call can't be right, whatever is in the shard. Nothing was written.
type InvalidUsage struct {
	// Cause is one of the errors above; errors.Is sees it.
	Cause  error
	Detail string
}

func (e *InvalidUsage) Error() string {
	if e.Detail == "" {
		return "persist: invalid usage: " + e.Cause.Error()
	}
	return "persist: invalid usage: " + e.Cause.Error() + ": " + e.Detail
}

// Unwrap returns Cause.
func (e *InvalidUsage) Unwrap() error { return e.Cause }

// SinceError says that the shard's contents as of a time can't be told any more: history up to
// Since was given up.
type SinceError struct {
	AsOf  uint64
	Since Frontier
}

func (e *SinceError) Error() string {
	return fmt.Sprintf("persist: cannot read as of %d, the since is %v", e.AsOf, e.Since)
}

// OpaqueMismatch says that another holder has taken over a critical since.
type OpaqueMismatch struct {
	Expected, Actual Opaque
	// Since is the hold as the other holder left it.
	Since Frontier
	// Uncertain: an earlier attempt of this call may have taken effect before the other holder
	// took over. The error then is ErrIndeterminate as well.
	Uncertain bool
}

func (e *OpaqueMismatch) Error() string {
	return fmt.Sprintf("persist: the critical since is held under opaque %d, expected was %d", e.Actual, e.Expected)
}

// Is makes an uncertain mismatch match ErrIndeterminate.
func (e *OpaqueMismatch) Is(target error) bool { return e.Uncertain && target == ErrIndeterminate }

// Errors of the handles.
var (
	// ErrLeaseExpired: the reader was not heard of for longer than its lease, and its hold on
	// the shard's history is gone. Open a new one.
	ErrLeaseExpired = errors.New("persist: the reader's lease has expired")

	// ErrAmbiguous: an append can't find out whether an earlier attempt of its own went in,
	// because the shard no longer remembers its writer: longer than the writer lease went by
	// between the two. It is ErrIndeterminate as well.
	ErrAmbiguous = fmt.Errorf("persist: the writer was forgotten before its append was settled: %w", ErrIndeterminate)

	// ErrMissingBlob: a batch that the shard's state refers to is not in the Blob store.
	ErrMissingBlob = errors.New("persist: a batch of the shard is missing from the blob store")

	// ErrBadShardID: the shard's name can't be one, see MaxShardID.
	ErrBadShardID = errors.New("persist: invalid shard id")

	// ErrNoCritical: the critical since was removed from the shard.
	ErrNoCritical = errors.New("persist: the shard has no critical since of that id")
)
