package simtest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios"
)

// corpusDir has a directory for each scenario, and in it a file for each run.
const corpusDir = "testdata/seeds"

// corpusRun is a run of the corpus: all that decides it, and no trace hash, since it is to
// outlive changes of the code.
type corpusRun struct {
	// Note says what the run has shown.
	Note     string            `yaml:"note,omitempty"`
	Seed     uint64            `yaml:"seed"`
	Settings map[string]string `yaml:"settings,omitempty"`
	Strategy string            `yaml:"strategy,omitempty"`
	// Profile is that of the run; it decides whether production code takes its rare paths.
	Profile string `yaml:"profile,omitempty"`
	// Plan is the faults; nil is what the profile draws for the seed.
	Plan *corpusPlan `yaml:"plan,omitempty"`
}

func (c *corpusRun) options() scenarios.Options {
	opt := scenarios.Options{Seed: c.Seed, Settings: c.Settings, Strategy: c.Strategy, Profile: c.Profile}
	if c.Plan != nil {
		opt.Plan = c.Plan.Plan
	}
	return opt
}

// corpusPlan is a plan of faults within a file.
type corpusPlan struct{ *faults.Plan }

// MarshalYAML implements yaml.BytesMarshaler.
func (p *corpusPlan) MarshalYAML() ([]byte, error) { return p.YAML(), nil }

// UnmarshalYAML implements yaml.BytesUnmarshaler.
func (p *corpusPlan) UnmarshalYAML(text []byte) (err error) {
	p.Plan, err = faults.ParsePlan(text)
	return err
}

// corpusFiles are the files of a scenario, in the order of their names.
func corpusFiles(scenario string) ([]string, error) {
	files, err := fs.Glob(os.DirFS(filepath.Join(corpusDir, scenario)), "*.yaml")
	slices.Sort(files)
	return files, err
}

func readCorpusRun(path string) (*corpusRun, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var c corpusRun
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.ToSlash(path), err)
	}
	return &c, nil
}

// corpus runs the scenario's corpus first, each failing run a subtest corpus/FILE. It tells whether
// to go on.
func (r *runner) corpus() bool {
	r.t.Helper()
	files, err := corpusFiles(r.scenario.Name)
	if err != nil {
		r.t.Fatalf("simtest: %v", err)
	}
	passed := true
	for _, name := range files {
		path := filepath.Join(corpusDir, r.scenario.Name, name)
		c, err := readCorpusRun(path)
		if err == nil {
			err = r.checkCorpusRun(path, c)
		}
		if err != nil {
			r.t.Errorf("simtest: corpus: %v", err)
			passed = false
			continue
		}
		result := rerun.Once(r.ctx, r.scenario, c.options())
		switch {
		case result.Scenario == "":
			r.t.Errorf("simtest: out of time in the corpus, at %s", path)
			return false
		case result.Verdict != scenarios.Pass:
			passed = false
			r.failCorpus(strings.TrimSuffix(name, ".yaml"), c, result)
		}
	}
	return passed
}

func (r *runner) checkCorpusRun(path string, c *corpusRun) error {
	if err := r.scenario.Check(c.options()); err != nil {
		return fmt.Errorf("%s no longer fits the scenario: %w; adapt or remove it", filepath.ToSlash(path), err)
	}
	return nil
}

func (r *runner) failCorpus(name string, c *corpusRun, result scenarios.Result) {
	// The subtest's own output says why; a run of the test without -seed runs the corpus again.
	kept := given.keep
	given.keep = false // it is there already
	defer func() { given.keep = kept }()
	r.fail("corpus="+name, c.options(), result, r.goTest())
}

// keep adds a run to the corpus, with the faults it had, and says where.
func (r *runner) keep(opt scenarios.Options, result scenarios.Result) string {
	plan, err := r.scenario.FaultPlan(opt)
	if err != nil {
		return fmt.Sprintf("simtest: not kept: %v", err)
	}
	c := &corpusRun{Seed: opt.Seed, Settings: maps.Clone(opt.Settings), Strategy: opt.Strategy, Profile: opt.Profile, Plan: &corpusPlan{plan}}
	if c.Profile == "" {
		c.Profile = rerun.DefaultProfile(r.scenario)
	}
	if len(result.Failures) > 0 {
		c.Note = result.Failures[0].Signature()
	}
	path, err := c.write(filepath.Join(corpusDir, r.scenario.Name))
	if err != nil {
		return fmt.Sprintf("simtest: not kept: %v", err)
	}
	return "simtest: kept as " + filepath.ToSlash(path)
}

// write writes the run to a file of its own named after its seed, unless it is there.
func (c *corpusRun) write(dir string) (string, error) {
	text, err := yaml.MarshalWithOptions(c, yaml.IndentSequence(true))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		path := filepath.Join(dir, fmt.Sprintf("%d.yaml", c.Seed))
		if n > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%d-%d.yaml", c.Seed, n))
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
