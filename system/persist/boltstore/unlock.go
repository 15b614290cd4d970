//go:build unix && !solaris && !aix

//simvet:ignore simio real files are what this package is for

package boltstore

import (
	"errors"
	"os"
	"syscall"
)

// abandon closes the file of a database that can't be closed any more. The file being mapped into
// memory, its lock would outlive that.
func abandon(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
