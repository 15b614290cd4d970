package cli_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/joshdk/go-junit"
	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/scenarios"
)

func TestRunJUnit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.xml")
	got := call(t, append(words("run fussy --seeds 1-30 --keep-going --faults calm --set divisor=9 --junit"), file)...)
	require.Equal(t, 1, got.status, got.stderr)
	suites, err := junit.IngestFile(file)
	require.NoError(t, err)
	require.Equal(t, "fussy", suites[0].Name)
	require.Equal(t, 30, suites[0].Totals.Tests)
	require.Equal(t, 3, suites[0].Totals.Failed)
	failure, ok := suites[0].Tests[8].Error.(junit.Error)
	require.True(t, ok)
	require.Equal(t, "fussy/number", failure.Type)
	require.Equal(t, "seed 9 is divided by 9", failure.Message)
	require.Contains(t, failure.Body, "in force ")
	require.Contains(t, failure.Body, "simrun repro fussy:9 --set divisor=9 --faults calm\n")

	got = call(t, words("run vague --seeds 1-3 --junit -")...)
	require.Equal(t, 3, got.status)
	suites, err = junit.Ingest([]byte(got.stdout))
	require.NoError(t, err)
	require.Equal(t, 3, suites[0].Totals.Error)
	require.Contains(t, got.stderr, "vague: 3 seeds in ", "text makes way")
}

func TestRunHTML(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	got := call(t, append(words("run fussy --seeds 1-30 --keep-going --html"), file)...)
	require.Equal(t, 1, got.status, got.stderr)
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(page), `<span class="verdict fail">failed</span>`)
	require.Contains(t, string(page), "simrun repro fussy:7</code>")
	require.Contains(t, string(page), `<th scope="row">divisor</th><td>7</td>`)
	require.Equal(t, 1, strings.Count(string(page), `class="diagram"`), "one for each kind of failure")

	got = call(t, words("run calm --seeds 1-3 --html -")...)
	require.Equal(t, 0, got.status)
	require.True(t, strings.HasPrefix(got.stdout, "<!DOCTYPE html>"))
}

func TestRunGitHub(t *testing.T) {
	got := call(t, words("run fussy --seeds 1-30 --github")...)
	require.Equal(t, 1, got.status, got.stderr)
	require.Contains(t, got.stdout, "\n::error title=fussy seed 7%3A fussy/number::seed 7 is divided by 7%0A")

	summary := filepath.Join(t.TempDir(), "summary.md")
	require.NoError(t, os.WriteFile(summary, []byte("# before\n"), 0o644))
	var stdout, stderr strings.Builder
	c := &cli.Command{
		Name: "simrun", Scenarios: fakes(), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(name string) string { return map[string]string{"GITHUB_STEP_SUMMARY": summary}[name] },
	}
	require.Equal(t, 0, c.Run(context.Background(), words("run calm --seeds 1-3 --github")))
	text, err := os.ReadFile(summary)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "# before\n### simrun: calm passed\n"), "%s", text)
	require.NotContains(t, stdout.String(), "::")

	require.Equal(t, 0, c.Run(context.Background(), words("run calm --seeds 1-3")))
	again, err := os.ReadFile(summary)
	require.NoError(t, err)
	require.Equal(t, text, again, "only if asked for")
}

// recording is a scenario that records a history of one operation for each of the models named.
func recording(names ...string) *scenarios.Scenario {
	return &scenarios.Scenario{Name: "recording", Build: func(r *scenarios.Run) {
		build(r)
		for _, name := range names {
			schema := models.Schema{
				Inputs:  map[string]reflect.Type{"add": reflect.TypeFor[int]()},
				Outputs: map[string]reflect.Type{"sum": reflect.TypeFor[int]()},
			}
			h := models.NewHistory()
			h.End(h.Begin(1, "add", 2, 5, 0), models.Ok, int(r.World.Seed()), 6, 0)
			r.Record(models.Model{Name: name, Schema: schema}, h)
		}
		r.World.Go("object", func() {
			if r.World.Seed() == 3 {
				r.World.Fail("recording/three", "it is three")
			}
		})
	}}
}

