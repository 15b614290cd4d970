package host

import (
	"errors"
	"io/fs"
	"strings"
)

// Errors of the disk, beside fs.ErrNotExist and fs.ErrExist.
var (
	// ErrIO: the device failed the operation; how much of a write was done is not known.
	ErrIO = errors.New("host: input/output error")
	// ErrNoSpace: the disk is full.
	ErrNoSpace = errors.New("host: no space left on device")
)

// Disk is one machine's file system, as flat as its users need it: names are slash-separated
// paths as [CheckName] has them, directories exist when a file in them does. No name is a file's
// and a directory's at once: what would make it so fails with fs.ErrExist. Errors are
// *fs.PathError, with fs.ErrNotExist, fs.ErrExist, fs.ErrInvalid, fs.ErrClosed, ErrIO or
// ErrNoSpace inside.
//
// What survives a crash is what was synced. A file's contents survive up to its last Sync;
// writes after it may be kept, lost or torn, each on its own. A file's name survives once
// SyncDir of its directory was called after it was created, renamed or removed; without it
// the directory may come back as it was, or as it is, entry by entry.
type Disk interface {
	// Open opens a file, made empty first where flag says so.
	Open(name string, flag OpenFlag) (File, error)
	// Rename gives the file another name, in place of the file that has it, atomically. It fails
	// with fs.ErrNotExist when there is no oldName.
	Rename(oldName, newName string) error
	// Remove removes a file. It fails with fs.ErrNotExist when there is none.
	Remove(name string) error
	// List returns the sorted names of the files in the directory, without those in
	// directories below it: none when there is no such directory. "" is the root.
	List(dir string) ([]string, error)
	// SyncDir makes the directory's entries durable.
	SyncDir(dir string) error
}

// File is an open file. ReadAt and WriteAt follow io.ReaderAt and io.WriterAt; a write beyond the
// end fills what lies between with zeros. A file that was renamed or removed stays open.
type File interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	// Size is the file's length in bytes.
	Size() (int64, error)
	// Truncate cuts the file, or extends it with zeros.
	Truncate(size int64) error
	// Sync makes the file's contents and length durable.
	Sync() error
	// Close closes the file, synced or not. Closed again, it fails with fs.ErrClosed, as all
	// other methods then do.
	Close() error
}

// MaxElement is the length, in bytes, of the longest element of a file's name.
const MaxElement = 255

// CheckName tells whether a file may have the name: fs.ValidPath with elements of at most
// MaxElement bytes, none of them zero. It returns nil or a *fs.PathError of fs.ErrInvalid.
func CheckName(op, name string) error {
	valid := fs.ValidPath(name) && name != "." && !strings.Contains(name, "\x00")
	for element := range strings.SplitSeq(name, "/") {
		valid = valid && len(element) <= MaxElement
	}
	if !valid {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return nil
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
