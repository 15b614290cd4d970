package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/scenarios"
)

func TestReproFailure(t *testing.T) {
	got := call(t, words("repro fussy:14")...)
	require.Equal(t, 1, got.status)
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, "FAIL fussy seed 14\n  fussy/number: seed 14 is divided by 7\n    at virtual 10.000s (event ")
	require.Contains(t, got.stdout, "\n  in force   ")
	require.Contains(t, got.stdout, "\n  plan\n    ")
	require.Contains(t, got.stdout, "\n  last events\n    ")
	require.Regexp(t, ` FAIL +simrun/object fussy/number: seed 14 is divided by 7\n  reproduce  simrun repro fussy:14\n$`, got.stdout,
		"the last of the last events is the failure")
	require.NotContains(t, got.stdout, "warning")
}

func TestReproPassAndUnknown(t *testing.T) {
	got := call(t, words("repro fussy:15")...)
	require.Equal(t, 0, got.status)
	require.Regexp(t, `^PASS fussy seed 15: .*, trace hash [0-9a-f]{16}\n$`, got.stdout)
	got = call(t, words("repro vague:1")...)
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "UNKNOWN vague seed 1\n")
}

var hash = regexp.MustCompile(`trace hash ([0-9a-f]{16})`)

func TestReproExpect(t *testing.T) {
	first := call(t, words("repro fussy:14")...)
	match := hash.FindStringSubmatch(first.stdout)
	require.NotNil(t, match)
	require.Equal(t, first, call(t, "repro", "fussy:14", "--expect", strings.ToUpper(match[1])))

	const other = "0123456789abcdef"
	got := call(t, "repro", "fussy:14", "--expect", other)
	require.Equal(t, 3, got.status)
	require.Equal(t, first.stdout, got.stdout, "the failure is shown all the same")
	require.Contains(t, got.stderr, "simrun: fussy seed 14: trace_hash is "+match[1]+", but "+other+" was recorded: "+
		"the source, a setting or the plan has changed since, or else the run is not deterministic, which this tells: "+
		"simrun verify fussy --seeds 14\n")
	require.Equal(t, 1, strings.Count(got.stderr, "\n"))
}

func TestReproFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	args := words("run fussy --seeds 1-20 --keep-going --set divisor=9 --strategy pct --faults chaos --json")
	require.Equal(t, 1, call(t, append(args, path)...).status)
	got := call(t, "repro", path)
	require.Equal(t, 1, got.status, got.stderr)
	require.Equal(t, 2, strings.Count(got.stdout, "FAIL fussy seed "))
	require.Contains(t, got.stdout, "reproduce  simrun repro fussy:18 --set divisor=9 --faults chaos --strategy pct\n")
	require.Contains(t, got.stdout, "\n  strategy   pct\n")

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, got, callWith(t, context.Background(), string(data), "repro", "-"))

	// Without the repro command, settings alone must do; then strategy and faults are others.
	bare := regexp.MustCompile(`"repro":"[^"]*"`).ReplaceAll(data, []byte(`"repro":""`))
	got = callWith(t, context.Background(), string(bare), "repro", "-")
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "seed 18 is divided by 9")
	require.Contains(t, got.stderr, "fussy seed 18: trace_hash is ")
	got = callWith(t, context.Background(), string(bare), words("repro - --strategy pct --faults chaos")...)
	require.Equal(t, 1, got.status, "flags override the record: "+got.stderr)
	require.Contains(t, got.stderr, "simrun: fussy seed 18: not compared with the record: overridden by --faults, --strategy\n")
	got = callWith(t, context.Background(), string(data), words("repro - --set divisor=7")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Contains(t, got.stdout, "PASS fussy seed 18")

	// A record that has been tampered with.
	forged := strings.ReplaceAll(string(data), "is divided by", "was divided by")
	got = callWith(t, context.Background(), forged, "repro", "-")
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stderr, "fussy seed 9: failures is ")
}

func TestReproFileWithoutFailures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	require.Equal(t, 0, call(t, append(words("run calm --seeds 1-3 --json"), path)...).status)
	got := call(t, "repro", path)
	require.Equal(t, 0, got.status)
	require.Equal(t, path+": none of the 3 runs failed: nothing to reproduce\n", got.stdout)
}

// What a campaign that was killed has left behind: the whole records are repeated.
func TestReproFileThatIsCutOff(t *testing.T) {
	data := call(t, words("run fussy --seeds 1-14 --keep-going --json -")...).stdout
	got := callWith(t, context.Background(), data[:len(data)-20], "repro", "-")
	require.Equal(t, 1, got.status, got.stderr)
	require.Equal(t, 1, strings.Count(got.stdout, "FAIL fussy seed "))
	require.Contains(t, got.stderr, "simrun: repro: -: line 14: the record is cut off: repeating the 13 before it\n")
}

