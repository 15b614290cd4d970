package cli

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/simrun-dev/simrun/internal/atomicfile"
)

// asideFile is a report that takes the place of an earlier one when it is closed, whole: a program that is killed
// before leaves the earlier one as it was.
type asideFile struct {
	bytes.Buffer
	path string
}

// openAside makes sure that there can be a file of that path, which flag stands for, and leaves it as it is. What is no
// ordinary file, a pipe or a terminal say, is written to at once.
func openAside(flag, path string) (io.WriteCloser, error) {
	if err := creatable(flag, path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil: // most likely there is none; if there is something else wrong, creating one says so
		probe, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
		if err := errors.Join(probe.Close(), os.Remove(path)); err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
	case !info.Mode().IsRegular():
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
		return file, nil
	default:
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
		if err := file.Close(); err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
	}
	return &asideFile{path: path}, nil
}

// Close puts the report in the place of the one that was there.
func (a *asideFile) Close() error { return atomicfile.Write(a.path, a.Bytes()) }

// closeWritten closes a file, and so puts it in its place, if writing it came to no error.
func closeWritten(file io.Closer, err error) error {
	if err != nil {
		return err
	}
	return file.Close()
}
