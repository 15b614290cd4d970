package mutants

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/simrun-dev/simrun/scenarios"
)

// Ledger keeps the campaigns of hunts in a file, so that a hunt that was interrupted goes on where it
// was: a line of JSON each, with a key that is a hash of the patch and of all source. When either
// changes, the mutant is hunted anew.
type Ledger struct {
	mu      sync.Mutex
	file    *os.File
	entries map[string]entry // by key and seeds
}

// entry is a line of the file.
type entry struct {
	Key    string `json:"key"`
	Mutant string `json:"mutant"`
	Seeds  string `json:"seeds"`
	Chase  Chase  `json:"chase"`
}

// LedgerError is a line of a ledger's file that is none.
type LedgerError struct {
	File string
	Line int // from 1
	Err  error
}

func (e *LedgerError) Error() string {
	return fmt.Sprintf("%s: line %d is not that of a hunt: %v", e.File, e.Line, e.Err)
}

func (e *LedgerError) Unwrap() error { return e.Err }

// OpenLedger opens the file, or creates it. A last line that was cut off, since the hunt was killed as
// it wrote, is dropped. The error may be a [*LedgerError].
func OpenLedger(name string) (*Ledger, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	l := &Ledger{file: file, entries: map[string]entry{}}
	if err := l.read(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

func (l *Ledger) read() error {
	data, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	n := 0
	for line := range bytes.Lines(whole) {
		n++
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return &LedgerError{l.file.Name(), n, err}
		}
		if e.Key == "" || e.Seeds == "" {
			return &LedgerError{l.file.Name(), n, errors.New("it has no key or no seeds")}
		}
		l.entries[e.Key+e.Seeds] = e
	}
	if n == 0 && len(data) > 0 && data[0] != '{' {
		return &LedgerError{l.file.Name(), 1, errors.New("it is not JSON")} // nothing to be written over
	}
	if err := l.file.Truncate(int64(len(whole))); err != nil {
		return err
	}
	_, err = l.file.Seek(0, io.SeekEnd)
	return err
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }

// find is the campaign over some seeds, if it is known. A nil ledger knows none.
func (l *Ledger) find(key string, seeds scenarios.Seeds) (Chase, bool) {
	if l == nil {
		return Chase{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[key+seeds.String()]
	return e.Chase, ok
}

// stale is how many of its campaigns are against mutants with these keys, by name, as they or the
// source were before. A nil ledger has none.
func (l *Ledger) stale(keys map[string]string) int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, e := range l.entries {
		if key, hunted := keys[e.Mutant]; hunted && key != e.Key {
			n++
		}
	}
	return n
}

// add adds a campaign. It is in the file when add returns.
func (l *Ledger) add(key string, m *Mutant, seeds scenarios.Seeds, c Chase) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := entry{key, m.Name, seeds.String(), c}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.entries[key+seeds.String()] = e
	_, err = l.file.Write(append(line, '\n'))
	return err
}

// key is what the outcome of a hunt for a mutant depends on beside its seeds.
func (m *Mutant) key(source, command string) string {
	h := xxh3.New()
	for _, part := range []string{m.File, m.digest, source, command} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	sum := h.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}

// Digest is a hash of all source that a command is built from: of the Go files of the tree that are
// not tests, and of those of the main module, if that is another one.
func (t Tree) Digest() (string, error) {
	h := xxh3.New()
	roots := []string{t.Dir}
	if rel, err := filepath.Rel(t.Dir, t.workDir()); err != nil || !filepath.IsLocal(rel) {
		roots = append(roots, t.workDir())
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := d.Name()
			if d.IsDir() {
				if path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
					return fs.SkipDir
				}
				return nil
			}
			isSource := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
			if !isSource && name != "go.mod" && name != "go.sum" {
				return nil
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			_, _ = fmt.Fprintf(h, "%s\x00%d\x00%s", filepath.ToSlash(rel), len(content), content)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	sum := h.Sum128().Bytes()
	return hex.EncodeToString(sum[:]), nil
}
