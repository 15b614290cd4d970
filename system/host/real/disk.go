package real

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/simrun-dev/simrun/system/host"
)

// disk is host.Disk on a directory, out of which no name leads, nor a symbolic link.
type disk struct {
	h    *Host
	root *os.Root

	// mu is held where directories are made and removed, since what one task makes another may
	// find empty.
	mu sync.Mutex
	// durable are the directories whose own names are known to be durable. The root is not among
	// them: its name is not ours to lose.
	durable map[string]bool

	filesMu sync.Mutex
	files   map[*file]struct{} // open
}

func openDisk(h *Host) (*disk, error) {
	name := filepath.Join(h.dir.path, "files")
	if err := os.MkdirAll(name, dirMode); err != nil {
		return nil, err
	}
	if err := syncDirectory(h.dir.path); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &disk{h: h, root: root, durable: map[string]bool{}, files: map[*file]struct{}{}}, nil
}

// close closes what the life has open.
func (d *disk) close() error {
	d.filesMu.Lock()
	defer d.filesMu.Unlock()
	for f := range d.files {
		f.f.Close() // its contents are as durable as they were made
	}
	clear(d.files)
	return d.root.Close()
}

// start is called first by every operation.
func (d *disk) start(op, name string) error {
	if !d.h.alive() {
		return diskError(op, name, fs.ErrClosed)
	}
	return nil
}

func (d *disk) startNamed(op, name string) error {
	if err := host.CheckName(op, name); err != nil {
		return err
	}
	return d.start(op, name)
}

func (d *disk) startDir(op, dir string) error {
	if dir == "" {
		return d.start(op, dir)
	}
	return d.startNamed(op, dir)
}

func parent(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}

// local is a directory's name to the root.
func local(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// Open is part of host.Disk.
func (d *disk) Open(name string, flag host.OpenFlag) (host.File, error) {
	if err := d.startNamed("open", name); err != nil {
		return nil, err
	}
	mode := os.O_RDWR
	switch flag {
	case host.ReadWrite:
	case host.Create:
		mode |= os.O_CREATE
	case host.CreateNew:
		mode |= os.O_CREATE | os.O_EXCL
	case host.CreateTruncate:
		mode |= os.O_CREATE | os.O_TRUNC
	default:
		return nil, diskError("open", name, fs.ErrInvalid)
	}
	var f *os.File
	open := func() (err error) {
		f, err = d.root.OpenFile(name, mode, fileMode)
		return err
	}
	err := open()
	switch {
	case err == nil:
	case flag != host.ReadWrite:
		err = d.makeWay(name, err, open)
	case errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR):
		err = fs.ErrNotExist // of that name there is no file
	}
	if err != nil {
		return nil, diskError("open", name, err)
	}
	return d.opened(name, f), nil
}

// makeWay tries again what failed to create a name, after it has made the directories that are
// missing, and removed directories without files, which to host.Disk do not exist.
func (d *disk) makeWay(name string, err error, create func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.root.MkdirAll(local(parent(name)), dirMode); err == nil {
			err = create()
		}
	}
	if d.isDirectory(name) {
		if !d.removeEmpty(name) {
			return fs.ErrExist
		}
		err = create()
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return fs.ErrExist // a file has the name of one of the directories
	}
	return err
}

func (d *disk) isDirectory(name string) bool {
	info, err := d.root.Lstat(name)
	return err == nil && info.IsDir()
}

func (d *disk) isFile(name string) bool {
	info, err := d.root.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// removeEmpty removes a directory in which there is no file, nor below it.
func (d *disk) removeEmpty(dir string) bool {
	entries, err := d.readDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !e.IsDir() || !d.removeEmpty(path.Join(dir, e.Name())) {
			return false
		}
	}
	delete(d.durable, dir)
	return d.root.Remove(dir) == nil
}

func (d *disk) readDir(dir string) ([]fs.DirEntry, error) {
	f, err := d.root.Open(local(dir))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// Rename is part of host.Disk.
func (d *disk) Rename(oldName, newName string) error {
	if err := host.CheckName("rename", newName); err != nil {
		return err
	}
	if err := d.startNamed("rename", oldName); err != nil {
		return err
	}
	if !d.isFile(oldName) {
		return diskError("rename", oldName, fs.ErrNotExist)
	}
	rename := func() error { return d.root.Rename(oldName, newName) }
	err := rename()
	if err != nil {
		err = d.makeWay(newName, err, rename)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return diskError("rename", oldName, err) // another task was faster
	}
	return diskError("rename", newName, err)
}

// Remove is part of host.Disk.
func (d *disk) Remove(name string) error {
	if err := d.startNamed("remove", name); err != nil {
		return err
	}
	if !d.isFile(name) {
		return diskError("remove", name, fs.ErrNotExist)
	}
	if err := d.root.Remove(name); err != nil {
		return diskError("remove", name, err)
	}
	return nil
}

// List is part of host.Disk.
func (d *disk) List(dir string) ([]string, error) {
	if err := d.startDir("list", dir); err != nil {
		return nil, err
	}
	entries, err := d.readDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, diskError("list", dir, err)
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// SyncDir is part of host.Disk. Entries are lost with the directory that they are in, so that the names
// of directories have to be durable as well. Once they are they need no more care; but an earlier life
// may have left them without.
func (d *disk) SyncDir(dir string) error {
	if err := d.startDir("sync", dir); err != nil {
		return err
	}
	err := d.syncOne(dir)
	if err == nil {
		err = d.syncNames(dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nil // there is nothing to lose
	case err != nil:
		return diskError("sync", dir, err)
	}
	return nil
}

// syncNames makes the names of a directory, and of those that it is in, durable.
func (d *disk) syncNames(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for name := dir; name != "" && !d.durable[name]; name = parent(name) {
		names = append(names, name)
		if err := d.syncOne(parent(name)); err != nil {
			return err
		}
	}
	for _, name := range names {
		d.durable[name] = true
	}
	return nil
}

func (d *disk) syncOne(dir string) error {
	f, err := d.root.Open(local(dir))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return syscall.ENOTDIR
	}
	return f.Sync()
}