func TestReproShowsTheLog(t *testing.T) {
	s := &scenarios.Scenario{Name: "chatty", Build: func(r *scenarios.Run) {
		build(r)
		r.World.Go("talk", func() {
			for i := range 30 {
				r.World.Host().Logf("line %d", i)
			}
			r.World.Fail("chatty/silence", "too much")
		})
	}}
	var stdout, stderr strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: []*scenarios.Scenario{s}, Stdout: &stdout, Stderr: &stderr}
	require.Equal(t, 1, c.Run(context.Background(), words("repro chatty:1")), stderr.String())
	_, log, ok := strings.Cut(stdout.String(), "\n  last log lines\n")
	require.True(t, ok, stdout.String())
	log, _, _ = strings.Cut(log, "\n  last events\n")
	require.Equal(t, 9, strings.Count(log, "\n"))
	require.Regexp(t, `^ .* line 20\n`, log)
	require.Regexp(t, ` line 29$`, log)
}

// A file that happens to be called like a run does not hide it.
func TestReproPrefersScenarios(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("fussy:15", []byte("no record"), 0o644))
	got := call(t, words("repro fussy:15")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Contains(t, call(t, words("repro ./fussy:15")...).stderr, "./fussy:15: line 1: not the record of a run")
}

func TestReproTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.txt")
	got := call(t, "repro", "fussy:14", "--trace", path)
	require.Equal(t, 1, got.status, got.stderr)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for _, line := range lines {
		require.Regexp(t, `^[0-9a-f]{16} +\d+ +\S+ `, line)
	}
	match := hash.FindStringSubmatch(got.stdout)
	require.NotNil(t, match)
	require.Equal(t, match[1], strings.Fields(lines[len(lines)-1])[0], "the last line has the hash of the run")

	toStdout := call(t, words("repro fussy:14 --trace -")...)
	require.Equal(t, string(data), toStdout.stdout)
	require.Equal(t, got.stdout, toStdout.stderr, "text makes way for the trace")
	require.Contains(t, string(data), " FAIL ")

	passed := call(t, words("repro fussy:15 --trace -")...)
	require.Equal(t, 0, passed.status)
	require.NotEmpty(t, passed.stdout)
}

// inlinePlan is the plan of a file as the value of --faults.
func inlinePlan(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	plan, err := faults.ParsePlan(data)
	require.NoError(t, err)
	return plan.Inline()
}

// Of a run with a plan, the record is all that is needed to repeat it: the file is gone by then.
func TestRecordsHaveTheirPlans(t *testing.T) {
	plan := call(t, words("plan fussy:14 --faults chaos")...).stdout
	path := write(t, plan)
	want := inlinePlan(t, path)
	fromFile := call(t, words("run fussy --seed 14 --json - --faults "+path)...)
	fromStdin := callWith(t, context.Background(), plan, words("run fussy --seed 14 --json - --faults -")...)
	require.Contains(t, fromFile.stderr, "reproduce  simrun repro fussy:14 --faults "+path+"\n", "for people, the file is enough")
	require.Contains(t, fromStdin.stderr, "reproduce  simrun repro fussy:14 --faults '"+want+"'\n")
	require.NoError(t, os.Remove(path))
	for _, got := range []outcome{fromFile, fromStdin} {
		require.Equal(t, 1, got.status, got.stderr)
		all := records(t, got.stdout)
		require.Len(t, all, 1)
		require.Equal(t, "simrun repro fussy:14 --faults '"+want+"'", all[0].Repro)
		again := callWith(t, context.Background(), got.stdout, "repro", "-")
		require.Equal(t, 1, again.status, again.stderr)
		require.Empty(t, again.stderr, "the same hash")
		require.Contains(t, again.stdout, "trace hash "+all[0].TraceHash)
	}
}

func TestPlan(t *testing.T) {
	plan := call(t, words("plan fussy:14 --faults chaos")...)
	require.Equal(t, 0, plan.status, plan.stderr)
	require.True(t, strings.HasPrefix(plan.stdout, "profile: chaos\nseed: 14\nfaults:\n"), plan.stdout)

	// The plan in place of the profile that drew it makes the same run.
	path := write(t, plan.stdout)
	drawn := hash.FindString(call(t, words("repro fussy:14 --faults chaos")...).stdout)
	read := hash.FindString(call(t, "repro", "fussy:14", "--faults", path).stdout)
	require.NotEmpty(t, drawn)
	require.Equal(t, drawn, read)
	require.Equal(t, plan.stdout, call(t, "plan", "fussy:14", "--faults", path).stdout)
	require.Equal(t, plan.stdout, call(t, "plan", "fussy:14", "--faults", inlinePlan(t, path)).stdout)
}

// A run is called SCENARIO:SEED@PROFILE wherever one is shown.
func TestReproOfProfile(t *testing.T) {
	behind := call(t, words("repro fussy:7@calm")...)
	require.Equal(t, 1, behind.status, behind.stderr)
	require.Equal(t, call(t, words("repro fussy:7 --faults calm")...).stdout, behind.stdout)
	for line, want := range map[string]string{
		"repro fussy:7@clam":                "simrun: repro fussy:7@clam: there is no fault profile \"clam\"; did you mean calm? ",
		"repro fussy:7@calm --faults chaos": "simrun: repro fussy:7@calm: --faults and @calm both say which faults: leave out one of them",
	} {
		got := call(t, words(line)...)
		require.Equal(t, 2, got.status)
		require.Contains(t, got.stderr, want)
	}
}
