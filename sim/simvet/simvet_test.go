package simvet_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/simrun-dev/simrun/sim/simvet"
)

// module is the root of this module: the test packages use the real package host.
const module = "../.."

func analyzer(t testing.TB, name string) *analysis.Analyzer {
	t.Helper()
	all := simvet.Analyzers()
	i := slices.IndexFunc(all, func(a *analysis.Analyzer) bool { return a.Name == name })
	require.GreaterOrEqual(t, i, 0)
	return all[i]
}

// Each analyzer finds the misuses planted in the test package of its name, says nothing of what is
// right there, and mends what is mechanical in the package fix below it: see the golden file.
func TestAnalyzers(t *testing.T) {
	for _, name := range simvet.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := "./sim/simvet/testdata/" + name
			run, patterns := analysistest.Run, []string{dir}
			if fixes := slices.Contains([]string{"simgo", "simtime", "simcontext", "simrand", "simchan"}, name); fixes {
				run, patterns = analysistest.RunWithSuggestedFixes, append(patterns, dir+"/fix")
			}
			found := 0
			for _, r := range run(t, module, analyzer(t, name), patterns...) {
				found += len(r.Diagnostics)
			}
			require.NotZero(t, found)
		})
	}
}

// Most of the loops in simmap's other test package could be mended as well.
func TestMapFix(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, module, analyzer(t, "simmap"), "./sim/simvet/testdata/simmap/fix")
}
