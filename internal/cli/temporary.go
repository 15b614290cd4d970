package cli

import (
	"os"
	"slices"
	"sync"
)

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
	dir, err = os.MkdirTemp("", "simrun-mutants-")
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
