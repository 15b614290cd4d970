package cli_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/scenarios"
)

func TestDiffOfTheSame(t *testing.T) {
	got := call(t, words("diff fussy:14 fussy:14@default")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Regexp(t, `^- fussy:14: \d+ events, trace hash [0-9a-f]{16}\n    simrun repro fussy:14\n`+
		`\+ fussy:14@default: \d+ events, .*\n    simrun repro fussy:14\nthe same, event by event\n$`, got.stdout)
}

// A run and the same with one fault less part where that fault strikes.
func TestDiffOfPlans(t *testing.T) {
	t.Chdir(t.TempDir())
	whole := "faults:\n  - {id: a, kind: node.crash, target: [one], from: 1s, to: 2s}\n  - {id: b, kind: node.pause, target: [two], from: 3s, to: 4s}\n"
	require.NoError(t, os.WriteFile("whole.yaml", []byte(whole), 0o644))
	require.NoError(t, os.WriteFile("less.yaml", []byte(whole[:strings.Index(whole, "  - {id: b")]), 0o644))
	for name, plan := range map[string]string{"whole.jsonl": "whole.yaml", "less.jsonl": "less.yaml"} {
		got := call(t, words("run fussy --seed 14 --json "+name+" --faults "+plan)...)
		require.Equal(t, 1, got.status, got.stderr)
	}
	got := call(t, words("diff whole.jsonl less.jsonl")...)
	require.Equal(t, 1, got.status, got.stderr)
	before, after, ok := strings.Cut(got.stdout, "\n    - ")
	require.True(t, ok, got.stdout)
	require.Regexp(t, `they part at event \d+\n`, before)
	require.Contains(t, before, " 2s fault    simrun/faults end a")
	first, second, ok := strings.Cut(after, "\n    + ")
	require.True(t, ok, got.stdout)
	require.Contains(t, first, " 3s ")
	require.Contains(t, first, "begin b on two")
	require.NotContains(t, second, "begin b")
	require.Contains(t, second, "FAIL     simrun/object fussy/number")

	// Read from standard input, and of other settings.
	data, err := os.ReadFile("less.jsonl")
	require.NoError(t, err)
	got = callWith(t, context.Background(), string(data), words("diff - less.jsonl --set divisor=2")...)
	require.Equal(t, 0, got.status, got.stdout+got.stderr)
	got = callWith(t, context.Background(), string(data), words("diff fussy:14 less.jsonl --set divisor=2 --set duration=16s")...)
	require.Equal(t, 1, got.status, got.stderr)
}

func TestDiffOfSeedsAndProfiles(t *testing.T) {
	got := call(t, words("diff fussy:14 fussy:15")...)
	require.Equal(t, 1, got.status, got.stderr)
	require.Regexp(t, `they part at event \d\d+\n`, got.stdout, "not at once, though their hashes do")
	got = call(t, words("diff calm:1@calm calm:1@chaos --set pace=1s")...)
	require.Equal(t, 1, got.status, got.stderr)
	require.Contains(t, got.stdout, "    simrun repro calm:1 --set pace=1s --faults calm\n")
	got = call(t, words("diff calm:1 fussy:1")...)
	require.Equal(t, 1, got.status, got.stderr)
}

func TestDiffMutant(t *testing.T) {
	inVictim(t, calmSource)
	got := call(t, words("diff calm:3 calm:3 --mutant sleepless --faults calm")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Contains(t, got.stdout, "1 event, trace hash sleepless\n    simrun repro calm:3 --faults calm --mutant sleepless\n")
}

func TestDiffErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, line := range map[string]string{"passed.jsonl": "run calm --seeds 1-3 --json -", "two.jsonl": "run fussy --seeds 1-14 --keep-going --json -"} {
		require.NoError(t, os.WriteFile(name, []byte(call(t, words(line)...).stdout), 0o644))
	}
	for line, want := range map[string]string{
		"diff fussy:1":               "simrun: diff: takes two runs, SCENARIO:SEED[@PROFILE] or FILE, not 1\n",
		"diff - -":                   "simrun: diff: only one of the runs can be read from standard input\n",
		"diff fussy:1 fussy":         "simrun: diff fussy: which seed? Write it like fussy:17\n",
		"diff fussy:1 fussy:1@choas": `simrun: diff fussy:1@choas: there is no fault profile "choas"; did you mean chaos?`,
		"diff fussy:1 fussy:1@calm --faults chaos": "simrun: diff: fussy:1@calm has a profile: --faults is for runs that have none\n",
		"diff fussy:1 nothing.jsonl":               `simrun: diff: there is no file "nothing.jsonl", and SCENARIO:SEED is written like shard:17` + "\n",
		"diff fussy:1 passed.jsonl":                "simrun: diff: passed.jsonl: none of the 3 runs failed: give one as SCENARIO:SEED\n",
		"diff two.jsonl fussy:7":                   "simrun: diff: two.jsonl has 2 runs that failed: give one as SCENARIO:SEED\n",
		"diff fussy:1 fussy:x@calm":                `simrun: diff fussy:x: "x" is not a seed: seeds are whole numbers from 0` + "\n",
	} {
		got := call(t, words(line)...)
		require.Equal(t, 2, got.status, line)
		require.True(t, strings.HasPrefix(got.stderr, want), got.stderr)
		require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
		require.Empty(t, got.stdout, line)
	}
	var stdout, stderr strings.Builder
	c := &cli.Command{Name: "simrun", Stdout: &stdout, Stderr: &stderr, Scenarios: []*scenarios.Scenario{
		{Name: "rude", Build: func(r *scenarios.Run) { panic("no") }},
	}}
	require.Equal(t, 3, c.Run(context.Background(), words("diff rude:1 rude:1")))
	require.Contains(t, stderr.String(), "its Build panicked")
}
