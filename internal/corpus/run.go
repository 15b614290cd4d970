package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/token"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/atomicfile"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios"
)

// Run is a run that was kept.
type Run struct {
	// Note says what the run has shown.
	Note string `yaml:"note,omitempty"`
	// Mutant is the planted bug that is the one the run has shown; "" is none. With it planted, the
	// run still fails.
	Mutant   string            `yaml:"mutant,omitempty"`
	Seed     uint64            `yaml:"seed"`
	Settings map[string]string `yaml:"settings,omitempty"`
	Strategy string            `yaml:"strategy,omitempty"`
	// Profile is that of the run; it decides whether production code takes its rare paths.
	Profile string `yaml:"profile,omitempty"`
	// Plan is the faults; nil is what the profile draws for the seed.
	Plan *Plan `yaml:"plan,omitempty"`
}

// Plan is a plan of faults within a file.
type Plan struct{ *faults.Plan }

// MarshalYAML implements yaml.BytesMarshaler.
func (p *Plan) MarshalYAML() ([]byte, error) { return p.YAML(), nil }

// UnmarshalYAML implements yaml.BytesUnmarshaler.
func (p *Plan) UnmarshalYAML(text []byte) (err error) {
	p.Plan, err = faults.ParsePlan(text)
	return err
}

// Of is the run of a scenario with some options, with the faults that it has.
func Of(s *scenarios.Scenario, opt scenarios.Options) (*Run, error) {
	plan, err := s.FaultPlan(opt)
	if err != nil {
		return nil, err
	}
	r := &Run{Seed: opt.Seed, Settings: maps.Clone(opt.Settings), Strategy: opt.Strategy, Profile: opt.Profile, Plan: &Plan{plan}}
	if r.Profile == "" {
		r.Profile = rerun.DefaultProfile(s)
	}
	return r, nil
}

// Options are those that repeat the run.
func (r *Run) Options() scenarios.Options {
	opt := scenarios.Options{Seed: r.Seed, Settings: r.Settings, Strategy: r.Strategy, Profile: r.Profile}
	if r.Plan != nil {
		opt.Plan = r.Plan.Plan
	}
	return opt
}

// maxBytes bounds a file; a plan is at most a quarter of a megabyte.
const maxBytes = 1 << 20

// FormatError is a file that is none of a kept run.
type FormatError struct {
	File string
	Err  error
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: not a kept run: %v", filepath.ToSlash(e.File), e.Err)
}

func (e *FormatError) Unwrap() error { return e.Err }

// Read reads a file. What is wrong with its contents is a [*FormatError].
func Read(path string) (*Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	wrong := func(format string, args ...any) (*Run, error) {
		return nil, &FormatError{path, fmt.Errorf(format, args...)}
	}
	switch {
	case !info.Mode().IsRegular():
		return wrong("it is not a regular file")
	case info.Size() > maxBytes:
		return wrong("it is longer than %d KiB", maxBytes>>10)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) || bytes.ContainsRune(text, 0) {
		return wrong("it is not text: save it as UTF-8")
	}
	r, err := parse(text)
	if err != nil {
		return wrong("%w", inFile(err, text))
	}
	return r, nil
}

// inFile words an error of YAML's or of the plan's so that it is one of the file: with positions in
// it, and without types of Go.
func inFile(err error, text []byte) error {
	var ofPlan *faults.PlanError
	if errors.As(err, &ofPlan) && ofPlan.Line > 0 {
		shifted := *ofPlan
		if path, err := yaml.PathString("$.plan"); err == nil {
			if node, err := path.ReadNode(bytes.NewReader(text)); err == nil {
				begin := node.GetToken()
				if begin.Type == token.MappingValueType {
					begin = begin.Prev // the colon's key
				}
				shifted.Line += begin.Position.Line - 1
				shifted.Column += begin.Position.Column - 1
			}
		}
		return &shifted
	}
	var ofType *yaml.TypeError
	if errors.As(err, &ofType) && ofType.StructFieldName != nil {
		_, field, _ := strings.Cut(*ofType.StructFieldName, ".")
		kind := "text"
		if ofType.DstType.Kind() == reflect.Uint64 {
			kind = "a whole number"
		}
		at := ofType.Token.Position
		return fmt.Errorf("line %d column %d: %s must be %s", at.Line, at.Column, strings.ToLower(field), kind)
	}
	var tooLarge *yaml.OverflowError
	if errors.As(err, &tooLarge) {
		at := tooLarge.Token.Position
		return fmt.Errorf("line %d column %d: %s is not a whole number from 0 to %d", at.Line, at.Column, tooLarge.SrcNum, uint64(math.MaxUint64))
	}
	first, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
	if at, problem, ok := strings.Cut(first, "] "); ok && strings.HasPrefix(at, "[") {
		line, column, _ := strings.Cut(at[1:], ":")
		return fmt.Errorf("line %s column %s: %s", line, column, problem)
	}
	return errors.New(first)
}

// parse reads the text of a file.
func parse(text []byte) (*Run, error) {
	documents := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	var r Run
	if err := documents.Decode(&r); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := documents.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one document in it: keep each run in a file of its own")
	}
	// A file that was cut off must not pass for another run, nor a number be rounded to a seed.
	var given map[string]any
	if err := yaml.Unmarshal(text, &given); err != nil {
		return nil, err
	}
	switch given["seed"].(type) {
	case uint64, int64:
	case nil:
		return nil, errors.New("it has no seed")
	default:
		return nil, fmt.Errorf("seed %v is not a whole number", given["seed"])
	}
	if r.Profile != "" {
		if _, err := faults.FindProfile(r.Profile); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

// Write writes the run into a folder, to a file of its own named after its seed, unless it is
// there, and returns the file's path. A file is there as a whole or not at all.
func (r *Run) Write(folder string) (string, error) {
	text, err := yaml.MarshalWithOptions(r, yaml.IndentSequence(true))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		path := filepath.Join(folder, fmt.Sprintf("%d.yaml", r.Seed))
		if n > 1 {
			path = filepath.Join(folder, fmt.Sprintf("%d-%d.yaml", r.Seed, n))
		}
		there, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, atomicfile.Write(path, text)
		case err != nil:
			return "", err
		case bytes.Equal(there, text):
			return path, nil
		}
	}
}
