package simtest

import (
	"fmt"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// report says all there is to say about a run that failed.
func (r *runner) report(opt scenarios.Options, result scenarios.Result, command string) string {
	detail := reports.Detail{Command: command, Strategy: opt.Strategy}
	if also := r.simrunCommand(opt); also != "" {
		detail.Also = append(detail.Also, also)
	}
	if again := rerun.Examine(r.ctx, r.scenario, opt, result, rerun.Watcher{}); again != nil {
		again.Explain(&detail)
		detail.Warning = rerun.NotDeterministic(result, again.Result)
	}
	var b strings.Builder
	b.WriteByte('\n')
	_ = (&reports.Terminal{Out: &b}).Failure(result, detail) // a Builder takes everything
	return b.String()
}

// seedCommand runs a seed of the test again.
func (r *runner) seedCommand(opt scenarios.Options) string {
	return r.goTest(append([]string{seedFlag, fmt.Sprint(opt.Seed)}, overrides()...)...)
}

// goTest is a command that runs this test. Behind the package go test leaves flags alone that it
// does not know.
func (r *runner) goTest(arguments ...string) string {
	words := []string{"go", "test", testedPackage(), "-run", testPattern(r.t)}
	if seedFlag != "-seed" {
		words = append(words, "-tags", "simtest_longflags")
	}
	return rerun.Join(append(words, arguments...))
}

// overrides are the flags of this call that make the runs what they are.
func overrides() []string {
	var flags []string
	for _, name := range slices.Sorted(maps.Keys(given.set)) {
		flags = append(flags, "-simtest.set", name+"="+given.set[name])
	}
	if given.faults != "" {
		flags = append(flags, "-simtest.faults", given.faults)
	}
	if given.strategy != "" {
		flags = append(flags, "-simtest.strategy", given.strategy)
	}
	return flags
}

// testFlags are arguments of simrun as flags of a test binary.
func testFlags(arguments []string) []string {
	flags := make([]string, len(arguments))
	for i, a := range arguments {
		flags[i] = a
		if name, ok := strings.CutPrefix(a, "--"); ok && i%2 == 0 {
			flags[i] = "-simtest." + name
		}
	}
	return flags
}

// testPattern is the value of -run that matches this test only.
func testPattern(t *testing.T) string {
	names := strings.Split(t.Name(), "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return strings.Join(names, "/")
}

// testedPackage is the import path of the package under test, "." if it has none that go test
// takes.
func testedPackage() string {
	info, ok := debug.ReadBuildInfo()
	path := ""
	if ok {
		path = strings.TrimSuffix(info.Path, ".test")
	}
	if path == "" || path == "command-line-arguments" {
		return "."
	}
	return path
}

// simrunCommand runs the same again with a command line that knows the scenario; "" if there is
// none.
func (r *runner) simrunCommand(opt scenarios.Options) string {
	command := r.command
	if command == "" {
		for _, s := range scenarios.Builtin() {
			if s.Name == r.scenario.Name {
				command = "simrun"
			}
		}
	}
	if command == "" {
		return ""
	}
	words := append([]string{"repro", fmt.Sprintf("%s:%d", r.scenario.Name, opt.Seed)}, rerun.FlagsOf(opt).Arguments(r.scenario)...)
	return command + " " + rerun.Join(words)
}
