package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// temporaryPrefix begins the names of directories; the process that made one comes next.
const temporaryPrefix = "simrun-mutants-"

// leftOver is how old a directory must be to be taken for left over: the process that made it may live where its
// number says nothing here, in another container.
const leftOver = time.Hour

// sweep removes what processes that were killed have left behind. What can't be removed, somebody else's say, stays.
func sweep(in string, now time.Time) {
	dirs, err := filepath.Glob(filepath.Join(in, temporaryPrefix+"*-*"))
	if err != nil || runtime.GOOS == "windows" { // where there is no asking whether a process is alive
		return
	}
	for _, dir := range dirs {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), temporaryPrefix), "-")
		pid, err := strconv.Atoi(text)
		if err != nil || pid < 1 {
			continue
		}
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() && now.Sub(info.ModTime()) > leftOver && !alive(pid) {
			_ = os.RemoveAll(dir)
		}
	}
}

// alive says whether there is a process of that number.
func alive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

// temporaries are directories that are to be gone when the program is, however it ends.
type temporaries struct {
	mu   sync.Mutex
	dirs []string
}

// temporary makes a directory, and returns what removes it again.
func (c *Command) temporary() (dir string, remove func(), err error) {
	t := &c.temporaries
	t.mu.Lock()
	defer t.mu.Unlock()
	sweep(os.TempDir(), time.Now())
	dir, err = os.MkdirTemp("", fmt.Sprintf("%s%d-", temporaryPrefix, os.Getpid()))
	if err != nil {
		return "", nil, err
	}
	t.dirs = append(t.dirs, dir)
	return dir, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		_ = os.RemoveAll(dir)
		t.dirs = slices.DeleteFunc(t.dirs, func(d string) bool { return d == dir })
	}, nil
}

// removeAll removes what there is still, before the program is ended in the midst of its work.
func (t *temporaries) removeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, dir := range t.dirs {
		_ = os.RemoveAll(dir)
	}
}
