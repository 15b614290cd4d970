package storage

import (
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/persist"
)

// GlobalID names a collection.
type GlobalID string

// InvalidUppers says that a write was given up, for now, because the shard's upper was
// another every time it was tried. The command is kept and will be part of the next write.
type InvalidUppers struct {
	ID      GlobalID
	Current persist.Frontier // the upper found last
}

func (e *InvalidUppers) Error() string {
	return fmt.Sprintf("storage: collection %s: the upper kept changing, it was %v last; the change will be written later", e.ID, e.Current)
}

// IdentifierInvalid says that the collection is not written to any more. The command was not
// applied.
type IdentifierInvalid struct{ ID GlobalID }

func (e *IdentifierInvalid) Error() string {
	return fmt.Sprintf("storage: collection %s is not known any more: its task was shut down", e.ID)
}

// ReadOnly says that the task does not write. A differential collection's command was applied to what
// the task holds in memory, and is written when writes are allowed; an append-only one's is forgotten.
type ReadOnly struct{ ID GlobalID }

func (e *ReadOnly) Error() string {
	return fmt.Sprintf("storage: collection %s is read-only here: nothing was written", e.ID)
}

// ShardClosed says that the collection's shard is closed for writing. The command was not written.
type ShardClosed struct{ ID GlobalID }

func (e *ShardClosed) Error() string {
	return fmt.Sprintf("storage: collection %s: its shard is closed for writing, the upper is []", e.ID)
}

// Aborted says that the task was aborted. What it was writing may have been written, and may
// still be.
type Aborted struct{ ID GlobalID }

func (e *Aborted) Error() string {
	return fmt.Sprintf("storage: collection %s: the task was aborted", e.ID)
}

// GaveUp says that rows were not appended, because the shard's upper was another every time it was
// tried. They are forgotten: send them again.
type GaveUp struct {
	ID      GlobalID
	Current persist.Frontier // the upper found last
}

func (e *GaveUp) Error() string {
	return fmt.Sprintf("storage: collection %s: the upper kept changing, it was %v last; nothing was appended, send the rows again", e.ID, e.Current)
}

// Uncertain says that rows were appended, once, or not at all, and that it can't be told which.
// errors.Is takes it for persist.ErrIndeterminate.
type Uncertain struct {
	ID    GlobalID
	Cause error
}

func (e *Uncertain) Error() string {
	return fmt.Sprintf("storage: collection %s: the rows were appended once or not at all, look before you send them again: %v", e.ID, e.Cause)
}

// Unwrap returns Cause.
func (e *Uncertain) Unwrap() error { return e.Cause }

// InvalidAppend says that an append-only collection can't take a command. Nothing was appended.
type InvalidAppend struct {
	ID GlobalID
	// Row and Diff are what can't be appended; of a command that is no Append they are zero.
	Row  Row
	Diff int64
}

func (e *InvalidAppend) Error() string {
	if e.Diff == 0 && e.Row == "" {
		return fmt.Sprintf("storage: collection %s is append-only: send it an Append of positive diffs", e.ID)
	}
	return fmt.Sprintf("storage: collection %s is append-only: it takes no diff of %+d, as that of %q", e.ID, e.Diff, e.Row)
}

// AlreadyRegistered says that a collection's task has not ended yet.
type AlreadyRegistered struct{ ID GlobalID }

func (e *AlreadyRegistered) Error() string {
	return fmt.Sprintf("storage: collection %s is registered: unregister it, and wait for its end, before it is registered anew", e.ID)
}

// NotRegistered says that the manager has no collection of that name, or none of that kind.
type NotRegistered struct {
	ID   GlobalID
	Kind Kind // that was asked for
}

func (e *NotRegistered) Error() string {
	return fmt.Sprintf("storage: no %v collection %s is registered", e.Kind, e.ID)
}

// ErrManagerClosed says that the manager was shut down.
var ErrManagerClosed = errors.New("storage: the collection manager was shut down")

// Why a task ended, beside *ShardClosed, *Aborted and the errors of a damaged store.
var (
	ErrShutdown      = errors.New("storage: graceful shutdown")
	ErrSenderDropped = errors.New("storage: the sender has been closed")
)
