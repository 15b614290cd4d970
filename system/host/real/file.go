package real

import (
	"io"
	"io/fs"
	"os"

	"github.com/simrun-dev/simrun/system/host"
)

// file is an open file of a disk.
type file struct {
	d    *disk
	name string
	f    *os.File
}

func (d *disk) opened(name string, f *os.File) *file {
	o := &file{d, name, f}
	d.filesMu.Lock()
	d.files[o] = struct{}{}
	d.filesMu.Unlock()
	return o
}

// ReadAt is part of host.File.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if err := f.start("read", off); err != nil {
		return 0, err
	}
	n, err := f.f.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = diskError("read", f.name, err)
	}
	return n, err
}

// WriteAt is part of host.File.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	if err := f.start("write", off); err != nil {
		return 0, err
	}
	n, err := f.f.WriteAt(p, off)
	if err != nil {
		err = diskError("write", f.name, err)
	}
	return n, err
}

func (f *file) start(op string, off int64) error {
	if err := f.d.start(op, f.name); err != nil {
		return err
	}
	if off < 0 {
		return diskError(op, f.name, fs.ErrInvalid)
	}
	return nil
}

// Size is part of host.File.
func (f *file) Size() (int64, error) {
	if err := f.start("stat", 0); err != nil {
		return 0, err
	}
	info, err := f.f.Stat()
	if err != nil {
		return 0, diskError("stat", f.name, err)
	}
	return info.Size(), nil
}

// Truncate is part of host.File.
func (f *file) Truncate(size int64) error {
	if err := f.start("truncate", size); err != nil {
		return err
	}
	if err := f.f.Truncate(size); err != nil {
		return diskError("truncate", f.name, err)
	}
	return nil
}

// Sync is part of host.File.
func (f *file) Sync() error {
	if err := f.start("sync", 0); err != nil {
		return err
	}
	if err := f.f.Sync(); err != nil {
		return diskError("sync", f.name, err)
	}
	return nil
}

// Close is part of host.File.
func (f *file) Close() error {
	if err := f.start("close", 0); err != nil {
		return err
	}
	f.d.filesMu.Lock()
	delete(f.d.files, f)
	f.d.filesMu.Unlock()
	if err := f.f.Close(); err != nil {
		return diskError("close", f.name, err)
	}
	return nil
}

var _ host.File = (*file)(nil)
