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

// ReadOnly says that the task does not write. The command was applied to what it holds in memory.
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

// Why a task ended, beside *ShardClosed, *Aborted and the errors of a damaged store.
var (
	ErrShutdown      = errors.New("storage: graceful shutdown")
	ErrSenderDropped = errors.New("storage: the sender has been closed")
)
