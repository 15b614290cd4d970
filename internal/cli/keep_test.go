package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeep(t *testing.T) {
	t.Chdir(t.TempDir())
	require.Equal(t, 1, call(t, words("run fussy --seeds 1-20 --keep-going --set divisor=9 --strategy pct --faults chaos --json results.jsonl")...).status)
	got := call(t, words("keep results.jsonl --dir kept")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Equal(t, "fussy seed 9 kept as kept/fussy/9.yaml\nfussy seed 18 kept as kept/fussy/18.yaml\n", got.stdout)
	text, err := os.ReadFile("kept/fussy/18.yaml")
	require.NoError(t, err)
	require.Contains(t, string(text), "note: \"fussy/number: seed # is divided by #\"\nseed: 18\nsettings:\n  divisor: \"9\"\n")

	// By its file, and all of a directory: settings, strategy and faults are those of the record.
	got = call(t, words("repro kept/fussy/18.yaml")...)
	require.Equal(t, 1, got.status, got.stderr)
	require.Contains(t, got.stdout, "seed 18 is divided by 9")
	require.Contains(t, got.stdout, "\n  strategy   pct\n")
	require.Contains(t, got.stdout, "\n  kept as    kept/fussy/18.yaml: ")
	for _, dir := range []string{"kept", "kept/fussy"} {
		got = call(t, "repro", dir)
		require.Equal(t, 1, got.status, got.stderr)
		require.Contains(t, got.stdout, "FAIL fussy seed 9")
		require.Contains(t, got.stdout, "FAIL fussy seed 18")
	}
	// Mended.
	got = call(t, words("repro kept --set divisor=77")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Contains(t, got.stdout, "PASS fussy seed 18")
	require.Empty(t, got.stderr)

	// Kept twice it is there once; with another note it is another file.
	require.Contains(t, call(t, words("keep results.jsonl --dir kept")...).stdout, "kept/fussy/18.yaml\n")
	got = call(t, "keep", "results.jsonl", "--dir", "kept", "--note", "nines")
	require.Contains(t, got.stdout, "kept/fussy/18-2.yaml\n")

	// One with a bug planted is the same run without it.
	data, err := os.ReadFile("results.jsonl")
	require.NoError(t, err)
	planted := strings.ReplaceAll(string(data), " --set divisor=9", " --set divisor=9 --mutant sleepless")
	require.NoError(t, os.WriteFile("planted.jsonl", []byte(planted), 0o644))
	got = call(t, words("keep planted.jsonl --dir planted")...)
	require.Equal(t, 0, got.status, got.stderr)
	with, err := os.ReadFile("planted/fussy/18.yaml")
	require.NoError(t, err)
	require.Equal(t, strings.Replace(string(text), "seed: 18\n", "mutant: sleepless\nseed: 18\n", 1), string(with))

	// A run that passes may be worth keeping as well, and goes to where sim/simtest looks.
	got = call(t, "keep", "calm:3", "--note", "quiet")
	require.Equal(t, 0, got.status, got.stderr)
	require.FileExists(t, filepath.Join("testdata", "seeds", "calm", "3.yaml"))
	require.Equal(t, 0, call(t, "repro", "testdata/seeds").status)
}

func TestKeepOfWhatCannotBe(t *testing.T) {
	t.Chdir(t.TempDir())
	require.Equal(t, 0, call(t, words("run calm --seeds 1-3 --json passed.jsonl")...).status)
	require.NoError(t, os.MkdirAll("gone/flow", 0o755))
	require.NoError(t, os.MkdirAll("empty", 0o755))
	require.NoError(t, os.MkdirAll("kept/calm", 0o755))
	require.NoError(t, os.WriteFile("loose.yaml", []byte("seed: 3\n"), 0o644))
	require.NoError(t, os.WriteFile("kept/calm/1.yaml", []byte("seed: 1\nsettings: {pcae: 3s}\n"), 0o644))
	require.NoError(t, os.WriteFile("kept/calm/2.yaml", []byte("sed: 1\n"), 0o644))
	require.NoError(t, os.WriteFile("kept/calm/field.yml", []byte("seed: 1\nsed: 1\n"), 0o644))
	for name, text := range map[string]string{
		"empty": "", "noseed": "note: x\n", "half": "seed: 1.5\n", "text": "seed: abc\n", "large": "seed: -4\n", "plan": "seed: 1\nplan:\n  # none\n\n  faults:\n    - knd: node.crash\n", "two": "seed: 1\n---\nseed: 2\n", "profile": "seed: 1\nprofile: nope\nplan: {faults: []}\n",
		"mutant": "seed: 1\nmutant: nope\n", "binary": "seed: 1\x00\n", "long": "seed: 1\nnote: " + strings.Repeat("x", 1<<20) + "\n",
	} {
		require.NoError(t, os.WriteFile("kept/calm/"+name+".yaml", []byte(text), 0o644))
	}
	require.NoError(t, os.Mkdir("kept/calm/dir.yaml", 0o755))
	for line, want := range map[string]string{
		"repro kept/calm/empty.yaml":           "kept/calm/empty.yaml: not a kept run: it has no seed\n",
		"repro kept/calm/noseed.yaml":          "kept/calm/noseed.yaml: not a kept run: it has no seed\n",
		"repro kept/calm/half.yaml":            "kept/calm/half.yaml: not a kept run: seed 1.5 is not a whole number\n",
		"repro kept/calm/text.yaml":            "kept/calm/text.yaml: not a kept run: line 1 column 7: seed must be a whole number\n",
		"repro kept/calm/large.yaml":           "kept/calm/large.yaml: not a kept run: line 1 column 7: -4 is not a whole number from 0 to 18446744073709551615\n",
		"repro kept/calm/plan.yaml":            `kept/calm/plan.yaml: not a kept run: fault plan, line 6 column 7: unknown field "knd"`,
		"repro kept/calm/field.yml":            `kept/calm/field.yml: not a kept run: line 2 column 1: unknown field "sed"`,
		"repro kept/calm/two.yaml":             "kept/calm/two.yaml: not a kept run: there is more than one document in it",
		"repro kept/calm/profile.yaml":         "kept/calm/profile.yaml: not a kept run: ",
		"repro kept/calm/mutant.yaml":          `kept/calm/mutant.yaml: there is no mutant "nope"`,
		"repro kept/calm/binary.yaml":          "kept/calm/binary.yaml: not a kept run: it is not text: save it as UTF-8\n",
		"repro kept/calm/long.yaml":            "kept/calm/long.yaml: not a kept run: it is longer than 1024 KiB\n",
		"repro kept":                           "kept/calm/1.yaml: ",
		"keep calm:1 --dir kept/calm/1.yaml/x": "simrun: --dir: ",
		"keep":                                 "simrun: keep: takes one SCENARIO:SEED or FILE, not 0\n",
		"keep passed.jsonl":                    "simrun: keep: passed.jsonl: none of the 3 runs failed: there is nothing to keep\n",
		"keep .":                               "simrun: keep: . is a directory: give a file written by run --json\n",
		"keep calm":                            "simrun: keep calm: which seed? Write it like calm:17\n",
		"repro gone":                           `simrun: repro: gone/flow: there is no scenario "flow"`,
		"repro empty":                          "simrun: repro: empty has no kept runs: those are files SCENARIO/*.yaml, which keep writes\n",
		"repro loose.yaml":                     "simrun: repro: loose.yaml: a kept run lies in a folder named after its scenario",
		"repro kept/calm/1.yaml":               `simrun: kept/calm/1.yaml: --set pcae=3s: scenario calm has no setting "pcae"`,
		"repro kept/calm/2.yaml":               "simrun: repro: kept/calm/2.yaml: ",
		"keep calm:1 --dir passed.jsonl":       "simrun: --dir: passed.jsonl is a file: give a directory\n",
	} {
		got := call(t, words(line)...)
		require.Equal(t, 2, got.status, line+got.stderr)
		require.Contains(t, got.stderr, want, line)
		require.Empty(t, got.stdout, line)
	}
}
