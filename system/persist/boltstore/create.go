//simvet:ignore simio,simtime real files are what this package is for

package boltstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

const fileMode = 0o600

// newSuffix is what the names of files on their way to become a store end with, before a random
// number.
const newSuffix = ".new-"

// create makes an empty store, unless there is a file. It is made under another name and gets its own
// when it is durable, so that a process that dies in between leaves no half of a store behind; and
// gets it only if nobody was faster.
func create(path string) error {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+newSuffix)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // or the next Open does
	if err := f.Close(); err != nil {
		return err
	}
	if err := fill(f.Name()); err != nil {
		return err
	}
	// Link does not replace. Who was faster may have taken the other name for a leftover.
	err = os.Link(f.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func fill(path string) error {
	db, err := bolt.Open(path, fileMode, &bolt.Options{Timeout: time.Second})
	if err != nil {
		return err
	}
	return errors.Join(db.Update(createFormat), db.Close())
}

// removeLeftovers removes what processes that died in create have left. The caller has the store.
func removeLeftovers(path string) error {
	names, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Dir(path)), escapeGlob(filepath.Base(path))+newSuffix+"*"))
	if err != nil {
		return fmt.Errorf("boltstore: %w", err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func escapeGlob(s string) string {
	var escaped []byte
	for i := range len(s) {
		switch s[i] {
		case '*', '?', '[', '\\':
			escaped = append(escaped, '\\')
		}
		escaped = append(escaped, s[i])
	}
	return string(escaped)
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
