package real

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/simrun-dev/simrun/system/host"
)

// diskError is an error of the operating system as host.Disk has it: by the name of the file, not by
// that of the machine's path.
func diskError(op, name string, err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	switch {
	case isAny(err, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG):
		err = fmt.Errorf("%w (%w)", host.ErrNoSpace, err)
	case isAny(err, syscall.EIO):
		err = fmt.Errorf("%w (%w)", host.ErrIO, err)
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}