func TestRunHistory(t *testing.T) {
	run := func(s *scenarios.Scenario, args string) (stdout, stderr string) {
		var out, errs strings.Builder
		c := &cli.Command{Name: "simrun", Scenarios: []*scenarios.Scenario{s}, Stdout: &out, Stderr: &errs}
		c.Run(context.Background(), words("run "+s.Name+" "+args))
		return out.String(), errs.String()
	}
	line := func(sum string) string {
		return `{"id":1,"client":1,"kind":"add","input":2,"outcome":"ok","output":{"sum":` + sum + `},"call":5,"return":6,"call_ns":0,"return_ns":0}` + "\n"
	}
	out, errs := run(recording("sums"), "--seeds 1-9 --history -")
	require.Equal(t, line("3"), out, "of the first failing run")
	require.Contains(t, errs, "FAIL recording seed 3\n")

	file := filepath.Join(t.TempDir(), "history.jsonl")
	_, _ = run(recording("sums"), "--seed 2 --history "+file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, line("2"), string(text), "of the only run")

	_, errs = run(recording("sums"), "--seeds 1-2 --history -")
	require.Contains(t, errs, "simrun: --history: no seed failed: ")
	_, errs = run(recording(), "--seed 1 --history -")
	require.Contains(t, errs, "simrun: --history: scenario recording records no operations")
	_, errs = run(recording("a", "b"), "--seed 1 --history -")
	require.Contains(t, errs, "simrun: --history: scenario recording records 2 histories: give a file")
	_, _ = run(recording("a", "b"), "--seed 1 --history "+file)
	text, err = os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".b.jsonl")
	require.NoError(t, err)
	require.Equal(t, line("1"), string(text))
}

// The history of a built-in scenario is one that its model reads.
func TestRunHistoryOfShard(t *testing.T) {
	var out, errs strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: scenarios.Builtin(), Stdout: &out, Stderr: &errs}
	require.Equal(t, 0, c.Run(context.Background(), words("run shard --seed 1 --history -")), errs.String())
	m, err := models.Lookup("shard")
	require.NoError(t, err)
	h, err := m.Schema.Read(strings.NewReader(out.String()))
	require.NoError(t, err)
	require.Greater(t, h.Len(), 100)
	for _, o := range m.Oracles(h) {
		require.Equal(t, models.VerdictPass, o.Judge().Verdict, o.Name())
	}
}

func TestRunArtifactsThatCannotBeWritten(t *testing.T) {
	for args, problem := range map[string]string{
		"--junit /no/such/dir/x":          "--junit: there is no directory /no/such/dir to write /no/such/dir/x to",
		"--html /no/such/dir/x":           "--html: there is no directory /no/such/dir to write /no/such/dir/x to",
		"--json - --junit -":              "--json and --junit cannot both go to standard output: give one of them a file",
		"--junit - --html - --history -":  "--junit and --html cannot both go to standard output",
		"--json results --html ./results": "--json and --html cannot both be written to ./results: give one of them another file",
		"--html /":                        "--html: / is a directory: give a file",
		"--history /":                     "--history: / is a directory: give a file",
		"--history /no/such/dir/x":        "--history: there is no directory /no/such/dir to write /no/such/dir/x to",
		"--junit":                         "flag --junit needs a value: FILE",
	} {
		got := call(t, words("run calm --seeds 1-2 "+args)...)
		require.Equal(t, 2, got.status, args)
		require.Contains(t, got.stderr, problem)
		require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
		require.Empty(t, got.stdout)
	}
	var errs strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: fakes(), Stdout: full{}, Stderr: &errs}
	require.Equal(t, 3, c.Run(context.Background(), words("run calm --seeds 1-2 --junit -")))
	require.Contains(t, errs.String(), "cannot write the results: no space left")
}

// What an interrupted campaign has done is in the files.
func TestRunArtifactsOfInterrupted(t *testing.T) {
	dir := t.TempDir()
	xml, page := filepath.Join(dir, "results.xml"), filepath.Join(dir, "report.html")
	ctx, cancel := context.WithCancelCause(context.Background())
	var stdout strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: fakes(), Stdout: &stdout, Stderr: io.Discard}
	done := make(chan int, 1)
	json := filepath.Join(dir, "results.jsonl")
	go func() {
		done <- c.Run(ctx, append(words("run endless --workers 1 --json"), json, "--junit", xml, "--html", page))
	}()
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(json)
		return err == nil && strings.Count(string(text), "\n") == 5
	}, 60e9, 1e7)
	cancel(&cli.Interrupted{Signal: os.Interrupt})
	require.Equal(t, 130, <-done)
	suites, err := junit.IngestFile(xml)
	require.NoError(t, err)
	require.Equal(t, 5, suites[0].Totals.Passed)
	require.Equal(t, "true", suites[0].Properties["interrupted"])
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "interrupted</span>")
}
