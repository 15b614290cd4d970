package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/scenarios"
)

func TestShrink(t *testing.T) {
	t.Chdir(t.TempDir())
	got := call(t, words("shrink fussy:14 --faults chaos --strategy pct")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, "FAIL fussy seed 14\n  fussy/number: seed 14 is divided by 1\n")
	require.Contains(t, got.stdout, "reproduce  simrun repro fussy-14.shrunk.jsonl\n")
	require.Regexp(t, `shrunk 0 of \d+ faults left, divisor=1 \(was 7\), duration=11.3s \(was 15s\)\n  \d+ runs in \S+\n  written to fussy-14.shrunk.jsonl\n$`, got.stdout)

	data, err := os.ReadFile("fussy-14.shrunk.jsonl")
	require.NoError(t, err)
	all := records(t, string(data))
	require.Len(t, all, 1)
	require.Equal(t, "simrun repro fussy:14 --set divisor=1 --set duration=11.3s --faults '{profile: calm, seed: 14, faults: []}' --strategy fifo", all[0].Repro)
	again := call(t, words("repro fussy-14.shrunk.jsonl")...)
	require.Equal(t, 1, again.status, again.stderr)
	require.Empty(t, again.stderr, "the same hash")
	require.Contains(t, again.stdout, "trace hash "+all[0].TraceHash)

	// What cannot be made smaller stays as it is.
	same := call(t, words("shrink fussy-14.shrunk.jsonl --output -")...)
	require.Equal(t, 0, same.status, same.stderr)
	require.Equal(t, wallTime.ReplaceAllString(string(data), ""), wallTime.ReplaceAllString(same.stdout, ""))
	require.Contains(t, same.stderr, "shrunk 0 of 0 faults left\n")
}

// wallTime is what differs between two records of the same run.
var wallTime = regexp.MustCompile(`"wall_ns":\d+,`)

func TestShrinkFile(t *testing.T) {
	dir := t.TempDir()
	results, small := filepath.Join(dir, "results.jsonl"), filepath.Join(dir, "small.jsonl")
	require.Equal(t, 1, call(t, append(words("run fussy --seeds 1-20 --keep-going --set divisor=9 --json"), results)...).status)
	got := call(t, "shrink", results, "--output", small, "--workers", "2")
	require.Equal(t, 0, got.status, got.stderr)
	require.Equal(t, "simrun: shrink: of the 2 runs that failed, the first is shrunk, fussy:9\n", got.stderr)
	require.Equal(t, 1, call(t, "repro", small).status)
}

func TestShrinkMutant(t *testing.T) {
	inVictim(t, calmSource)
	got := call(t, words("shrink calm:3 --mutant sleepless --set pace=1s --for 5s --workers 1")...)
	require.Equal(t, 42, got.status, got.stderr)
	require.Equal(t, "sleepless fail shrink calm:3 --set pace=1s --mutant sleepless --for 5s --output calm-3.shrunk.jsonl --workers 1 simrun\n", got.stdout)
}

