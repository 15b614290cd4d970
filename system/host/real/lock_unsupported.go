//go:build !unix || solaris || aix

package real

import (
	"errors"
	"os"
)

// lockFile fails: package host's disk is that of Unix, where a file that is open can be renamed,
// removed and replaced.
func lockFile(*os.File) error { return errors.ErrUnsupported }
