package simvet

import (
	"reflect"
	"strconv"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
)

const hostPath = "github.com/simrun-dev/simrun/system/host"

// Analyzers returns all analyzers, in the order of the package's documentation. Each call returns new
// ones, with flags of their own: of each, -tests makes it look at test files too.
func Analyzers() []*analysis.Analyzer {
	families := []*analysis.Analyzer{
		newAnalyzer("simgo", "find goroutines that the simulator does not schedule", runGo),
		newAnalyzer("simtime", "find uses of the real clock and of the machine's time zone", realTime.check),
		newAnalyzer("simcontext", "find contexts that the simulator can't wake tasks with", plainContexts.check),
		newAnalyzer("simrand", "find randomness that the seed does not decide", foreignRandomness.check),
		newAnalyzer("simchan", "find bare channels and select statements", runChan),
		newAnalyzer("simsync", "find waiting with package sync, and its locks held while a task waits", runSync, waitsAnalyzer),
		newAnalyzer("simmap", "find loops over maps, and slices of their keys, where the order shows", runMap, effectsAnalyzer),
		newAnalyzer("simio", "find real input and output", runIO),
	}
	return append(families, newAnalyzer("simignore",
		"find //simvet:ignore comments without a reason, without an effect, or of unknown checks", runIgnore, families...))
}

// Names returns the analyzers' names.
func Names() []string { return names(Analyzers()) }

// TestsFlag is the name of each analyzer's flag for looking at test files too.
const TestsFlag = "tests"

// newAnalyzer makes an analyzer whose result is the ignore directives that it heeded.
func newAnalyzer(name, doc string, run func(*checker) error, requires ...*analysis.Analyzer) *analysis.Analyzer {
	a := &analysis.Analyzer{
		Name:       name,
		Doc:        doc,
		URL:        "https://pkg.go.dev/github.com/simrun-dev/simrun/sim/simvet",
		Requires:   append([]*analysis.Analyzer{inspect.Analyzer, directivesAnalyzer}, requires...),
		ResultType: reflect.TypeFor[heeded](),
		Run: func(pass *analysis.Pass) (any, error) {
			c, err := newChecker(pass)
			if err != nil {
				return nil, err
			}
			err = run(c)
			return c.heeded, err
		},
	}
	a.Flags.Bool(TestsFlag, false, "look at test files too")
	return a
}

// includesTests tells whether an analyzer's flag -tests is set.
func includesTests(a *analysis.Analyzer) (bool, error) {
	return strconv.ParseBool(a.Flags.Lookup(TestsFlag).Value.String())
}
