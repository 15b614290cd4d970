package host

import (
	"errors"
	"io/fs"
)

// Errors of the disk, beside fs.ErrNotExist and fs.ErrExist.
var (
	// ErrIO: the device failed the operation; how much of a write was done is not known.
	ErrIO = errors.New("host: input/output error")
	// ErrNoSpace: the disk is full.
	ErrNoSpace = errors.New("host: no space left on device")
)

// Disk is one machine's file system, as flat as its users need it: names are slash-separated
// paths, directories exist when a file in them does.
//
// What survives a crash is what was synced. A file's contents survive up to its last Sync;
// writes after it may be kept, lost or torn, each on its own. A file's name survives once
// SyncDir of its directory was called after it was created, renamed or removed; without it
// the directory may come back as it was, or as it is, entry by entry.
type Disk interface {
	// Open opens a file, made empty first where flag says so.
	Open(name string, flag OpenFlag) (File, error)
	// Rename replaces newName atomically.
	Rename(oldName, newName string) error
	// Remove removes a file. It fails with fs.ErrNotExist when there is none.
	Remove(name string) error
	// List returns the sorted names of the files in the directory, without those in
	// directories below it. "" is the root.
	List(dir string) ([]string, error)
	// SyncDir makes the directory's entries durable.
	SyncDir(dir string) error
}

// File is an open file. ReadAt and WriteAt follow io.ReaderAt and io.WriterAt.
type File interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	// Size is the file's length in bytes.
	Size() (int64, error)
	// Truncate cuts the file, or extends it with zeros.
	Truncate(size int64) error
	// Sync makes the file's contents and length durable.
	Sync() error
	Close() error
}

// OpenFlag says what Open does when a file is, or is not, there.
type OpenFlag int

const (
	// ReadWrite opens an existing file.
	ReadWrite OpenFlag = iota
	// Create opens a file, creating it when there is none.
	Create
	// CreateNew creates a file, and fails with fs.ErrExist when there is one.
	CreateNew
	// CreateTruncate creates a file, emptying it when there is one.
	CreateTruncate
)

// ReadFile returns a file's contents.
func ReadFile(d Disk, name string) ([]byte, error) {
	f, err := d.Open(name, ReadWrite)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	p := make([]byte, size)
	if n, err := f.ReadAt(p, 0); int64(n) < size {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return p, nil
}
