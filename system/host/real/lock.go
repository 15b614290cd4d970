//go:build unix && !solaris && !aix

package real

import (
	"os"
	"syscall"
)

// lockFile takes the file for this life, or fails when another has it. The lock ends when the file is
// closed or the process dies.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err
		}
	}
}
