package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// overlayName is the file that tells the go command which files stand for which.
const overlayName = "overlay.json"

// Overlay writes the patched files, and overlay.json for `go build -overlay`, to dir. tree is the
// root of the module's source, which is only read. It returns the path of overlay.json. If the
// patch no longer applies the error is a [*PatchError] naming file and hunk.
func (m *Mutant) Overlay(tree, dir string) (string, error) {
	tree, err := filepath.Abs(tree)
	if err != nil {
		return "", err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for i, f := range m.files {
		patched, err := m.patch(tree, f)
		if err != nil {
			return "", err
		}
		replacement := filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(target(f))))
		if err := os.WriteFile(replacement, patched, 0o644); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(tree, filepath.FromSlash(target(f)))] = replacement
	}
	data, err := json.MarshalIndent(overlay, "", "\t")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, overlayName)
	return path, os.WriteFile(path, data, 0o644)
}

// patch returns the contents of a file with its part of the patch applied.
func (m *Mutant) patch(tree string, f *gitdiff.File) ([]byte, error) {
	path := filepath.Join(tree, filepath.FromSlash(target(f)))
	source, err := os.ReadFile(path)
	switch {
	case f.IsNew && err == nil:
		return nil, &PatchError{Patch: m.File, Target: target(f), Err: errors.New("the file that the patch adds exists")}
	case f.IsNew && os.IsNotExist(err):
		source = nil
	case err != nil:
		return nil, &PatchError{Patch: m.File, Target: target(f), Err: err}
	default:
		if f, err = relocate(f, source); err != nil {
			return nil, m.applyError(f, err)
		}
	}
	var patched bytes.Buffer
	if err := gitdiff.Apply(&patched, bytes.NewReader(source), f); err != nil {
		return nil, m.applyError(f, err)
	}
	return patched.Bytes(), nil
}

// applyError adds which hunk of which file it is about.
func (m *Mutant) applyError(f *gitdiff.File, err error) error {
	e := &PatchError{Patch: m.File, Target: target(f), Err: err}
	var misplaced *misplacedError
	var applying *gitdiff.ApplyError
	switch {
	case errors.As(err, &misplaced):
		e.Hunk = misplaced.hunk
	case errors.As(err, &applying):
		e.Hunk = applying.Fragment
	}
	e.Err = fmt.Errorf("no longer applies: %w; adapt the patch to the source", err)
	return e
}

// misplacedError is a hunk, numbered from 1, whose old lines are not in exactly one place.
type misplacedError struct {
	hunk   int
	places []int // line numbers, from 1
}

func (e *misplacedError) Error() string {
	if len(e.places) == 0 {
		return "the lines it expects are not in the file"
	}
	return fmt.Sprintf("the lines it expects are in the file more than once, at lines %s: "+
		"it needs more context (git diff -U9)", strings.Trim(fmt.Sprint(e.places), "[]"))
}

// relocate returns the change with the positions of its hunks as they are in source. gitdiff
// insists on the positions in the patch, which drift with every edit further up; what matters is
// that the old lines are there, exactly and in only one place.
func relocate(f *gitdiff.File, source []byte) (*gitdiff.File, error) {
	lines := strings.SplitAfter(string(source), "\n")
	moved := *f
	moved.TextFragments = nil
	from := 0 // hunks are in order, so look behind the last one
	for i, hunk := range f.TextFragments {
		var old []string
		for _, line := range hunk.Lines {
			if line.Old() {
				old = append(old, line.Line)
			}
		}
		places := occurrences(lines, old, from)
		if len(places) != 1 {
			return f, &misplacedError{hunk: i + 1, places: places}
		}
		at := places[0]
		copied := *hunk
		copied.NewPosition += int64(at) - copied.OldPosition
		copied.OldPosition = int64(at)
		moved.TextFragments = append(moved.TextFragments, &copied)
		from = at - 1 + len(old)
	}
	return &moved, nil
}

// occurrences returns the line numbers, from 1, at which the lines of old begin.
func occurrences(lines, old []string, from int) []int {
	var places []int
	for start := from; start+len(old) <= len(lines); start++ {
		if slices.Equal(lines[start:start+len(old)], old) {
			places = append(places, start+1)
		}
	}
	return places
}
