// Package atomicfile replaces files as a whole: whoever reads, or is killed while writing, has the
// earlier contents or the new ones.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write writes the contents beside the file of that path, and puts them in its place. An earlier file
// keeps its mode, and a symbolic link stays one. In a directory in which nothing can be created, a file
// that can be written to is written over.
func Write(path string, contents []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := os.FileMode(0o644)
	if earlier, err := os.Stat(path); err == nil {
		mode = earlier.Mode().Perm()
	}
	beside, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return os.WriteFile(path, contents, mode)
	}
	_, err = beside.Write(contents)
	err = errors.Join(err, beside.Chmod(mode), beside.Close())
	if err == nil {
		err = os.Rename(beside.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(beside.Name()))
	}
	return nil
}
