package simtest

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/simrun-dev/simrun/internal/corpus"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios"
)

// corpusDir has a directory for each scenario, and in it a file for each run.
const corpusDir = "testdata/seeds"

// corpus runs the scenario's corpus first, each failing run a subtest corpus/FILE. It tells whether
// to go on.
func (r *runner) corpus() bool {
	r.t.Helper()
	files, err := corpus.Files(corpusDir, r.scenario.Name)
	if err != nil {
		r.t.Fatalf("simtest: %v", err)
	}
	passed := true
	for _, path := range files {
		c, err := corpus.Read(path)
		if err == nil {
			err = r.checkCorpusRun(path, c)
		}
		if err != nil {
			r.t.Errorf("simtest: corpus: %v", err)
			passed = false
			continue
		}
		result := rerun.Once(r.ctx, r.scenario, c.Options())
		switch {
		case result.Scenario == "":
			r.t.Errorf("simtest: out of time in the corpus, at %s", path)
			return false
		case result.Verdict != scenarios.Pass:
			passed = false
			r.failCorpus(strings.TrimSuffix(filepath.Base(path), ".yaml"), c, result)
		}
	}
	return passed
}

func (r *runner) checkCorpusRun(path string, c *corpus.Run) error {
	if err := r.scenario.Check(c.Options()); err != nil {
		return fmt.Errorf("%s no longer fits the scenario: %w; adapt or remove it", filepath.ToSlash(path), err)
	}
	return nil
}

func (r *runner) failCorpus(name string, c *corpus.Run, result scenarios.Result) {
	// The subtest's own output says why; a run of the test without -seed runs the corpus again.
	kept := given.keep
	given.keep = false // it is there already
	defer func() { given.keep = kept }()
	r.fail("corpus="+name, c.Options(), result, r.goTest())
}

// keep adds a run to the corpus, with the faults it had, and says where.
func (r *runner) keep(opt scenarios.Options, result scenarios.Result) string {
	c, err := corpus.Of(r.scenario, opt)
	if err != nil {
		return fmt.Sprintf("simtest: not kept: %v", err)
	}
	if len(result.Failures) > 0 {
		c.Note = result.Failures[0].Signature()
	}
	path, err := c.Write(filepath.Join(corpusDir, r.scenario.Name))
	if err != nil {
		return fmt.Sprintf("simtest: not kept: %v", err)
	}
	return "simtest: kept as " + filepath.ToSlash(path)
}
