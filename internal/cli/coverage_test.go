package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/scenarios"
)

func TestCoverage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coverage.md")
	got := call(t, append(words("coverage calm child --seeds 4-6 --faults calm,chaos --json - --markdown"), path)...)
	require.Equal(t, 0, got.status, got.stderr)
	var all []scenarios.Situation
	for d := json.NewDecoder(strings.NewReader(got.stdout)); d.More(); {
		var s scenarios.Situation
		require.NoError(t, d.Decode(&s))
		all = append(all, s)
	}
	require.Len(t, all, 2)
	require.Equal(t, scenarios.Situation{Name: "held it", Runs: 6, Scenarios: []string{}}, all[0])
	require.Positive(t, all[1].Hits)
	all[1].Hits = 0
	require.Equal(t, scenarios.Situation{
		Name: "took a breath", Seeds: 6, Runs: 6, Scenario: "calm", Profile: "calm", Needed: 1, First: 4, Scenarios: []string{"calm"},
	}, all[1])
	require.Contains(t, got.stderr, "calm:4@calm")
	require.Contains(t, got.stderr, "1 of 2 situations reached in 12 runs\n  never: held it (none of 6 runs that used its package)\n")

	document, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(document), "the seeds 4-6 of each of\ncalm (calm, chaos), child (calm, chaos).\n")
	require.Contains(t, string(document), "    simrun coverage calm child --seeds 4-6 --faults calm,chaos --json - --markdown "+path+"\n")

	// By default, all scenarios under their own profiles.
	var stdout, stderr strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: fakes()[:2], Stdout: &stdout, Stderr: &stderr}
	require.Equal(t, 0, c.Run(context.Background(), words("coverage --seeds 1-2")), stderr.String())
	require.Contains(t, stdout.String(), "calm:1@chaos")
	require.Contains(t, stdout.String(), "1 of 2 situations reached in 4 runs\n", "those of systems that no run used are not the program's")
}

func TestCoverageStatus(t *testing.T) {
	require.Equal(t, 1, call(t, words("coverage calm --seeds 1-2 --require-all")...).status)
	got := call(t, words("coverage fussy --seeds 6-8 --require-all")...)
	require.Equal(t, 1, got.status)
	require.Contains(t, got.stdout, "0 of 0 situations reached in 3 runs\n1 run failed: ")
	require.Equal(t, 0, call(t, words("coverage fussy --seeds 1-6 --require-all")...).status)
	for line, want := range map[string]string{
		"coverage calm fusy":                  `simrun: there is no scenario "fusy"; did you mean fussy? `,
		"coverage calm --faults calm,choas":   `simrun: coverage: --faults: there is no fault profile "choas"; did you mean chaos? `,
		"coverage calm --seeds 5-1":           "simrun: coverage: --seeds: range 5-1 is upside down",
		"coverage calm --seed 1 --seeds 1-5":  "simrun: --seed and --seeds each say which seeds to run",
		"coverage calm --markdown no/such.md": "simrun: --markdown: there is no directory no to write no/such.md to",
		"coverage calm --markdown - --json -": "simrun: coverage: --json and --markdown cannot both go to standard output",
	} {
		got := call(t, words(line)...)
		require.Equal(t, 2, got.status, line)
		require.True(t, strings.HasPrefix(got.stderr, want), got.stderr)
		require.Equal(t, 1, strings.Count(got.stderr, "\n"))
		require.Empty(t, got.stdout, line)
	}
}

func TestCoverageInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	runs := 0
	s := &scenarios.Scenario{Name: "brief", Build: func(r *scenarios.Run) {
		build(r)
		if runs++; runs == 4 {
			cancel(&cli.Interrupted{Signal: os.Interrupt})
		}
	}}
	document := filepath.Join(t.TempDir(), "coverage.md")
	var stdout, stderr strings.Builder
	c := &cli.Command{Name: "simrun", Scenarios: append([]*scenarios.Scenario{s}, fakes()[0]), Stdout: &stdout, Stderr: &stderr}
	require.Equal(t, 130, c.Run(ctx, append(words("coverage --seeds 1-100 --workers 1 --markdown"), document)), stderr.String())
	require.Contains(t, stdout.String(), "interrupted: what is above is what was done until then\n")
	require.NotContains(t, stdout.String(), "took a breath")
	written, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Regexp(t, `\*\*Interrupted\*\*: this is what was done until then, \d runs? of 200 in 1 campaign begun of 2\.`, string(written))
}
