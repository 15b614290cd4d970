package cli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// records reads JSON Lines.
func records(t testing.TB, text string) []scenarios.Result {
	t.Helper()
	var all []scenarios.Result
	for r, err := range reports.ReadResults(strings.NewReader(text)) {
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

func TestRunPasses(t *testing.T) {
	got := call(t, words("run calm --seeds 1-20")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Contains(t, got.stdout, "calm: 20 seeds in ")
	require.Regexp(t, `pass +20\n +fail +0\n +unknown +0\n`, got.stdout)
	require.Regexp(t, `0  held it +<- reached by no seed`, got.stdout)
	require.NotContains(t, got.stdout, "\x1b", "no colours where there is no terminal")
}

func TestRunDefaultSeeds(t *testing.T) {
	got := call(t, "run", "calm")
	require.Equal(t, 0, got.status, got.stderr)
	require.Contains(t, got.stdout, "calm: 100 seeds in ")
}

func TestRunStopsAtFirstFailure(t *testing.T) {
	got := call(t, words("run fussy --seeds 1-1000 --workers 3")...)
	require.Equal(t, 1, got.status, got.stderr)
	require.Contains(t, got.stdout, "FAIL fussy seed 7\n  fussy/number: seed 7 is divided by 7\n    at virtual 10.000s (event ")
	require.Contains(t, got.stdout, "\n  in force   ")
	require.Contains(t, got.stdout, "\n  settings   divisor=7 duration=15s settle=60s\n")
	require.Contains(t, got.stdout, "\n  reproduce  simrun repro fussy:7\n")
	require.Contains(t, got.stdout, "fussy: 7 seeds in ")
	require.Regexp(t, `\n +1 +7  fussy/number: seed # is divided by #\n`, got.stdout)
}

func TestRunKeepGoing(t *testing.T) {
	got := call(t, words("run fussy --seeds 1-30 --keep-going")...)
	require.Equal(t, 1, got.status, got.stderr)
	require.Equal(t, 1, strings.Count(got.stdout, "reproduce"), "one block for failures that are alike")
	require.Contains(t, got.stdout, "FAIL fussy seed 28: as seed 7 (fussy/number)\n")
	require.Contains(t, got.stdout, "fussy: 30 seeds in ")
	require.Regexp(t, `fail +4\n`, got.stdout)
}

func TestRunUnknown(t *testing.T) {
	got := call(t, words("run vague --seeds 1-3")...)
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "UNKNOWN vague seed 1\n  vacuous: no operation succeeded while the workload ran, of those that Run.Count counts\n")
	require.Contains(t, got.stdout, "UNKNOWN vague seed 3: as seed 1 (vacuous)\n")
	require.Regexp(t, `unknown +3\n`, got.stdout)
}

func TestRunSurvivesPanics(t *testing.T) {
	// The seed for checking the options panics too, so this one needs a scenario that behaves
	// until it is run.
	checked := false
	s := &scenarios.Scenario{Name: "late", Build: func(r *scenarios.Run) {
		build(r)
		if r.World.Seed() == 2 && checked {
			panic("well, really")
		}
		checked = true
	}}
	var stdout, stderr strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: []*scenarios.Scenario{s}, Stdout: &stdout, Stderr: &stderr}
	require.Equal(t, 3, c.Run(context.Background(), words("run late --seeds 1-3 --workers 1")))
	require.Contains(t, stdout.String(), "UNKNOWN late seed 2\n  options: scenario late: its Build panicked: well, really (at ")
	require.Contains(t, stdout.String(), "TestRunSurvivesPanics", "where")
	require.Regexp(t, `pass +2\n`, stdout.String())
}

func TestRunJSON(t *testing.T) {
	want := call(t, words("run fussy --seeds 1-9 --keep-going --json -")...)
	require.Equal(t, 1, want.status)
	all := records(t, want.stdout)
	require.Len(t, all, 9)
	require.Contains(t, want.stderr, "FAIL fussy seed 7\n", "text makes way for JSON")
	require.Contains(t, want.stderr, "fussy: 9 seeds in ")
	for i, r := range all {
		require.Equal(t, uint64(i+1), r.Seed)
		require.Equal(t, "fussy", r.Scenario)
		require.Regexp(t, "^[0-9a-f]{16}$", r.TraceHash)
	}
	require.Equal(t, "simrun repro fussy:7", all[6].Repro)
	require.Equal(t, "fussy/number", all[6].Failures[0].Oracle)

	path := filepath.Join(t.TempDir(), "results.jsonl")
	got := call(t, append(words("run fussy --seeds 1-9 --keep-going --json"), path)...)
	require.Equal(t, 1, got.status)
	require.Contains(t, got.stdout, "fussy: 9 seeds in ")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for i, r := range records(t, string(data)) {
		r.WallNS = all[i].WallNS
		require.Equal(t, all[i], r)
	}
}

func TestRunJSONThatCannotBeWritten(t *testing.T) {
	var stderr strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: fakes(), Stdout: full{}, Stderr: &stderr}
	require.Equal(t, 3, c.Run(context.Background(), words("run calm --seeds 1-1000000 --json -")),
		"it must not go on for a million seeds")
	require.Contains(t, stderr.String(), "simrun: cannot write the results: no space left\n")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// The same records, whatever the number of workers.
func TestRunIsIndependentOfWorkers(t *testing.T) {
	var want []scenarios.Result
	for _, workers := range []string{"1", "2", "5"} {
		got := call(t, append(words("run fussy --seeds 1-40 --json - --faults chaos --set divisor=33 --workers"), workers)...)
		require.Equal(t, 1, got.status)
		all := records(t, got.stdout)
		require.Len(t, all, 33)
		for i := range all {
			all[i].WallNS = 0
		}
		if want == nil {
			want = all
		}
		require.Equal(t, want, all)
	}
}

func TestRunReproNamesWhatIsNotDefault(t *testing.T) {
	plan := write(t, "faults: []\n")
	spaced := filepath.Join(t.TempDir(), "my plan.yaml")
	require.NoError(t, os.Rename(plan, spaced))
	for want, args := range map[string][]string{
		"simrun repro fussy:8":                                     words("--set divisor=4 --set divisor=7"),
		"simrun repro fussy:8 --set divisor=4":                     words("--faults default --set divisor=9 --set divisor=4 --strategy random"),
		"simrun repro fussy:8 --set divisor=4 --set duration=20s":  words("--set duration=20s --set divisor=4"),
		"simrun repro fussy:8 --faults chaos --strategy pct":       words("--faults chaos --strategy pct"),
		"simrun repro fussy:8 --faults '{faults: []}'":             {"--faults", spaced},
		"simrun repro fussy:8 --faults calm --strategy fifo":       words("--strategy fifo --faults calm"),
		"simrun repro fussy:8 --set settle=61s --faults calm":      words("--faults calm --set settle=61s"),
		"simrun repro fussy:8 --set divisor=8 --set settle=1m0.5s": words("--set settle=1m0.5s --set divisor=8"),
	} {
		got := call(t, append(words("run fussy --seed 8 --json -"), args...)...)
		all := records(t, got.stdout)
		require.Len(t, all, 1, got.stderr)
		require.Equal(t, want, all[0].Repro)
	}
}

func TestRunForATime(t *testing.T) {
	got := call(t, words("run calm --for 30ms --json -")...)
	require.Equal(t, 0, got.status, got.stderr)
	all := records(t, got.stdout)
	require.NotEmpty(t, all)
	for i, r := range all {
		require.Equal(t, uint64(i+1), r.Seed)
	}
}

func TestRunWithPlanFromStandardInput(t *testing.T) {
	const plan = "faults:\n  - kind: node.pause\n    target: [two]\n    from: 1s\n    to: 20s\n"
	got := callWith(t, context.Background(), plan, words("run fussy --seed 7 --faults -")...)
	require.Equal(t, 1, got.status, got.stderr)
	require.Contains(t, got.stdout, "\n  in force   node.pause/1 on two\n")
	require.Contains(t, got.stdout, "\n  fired      node.pause 1\n")
	require.Contains(t, got.stdout, "\n  reproduce  simrun repro fussy:7 --faults "+
		"'{faults: [{id: node.pause/1, kind: node.pause, target: [two], from: 1s, to: 20s}]}'\n")
}

func TestRunWarnsOfRunsThatDoNotRepeat(t *testing.T) {
	s := &scenarios.Scenario{Name: "fickle", Build: func(r *scenarios.Run) {
		build(r)
		n := moods.Add(1)
		r.World.Go("object", func() { r.World.Fail("fickle/mood", "mood %d", n) })
	}}
	var stdout, stderr strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: []*scenarios.Scenario{s}, Stdout: &stdout, Stderr: &stderr}
	require.Equal(t, 1, c.Run(context.Background(), words("run fickle --seed 1")))
	require.Contains(t, stdout.String(), "\n  warning    not deterministic: trace_hash was ")
}

