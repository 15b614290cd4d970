package cli

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
)

// ledgerLine bounds the lines of the file of --resume; those of hunts have some hundred bytes.
const ledgerLine = 1 << 20

// checkLedgerFile returns an error if the file of --resume is none that hunts can be kept in. It is read as a whole
// later, so that something else, of any size, must be refused before.
func checkLedgerFile(path string) error {
	if path == "" {
		return nil
	}
	if err := creatable("--resume", path); err != nil {
		return err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return usagef("--resume: %w", err)
	}
	defer file.Close()
	in := bufio.NewReader(file)
	line, length := 1, 0
	for {
		part, err := in.ReadSlice('\n')
		length += len(part)
		switch {
		case length > ledgerLine:
			return usagef("--resume: %s: line %d is longer than any that a hunt writes: give a file written by --resume, or a new one", path, line)
		case err == nil:
			line, length = line+1, 0
		case errors.Is(err, io.EOF):
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return usagef("--resume: %w", err)
		}
	}
}

// torn says whether a file ends within a line.
func torn(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	end, err := file.Seek(-1, io.SeekEnd)
	if err != nil {
		return false // it is empty
	}
	last := make([]byte, 1)
	_, err = file.ReadAt(last, end)
	return err == nil && last[0] != '\n'
}
