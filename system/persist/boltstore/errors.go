package boltstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"

	"github.com/simrun-dev/simrun/system/persist"
)

// Errors beside those of package persist.
var (
	// ErrInUse: another process has the file, or this one has it open already.
	ErrInUse = errors.New("boltstore: the file is in use")
	// ErrClosed is the cause of what fails after Close. It is determinate.
	ErrClosed = errors.New("boltstore: the store was closed")
	// ErrFailed is the cause of what fails once a sync has failed. Later calls are determinate.
	ErrFailed = errors.New("boltstore: a sync failed before, and what the disk holds is not known: end the program, and mend the disk or restore the file from a copy")
	// ErrTooLarge: the key or the data is larger than a store can hold. Trying again is of no use.
	// It is persist.ErrTooLarge as well.
	ErrTooLarge = fmt.Errorf("boltstore: %w", persist.ErrTooLarge)
	// ErrForeign: the file is bbolt's, but not one of this package, or of a version of it that is
	// not known.
	ErrForeign = errors.New("boltstore: not a consensus store of this version")
)

// openError is an error of bbolt's Open.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("%w: %s: end the process that has it open, or wait for longer", ErrInUse, path)
	case isSystem(err):
		return fmt.Errorf("boltstore: %w", err) // it names the file
	}
	return corrupt(path, err) // whatever else bbolt has to say is about what is in the file
}

func isSystem(err error) bool {
	var path *fs.PathError
	var call *os.SyscallError
	var errno syscall.Errno
	return errors.As(err, &path) || errors.As(err, &call) || errors.As(err, &errno)
}

func corrupt(path string, cause any) error {
	if err, ok := cause.(error); ok {
		return fmt.Errorf("%w: %s: %w: restore the file from a copy", persist.ErrCorrupt, path, err)
	}
	return fmt.Errorf("%w: %s: %v: restore the file from a copy", persist.ErrCorrupt, path, cause)
}

func determinate(op, key string, cause error) error {
	return &persist.StoreError{Op: op, Key: key, Kind: persist.ErrDeterminate, Err: cause}
}

func indeterminate(op, key string, cause error) error {
	return &persist.StoreError{Op: op, Key: key, Kind: persist.ErrIndeterminate, Err: cause}
}
