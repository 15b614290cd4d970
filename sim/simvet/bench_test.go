package simvet_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/simrun-dev/simrun/sim/simvet"
)

// BenchmarkAnalyze analyses a package and all that it imports, without loading them.
func BenchmarkAnalyze(b *testing.B) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule}, "./testdata/simmap")
	require.NoError(b, err)
	require.Empty(b, loaded[0].Errors)
	lines := 0
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, f := range p.Syntax {
			lines += p.Fset.File(f.FileStart).LineCount()
		}
	})
	for b.Loop() {
		graph, err := checker.Analyze(simvet.Analyzers(), loaded, nil)
		require.NoError(b, err)
		require.NotEmpty(b, graph.Roots)
	}
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

// BenchmarkCheck is all of it, from the go command's list of packages on.
func BenchmarkCheck(b *testing.B) {
	for b.Loop() {
		findings, err := simvet.Check(b.Context(), simvet.Options{}, "./testdata/simmap")
		require.NoError(b, err)
		require.NotEmpty(b, findings)
	}
}
