package real

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// directory is what a host keeps:
//
//	lock    held by the present life
//	life    its number, in decimal
//	files/  the host's disk
type directory struct {
	path string
	lock *os.File
}

// ErrInUse: another life, of this program or of another one, has the directory.
var ErrInUse = errors.New("real: the directory is in use")

const (
	dirMode  = 0o700
	fileMode = 0o600
)

func openDirectory(path string) (*directory, error) {
	if err := os.MkdirAll(path, dirMode); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	switch err := lockFile(lock); {
	case errors.Is(err, errors.ErrUnsupported):
		lock.Close()
		return nil, fmt.Errorf("a host needs Unix: %w", err)
	case err != nil:
		lock.Close()
		return nil, fmt.Errorf("%w: %s: end the process that has it, or give this host another (%w)", ErrInUse, path, err)
	}
	return &directory{path, lock}, nil
}

func (d *directory) close() error { return d.lock.Close() }

// nextLife counts a life: its number is durable before anybody learns it.
func (d *directory) nextLife() (uint64, error) {
	name := filepath.Join(d.path, "life")
	last := uint64(0)
	switch text, err := os.ReadFile(name); {
	case err == nil:
		if last, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err != nil {
			return 0, fmt.Errorf("%s is damaged: write into it the number of the last life, or one that is surely greater: %w", name, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return 0, err
	}
	life := last + 1
	f, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintln(f, life)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	if err == nil {
		err = syncDirectory(d.path)
	}
	return life, err
}

// syncDirectory makes a directory's entries durable.
func syncDirectory(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
