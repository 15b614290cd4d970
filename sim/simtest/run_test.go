package simtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim/simtest"
)

const thisPackage = "github.com/simrun-dev/simrun/sim/simtest"

func TestRunPasses(t *testing.T) {
	out, passed := victim(t, t.TempDir(), "TestPasses")
	require.True(t, passed, out)
	require.NotContains(t, out, "seeds")

	out, passed = victim(t, t.TempDir(), "TestPasses", "-test.v")
	require.True(t, passed, out)
	require.Contains(t, out, "fussy: 60 seeds in ", "-v prints the summary")
	require.Contains(t, out, "fussy: met a thirteen")
}

func TestRunFails(t *testing.T) {
	out, passed := victim(t, t.TempDir(), "TestFails")
	require.False(t, passed)
	require.Contains(t, out, "--- FAIL: TestFails/seed=7 ")
	require.Contains(t, out, "FAIL fussy seed 7\n")
	require.Contains(t, out, "fussy/number: seed 7 is divided by 7\n")
	require.Contains(t, out, "at virtual 10.000s (event ")
	require.Contains(t, out, "in force ")
	require.Regexp(t, `last log lines\n.*looking at 7\n`, out)
	require.Regexp(t, `last events\n`, out)
	require.Contains(t, out, "reproduce  go test "+thisPackage+" -run '^TestFails$' -seed 7\n")
	require.NotContains(t, out, "simrun repro", "no command line knows the scenario")
	require.Contains(t, out, "FAIL fussy seed 28: as TestFails/seed=7\n")
	require.Contains(t, out, "reproduce: go test "+thisPackage+" -run '^TestFails$' -seed 28\n")
	require.Equal(t, 4, strings.Count(out, "--- FAIL: TestFails/"))
}

// The command that is printed runs the seed again, and comes to the same.
func TestRunReproduces(t *testing.T) {
	out, _ := victim(t, t.TempDir(), "TestFails")
	again, passed := victim(t, t.TempDir(), "TestFails", "-test.run", "^TestFails$", "-seed", "7")
	require.False(t, passed)
	require.Equal(t, 1, strings.Count(again, "--- FAIL: TestFails/"))
	require.Equal(t, between(out, "trace hash ", "\n"), between(again, "trace hash ", "\n"))

	for flags, passes := range map[string]bool{
		"-seed 8": true, "-simtest.seed=14": false, "-seeds 1-6,8-9": true, "-seeds 5-20": false,
		"-seed 8 -simtest.set divisor=4": false, "-seed 7 -simtest.set divisor=4 -simtest.faults calm": true, "-test.short": true,
	} {
		out, passed := victim(t, t.TempDir(), "TestFails", strings.Fields(flags)...)
		require.Equal(t, passes, passed, "%s\n%s", flags, out)
	}
	out, _ = victim(t, t.TempDir(), "TestFails", "-seed", "8", "-simtest.set", "divisor=4", "-simtest.strategy", "pct")
	require.Contains(t, out, "-seed 8 -simtest.set divisor=4 -simtest.strategy pct\n")
}

func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}

func TestRunInSubtestKnownToACommand(t *testing.T) {
	out, passed := victim(t, t.TempDir(), "TestWithin")
	require.False(t, passed)
	require.Contains(t, out, "-run '^TestWithin$/^a_part$' -seed 7\n")
	require.Contains(t, out, "go run ./cmd/fussy repro fussy:7 --strategy pct\n")
}

func TestRunEndsAfterTenFailures(t *testing.T) {
	out, passed := victim(t, t.TempDir(), "TestFailsMuch")
	require.False(t, passed)
	require.Equal(t, 10, strings.Count(out, "--- FAIL: TestFailsMuch/"))
	require.Contains(t, out, "ended after 10 failing seeds")
}

func TestRunFailsWhatCannotBeJudged(t *testing.T) {
	out, passed := victim(t, t.TempDir(), "TestVague")
	require.False(t, passed)
	require.Contains(t, out, "UNKNOWN vague seed 1\n")
	require.Contains(t, out, "vacuous: no operation succeeded")
	require.Contains(t, out, "UNKNOWN vague seed 2: as TestVague/seed=1\n")
}

