package mutants

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/zeebo/xxh3"
)

//go:embed patches
var patches embed.FS

// Mutant is a planted bug.
type Mutant struct {
	// Name is how the command line calls it.
	Name string
	// File is the name of its patch file, without directory.
	File string
	// Scenario is the one whose oracles must find it.
	Scenario string
	// Bug says which real bug it stands for.
	Bug string
	// Settings, each "name=value", and Faults, a profile or a plan, are what the scenario needs to get at
	// the bug; mostly empty.
	Settings []string
	Faults   string
	// Expect names the oracles that may find it.
	Expect []string
	// Survives says why it is not caught, of a mutant that is known not to be; mostly empty.
	Survives string

	files  []*gitdiff.File
	digest string // of the patch file
}

// Number is that in the name of its patch file.
func (m *Mutant) Number() string { return m.File[:min(len(m.File), 3)] }

// Builtin returns the mutants that come with simrun, in the order of their numbers.
func Builtin() ([]*Mutant, error) {
	dir, err := fs.Sub(patches, "patches")
	if err != nil {
		return nil, err
	}
	return Load(dir)
}

// Load reads the files *.patch of a directory, in the order of their names. The error is a
// [*PatchError].
func Load(dir fs.FS) ([]*Mutant, error) {
	names, err := fs.Glob(dir, "*.patch")
	if err != nil {
		return nil, err
	}
	mutants := make([]*Mutant, 0, len(names))
	files := make(map[string]string, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, &PatchError{Patch: name, Err: err}
		}
		m, err := Parse(name, data)
		if err != nil {
			return nil, err
		}
		if other, ok := files[m.Name]; ok {
			return nil, &PatchError{Patch: name, Err: fmt.Errorf("%s is a mutant of the same name", other)}
		}
		files[m.Name] = name
		mutants = append(mutants, m)
	}
	return mutants, nil
}

// PatchError is what is wrong with a patch, be it in itself or for the source it is meant for.
type PatchError struct {
	// Patch is the name of the patch file.
	Patch string
	// Target is the path of the source file in question, from the root of the module; "" if it
	// is about the whole patch.
	Target string
	// Hunk is the number of the hunk in question among those for Target, from 1; 0 is none.
	Hunk int
	Err  error
}

func (e *PatchError) Error() string {
	var at strings.Builder
	at.WriteString(e.Patch)
	if e.Target != "" {
		fmt.Fprintf(&at, ": %s", e.Target)
	}
	if e.Hunk != 0 {
		fmt.Fprintf(&at, ": hunk %d", e.Hunk)
	}
	return fmt.Sprintf("%s: %v", &at, e.Err)
}

func (e *PatchError) Unwrap() error { return e.Err }

var fileName = regexp.MustCompile(`^\d{3}-([a-z0-9]+(?:-[a-z0-9]+)*)\.patch$`)

// Parse reads one patch file; name is that of the file. The error is a [*PatchError].
func Parse(name string, data []byte) (*Mutant, error) {
	fail := func(format string, args ...any) (*Mutant, error) {
		return nil, &PatchError{Patch: name, Err: fmt.Errorf(format, args...)}
	}
	called := fileName.FindStringSubmatch(name)
	if called == nil {
		return fail("the file must be named NNN-some-name.patch: three digits, then the mutant's name")
	}
	files, preamble, err := gitdiff.Parse(bytes.NewReader(data))
	if err != nil {
		return fail("not a unified diff: %w", err)
	}
	if len(files) == 0 {
		return fail("no diff follows the header")
	}
	if headed, parsed := countHunks(data, files); headed != parsed {
		return fail("not a unified diff: %d lines begin with @@, but only %d are the head of a hunk", headed, parsed)
	}
	m := &Mutant{File: name, files: files, digest: fmt.Sprintf("%016x", xxh3.Hash(data))}
	if err := m.parseHeader(preamble); err != nil {
		return nil, &PatchError{Patch: name, Err: err}
	}
	if m.Name != called[1] {
		return fail("the header says %q, the file name %q: they must agree", m.Name, called[1])
	}
	for _, f := range files {
		if err := checkFile(f); err != nil {
			return nil, &PatchError{Patch: name, Target: target(f), Err: err}
		}
	}
	return m, nil
}

// countHunks returns how many lines look like the head of a hunk, and how many hunks were parsed:
// gitdiff takes the rest for remarks between files and passes over it.
func countHunks(data []byte, files []*gitdiff.File) (headed, parsed int) {
	for line := range bytes.Lines(data) {
		if bytes.HasPrefix(line, []byte("@@")) {
			headed++
		}
	}
	for _, f := range files {
		parsed += len(f.TextFragments)
	}
	return headed, parsed
}

// parseHeader reads the lines "Key: value" before the diff. Indented lines continue a value.
func (m *Mutant) parseHeader(header string) error {
	values := map[string]string{}
	key := ""
	for line := range strings.Lines(header) {
		text := strings.TrimSpace(line)
		if text == "" {
			continue
		}
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			if key == "" {
				return fmt.Errorf("the header begins with an indented line, %q", text)
			}
			values[key] += " " + text
			continue
		}
		var ok bool
		var value string
		key, value, ok = strings.Cut(text, ":")
		if !ok || !slices.Contains(headerKeys, key) {
			return fmt.Errorf("header line %q: must be one of %s, followed by a colon; "+
				"lines that continue a value are indented", text, strings.Join(headerKeys, ", "))
		}
		if _, twice := values[key]; twice {
			return fmt.Errorf("the header has two lines %q", key)
		}
		values[key] = strings.TrimSpace(value)
	}
	for _, required := range headerKeys[:4] {
		if values[required] == "" {
			return fmt.Errorf("the header lacks %q", required)
		}
	}
	m.Name, m.Scenario, m.Bug, m.Faults = values["Mutant"], values["Scenario"], values["Bug"], values["Faults"]
	m.Survives = values["Survives"]
	m.Expect, m.Settings = list(values["Expect"]), list(values["Settings"])
	for _, setting := range m.Settings {
		if name, _, ok := strings.Cut(setting, "="); !ok || name == "" {
			return fmt.Errorf("setting %q must be name=value", setting)
		}
	}
	return nil
}

// headerKeys are the keys of a header, the required ones first.
var headerKeys = []string{"Mutant", "Scenario", "Bug", "Expect", "Settings", "Faults", "Survives"}

func list(value string) []string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// target is the path of the file that f changes, from the root of the module.
func target(f *gitdiff.File) string {
	if f.NewName != "" {
		return f.NewName
	}
	return f.OldName
}

var errNotSystem = errors.New("a mutant may only touch Go files in system/ or examples/ that are not tests")

// checkFile returns an error unless the change is one that a mutant may make.
func checkFile(f *gitdiff.File) error {
	name := target(f)
	switch {
	case !strings.HasPrefix(name, "system/") && !strings.HasPrefix(name, "examples/"), path.Clean(name) != name,
		!strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
		return errNotSystem
	case f.IsDelete, f.IsRename, f.IsCopy, f.IsBinary:
		return errors.New("a mutant may only change and add files, not delete, rename or copy them")
	case len(f.TextFragments) == 0:
		return errors.New("no hunk follows the names")
	}
	for i, hunk := range f.TextFragments {
		if !f.IsNew && hunk.OldLines == 0 {
			return fmt.Errorf("hunk %d has no line of context: it could go anywhere", i+1)
		}
	}
	return nil
}