// interrupting is a scenario during whose build after the given number of others the call is
// interrupted, and the context of that call.
func interrupting(builds int) (context.Context, *scenarios.Scenario) {
	ctx, cancel := context.WithCancelCause(context.Background())
	left := int64(builds)
	return ctx, &scenarios.Scenario{Name: "hasty", Profile: "calm", Build: func(r *scenarios.Run) {
		build(r)
		if atomic.AddInt64(&left, -1) < 0 {
			cancel(&cli.Interrupted{Signal: os.Interrupt})
		}
	}}
}

// Interrupted before a seed was done, a campaign still reports, and does not claim to have passed.
func TestRunInterrupted(t *testing.T) {
	ctx, s := interrupting(1)
	var stdout, stderr strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: []*scenarios.Scenario{s}, Stdout: &stdout, Stderr: &stderr}
	require.Equal(t, 130, c.Run(ctx, words("run hasty --workers 1")))
	require.Contains(t, stdout.String(), "hasty: 0 seeds in ")
	require.Contains(t, stdout.String(), "interrupted: what is above is what was done until then\n")
}

// Nothing that may take for ever keeps an interrupted call from ending: a plan or a record that
// does not come, a Build that does not end, a measurement.
func TestInterruptedWhileWaiting(t *testing.T) {
	for _, line := range []string{
		"run endless --faults -", "plan endless:1 --faults -", "verify endless --faults -", "repro -",
		"run endless", "plan endless:1", "bench",
	} {
		t.Run(line, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			interrupt := func() { cancel(&cli.Interrupted{Signal: os.Interrupt}) }
			if line == "bench" {
				interrupt()
			}
			endless := &scenarios.Scenario{Name: "endless", Build: func(*scenarios.Run) {
				interrupt()
				select {}
			}}
			var stdout, stderr strings.Builder
			c := &cli.Command{
				Name: "simrun", Scenarios: []*scenarios.Scenario{endless}, Stdin: silent(interrupt), Stdout: &stdout, Stderr: &stderr,
			}
			require.Equal(t, 130, c.Run(ctx, words(line)))
			require.Empty(t, stdout.String())
			require.Empty(t, stderr.String())
		})
	}
}

// silent is a reader from which nothing ever comes. It calls a function when it is read from.
type silent func()

func (r silent) Read([]byte) (int, error) {
	r()
	select {}
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if got := call(b, words("run calm --seeds 1-10")...); got.status != 0 {
			b.Fatal(got.stderr)
		}
	}
}