func TestRunRefusesWrongSettings(t *testing.T) {
	out, passed := victim(t, t.TempDir(), "TestMistaken")
	require.False(t, passed)
	require.Contains(t, out, "scenario fussy cannot run like this: setting divider: scenario fussy has no such setting")
}

func TestMustReach(t *testing.T) {
	out, passed := victim(t, t.TempDir(), "TestBlind")
	require.False(t, passed)
	require.Contains(t, out, "reached by no seed of fussy: fussy: met a thirteen")
	out, passed = victim(t, t.TempDir(), "TestBlind", "-seed", "5")
	require.True(t, passed, out)
	out, passed = victim(t, t.TempDir(), "TestSees")
	require.True(t, passed, out)
}

func TestRunSaysWhatItHasWhenTimeIsUp(t *testing.T) {
	out, passed := victim(t, t.TempDir(), "TestOutOfTime", "-test.timeout=3s", "-test.v")
	require.False(t, passed)
	require.Regexp(t, "out of time: [1-9][0-9]* of the 1000000000 seeds of calm ran before go test's -timeout", out)
	require.Contains(t, out, "calm: ", "the summary of what it did")
	require.NotContains(t, out, "panic: test timed out")
}

// A run that nothing ends is given up before go test ends everything without a word.
func TestRunsThatNeverEnd(t *testing.T) {
	t.Parallel()
	for name, problem := range map[string]string{
		"TestStuck":      "the runs of these seeds of stuck did not stop when told to, and were given up: [1",
		"TestCheckStuck": "simtest: out of time: seed ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, passed := victim(t, t.TempDir(), name, "-test.timeout=17s")
			require.False(t, passed)
			require.Contains(t, out, problem)
			require.NotContains(t, out, "panic: test timed out")
		})
	}
}

func TestCorpus(t *testing.T) {
	dir := t.TempDir()
	out, passed := victim(t, dir, "TestFails", "-simtest.keep", "-seed", "7")
	require.False(t, passed)
	require.Contains(t, out, "kept as testdata/seeds/fussy/7.yaml\n")
	file := filepath.Join(dir, "testdata", "seeds", "fussy", "7.yaml")
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(kept), "note: \"fussy/number: seed # is divided by #\"\nseed: 7\n")
	require.Contains(t, string(kept), "plan:\n  profile: default\n  seed: 7\n  faults:\n")

	// It comes first, before any seed, and is the same run.
	again, passed := victim(t, dir, "TestFails", "-simtest.keep")
	require.False(t, passed)
	require.Equal(t, 1, strings.Count(again, "--- FAIL: TestFails/"), again)
	require.Contains(t, again, "--- FAIL: TestFails/corpus=7 ")
	require.Equal(t, between(out, "trace hash ", "\n"), between(again, "trace hash ", "\n"))
	require.Contains(t, again, "reproduce  go test "+thisPackage+" -run '^TestFails$'\n")

	// A run that is there already is not added again.
	_, _ = victim(t, dir, "TestFails", "-simtest.keep", "-seed", "7")
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "seeds", "fussy", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)

	// Another test of the scenario runs it as well, with its own settings.
	out, passed = victim(t, dir, "TestPasses")
	require.False(t, passed, out)

	for text, problem := range map[string]string{
		"seed: 7\nsetings: {}\n":                                     "7.yaml: ",
		"seed: 7\nsettings: {dividend: \"3\"}\n":                     "no longer fits the scenario: setting dividend",
		"seed: 7\nplan:\n  faults:\n  - {kind: magic, from: 1s}\n":   "magic",
		"seed: 8\nplan:\n  faults: []\nsettings: {divisor: \"8\"}\n": "seed 8 is divided by 8",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		out, passed := victim(t, dir, "TestFails")
		require.False(t, passed)
		require.Contains(t, out, problem)
	}
	require.NoError(t, os.WriteFile(file, []byte("seed: 8\n"), 0o644))
	out, passed = victim(t, dir, "TestPasses")
	require.True(t, passed, out)
}

// Run in the process itself, as users call it, over a scenario that comes with simrun.
func TestShard(t *testing.T) {
	for _, s := range scenarios.Builtin() {
		if s.Name == "shard" {
			simtest.Run(t, s, simtest.Seeds(3))
		}
	}
}
