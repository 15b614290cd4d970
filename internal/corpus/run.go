package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/simrun-dev/simrun/faults"
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

// Read reads a file. The error names it.
func Read(path string) (*Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Run
	if err := yaml.UnmarshalWithOptions(text, &r, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.ToSlash(path), err)
	}
	return &r, nil
}

// Write writes the run into a folder, to a file of its own named after its seed, unless it is
// there, and returns the file's path.
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
			return path, os.WriteFile(path, text, 0o644)
		case err != nil:
			return "", err
		case bytes.Equal(there, text):
			return path, nil
		}
	}
}