func TestShrinkOfWhatCannotBe(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("passed.jsonl", []byte(call(t, words("run calm --seeds 1-3 --json -")...).stdout), 0o644))
	require.NoError(t, os.WriteFile("empty.jsonl", nil, 0o644))
	for line, want := range map[string]string{
		"shrink":                               "simrun: shrink: takes one SCENARIO:SEED or FILE, not 0\n",
		"shrink fussy:14 fussy:7":              "simrun: shrink: takes one SCENARIO:SEED or FILE, not 2\n",
		"shrink fussy":                         "simrun: shrink fussy: which seed? Write it like fussy:17\n",
		"shrink fussy:x":                       `simrun: shrink fussy:x: "x" is not a seed: seeds are whole numbers from 0` + "\n",
		"shrink nothing.jsonl":                 `simrun: shrink: there is no file "nothing.jsonl", and SCENARIO:SEED is written like shard:17` + "\n",
		"shrink .":                             "simrun: shrink: . is a directory: give a file written by run --json\n",
		"shrink empty.jsonl":                   "simrun: shrink: empty.jsonl has no records: it must be a file written by run --json\n",
		"shrink passed.jsonl":                  "simrun: shrink: passed.jsonl: none of the 3 runs failed: there is nothing to shrink\n",
		"shrink fussy:15":                      "simrun: shrink: fussy seed 15 does not fail: its verdict is pass: there is nothing to shrink\n",
		"shrink fussy:14 --for 0s":             "simrun: shrink: --for: 0s is no time at all: give a duration above 0\n",
		"shrink fussy:14 --for 1ns":            "simrun: shrink: time was up before the run had ended once: --for 1ns is too short\n",
		"shrink fussy:14 --output no/such.dir": "simrun: --output: there is no directory no to write no/such.dir to\n",
		"shrink fussy:14 --output .":           "simrun: --output: . is a directory: give a file\n",
		"shrink fussy:14 --set divisr=3":       `simrun: --set divisr=3: scenario fussy has no setting "divisr"; did you mean divisor? There are: divisor, duration, settle` + "\n",
	} {
		got := call(t, words(line)...)
		require.Equal(t, 2, got.status, line)
		require.Equal(t, want, got.stderr, line)
		require.Empty(t, got.stdout, line)
	}
	got := call(t, words("shrink vague:1")...)
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stderr, "simrun: shrink: vague seed 1 does not fail: its verdict is unknown: vacuous: ")
	files, err := filepath.Glob("*.shrunk.jsonl")
	require.NoError(t, err)
	require.Empty(t, files)
}

// A run that comes out differently is not passed off as one that fails.
func TestShrinkOfWhatIsNotDeterministic(t *testing.T) {
	t.Chdir(t.TempDir())
	runs := 0
	s := &scenarios.Scenario{Name: "fickle", Build: func(r *scenarios.Run) {
		build(r)
		runs++
		mood := runs
		r.World.Go("sulk", func() { r.World.Fail("fickle/mood", "mood %d", mood) })
	}}
	var stdout, stderr strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: []*scenarios.Scenario{s}, Stdout: &stdout, Stderr: &stderr}
	require.Equal(t, 3, c.Run(context.Background(), words("shrink fickle:1 --workers 1")))
	require.Contains(t, stderr.String(), "shrink: nothing is written: the run is not deterministic: trace_hash was ")
	require.NoFileExists(t, "fickle-1.shrunk.jsonl")
}

func TestShrinkInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancelCause(context.Background())
	runs := 0
	s := &scenarios.Scenario{Name: "frail", Build: func(r *scenarios.Run) {
		build(r)
		if runs++; runs == 8 {
			cancel(&cli.Interrupted{Signal: os.Interrupt})
		}
		r.World.Go("break", func() { r.World.Fail("frail/glass", "broken") })
	}}
	var stdout, stderr strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: []*scenarios.Scenario{s}, Stdout: &stdout, Stderr: &stderr}
	require.Equal(t, 130, c.Run(ctx, words("shrink frail:1 --workers 1")), stderr.String())
	require.Contains(t, stdout.String(), ": time was up, a longer search may find a smaller one\n")
	require.FileExists(t, "frail-1.shrunk.jsonl")
}

// A file with all the runs of a campaign is not replaced by one of them.
func TestShrinkIntoItsOwnInput(t *testing.T) {
	t.Chdir(t.TempDir())
	require.Equal(t, 1, call(t, words("run fussy --seeds 7 --json results.jsonl")...).status)
	before, err := os.ReadFile("results.jsonl")
	require.NoError(t, err)
	got := call(t, words("shrink results.jsonl --output ./results.jsonl")...)
	require.Equal(t, 2, got.status)
	require.Equal(t, "simrun: shrink: --output: ./results.jsonl is the file that is read: give another one, or it is lost\n", got.stderr)
	after, err := os.ReadFile("results.jsonl")
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestFilesWithoutLines(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("huge", nil, 0o644))
	require.NoError(t, os.Truncate("huge", 3<<30)) // of holes
	for _, command := range []string{"repro", "shrink"} {
		got := call(t, command, "huge")
		require.Equal(t, 2, got.status)
		require.Equal(t, "simrun: "+command+": huge: line 1: the line is longer than 16 MiB, which no record is; it must be a file written by run --json\n", got.stderr)
	}
}
