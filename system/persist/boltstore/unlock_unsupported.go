//go:build !unix || solaris || aix

package boltstore

import "os"

// abandon closes the file of a database that can't be closed any more. Its lock stays until the process
// ends.
func abandon(f *os.File) error { return f.Close() }
