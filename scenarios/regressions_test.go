package scenarios_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/internal/corpus"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

// Runs in which simulations, or readings with their help, have found bugs of the system under
// test. Each bug is mended, and the run passes. With the mutant planted that the file names it failed
// when it was kept: simrun repro FILE --mutant NAME.
func TestRegressions(t *testing.T) {
	bugs, err := mutants.Builtin()
	require.NoError(t, err)
	planted := map[string]bool{}
	for _, m := range bugs {
		planted[m.Name] = true
	}
	ran := 0
	for _, s := range scenarios.Builtin() {
		files, err := corpus.Files(filepath.Join("testdata", "seeds"), s.Name)
		require.NoError(t, err)
		for _, file := range files {
			ran++
			t.Run(filepath.ToSlash(file), func(t *testing.T) {
				t.Parallel()
				kept, err := corpus.Read(file)
				require.NoError(t, err)
				require.NotEmpty(t, kept.Note)
				require.True(t, kept.Mutant == "" || planted[kept.Mutant], "there is no mutant %q", kept.Mutant)
				require.NoError(t, s.Check(kept.Options()))
				r := s.Execute(context.Background(), kept.Options())
				require.Equal(t, scenarios.Pass, r.Verdict, "%s: %+v", kept.Note, r.Failures)
			})
		}
	}
	require.NotZero(t, ran)
}
