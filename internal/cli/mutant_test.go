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
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

// inVictim changes to a module by simrun's name whose command line says with which bug planted
// and how it was called.
func inVictim(t *testing.T, calm string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":              "module github.com/simrun-dev/simrun\n\ngo 1.24\n",
		"system/calm.go":      calm,
		"internal/cli/cli.go": "package cli\n\nvar plantedMutant string\n\n// Planted is the name of the mutant.\nfunc Planted() string { return plantedMutant }\n",
		"cmd/simrun/main.go": `package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/system"
)

func main() {
	args := strings.Join(os.Args[1:], " ")
	if strings.HasPrefix(args, "run calm --seeds 1-200 --json -") || strings.HasPrefix(args, "run calm --seeds 1 --json -") {
		fmt.Println("{\"scenario\":\"calm\",\"seed\":1,\"verdict\":\"" + system.Verdict + "\",\"failures\":[{\"oracle\":\"calm/still\",\"message\":\"woke\"}]}")
		os.Exit(1)
	}
	fmt.Println(cli.Planted(), system.Verdict, args, os.Getenv("SIMRUN_INVOCATION"))
	os.Exit(42)
}
`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
}

const calmSource = "package system\n\n// Verdict is what comes of it.\nconst Verdict = \"pass\"\n"

func TestMutantIsPlanted(t *testing.T) {
	inVictim(t, calmSource)
	got := call(t, words("run calm --seeds 1-3 --mutant sleepless --set pace=1s")...)
	require.Equal(t, 42, got.status, got.stderr)
	require.Equal(t, "sleepless fail run calm --seeds 1-3 --mutant sleepless --set pace=1s simrun\n", got.stdout)
	require.Contains(t, got.stderr, "simrun: planting bug sleepless: Never sleeps.\n")

	got = call(t, words("verify calm --seed 3 --mutant sleepless")...)
	require.Equal(t, "sleepless fail verify calm --seed 3 --mutant sleepless simrun\n", got.stdout)

	got = call(t, words("repro calm:3 --mutant sleepless --set pace=1s --expect 0123456789abcdef")...)
	require.Equal(t, 42, got.status)
	require.Equal(t, "sleepless fail repro calm:3 --set pace=1s --mutant sleepless --expect 0123456789abcdef simrun\n", got.stdout)
}

func TestMutantOfRecordIsPlanted(t *testing.T) {
	inVictim(t, calmSource)
	file := write(t, `{"scenario":"calm","seed":3,"verdict":"fail","trace_hash":"00000000000000aa","repro":"simrun repro calm:3 --mutant sleepless"}`)
	got := call(t, "repro", file)
	require.Equal(t, 42, got.status, got.stderr)
	require.Equal(t, "sleepless fail repro calm:3 --mutant sleepless --expect 00000000000000aa simrun\n", got.stdout)
}

func TestMutantThatDoesNotFit(t *testing.T) {
	inVictim(t, "package system\n\n// Verdict is what comes of it, in the end.\nconst Verdict = \"pass\"\n")
	got := call(t, words("run calm --mutant sleepless")...)
	require.Equal(t, 2, got.status)
	require.Contains(t, got.stderr, "--mutant sleepless: 001-sleepless.patch: system/calm.go: hunk 1: no longer applies")
	require.Empty(t, got.stdout)
}

func TestMutantWithoutSource(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOFLAGS", "")
	for _, line := range []string{"run calm --mutant sleepless", "repro calm:1 --mutant sleepless", "verify calm --mutant sleepless", "mutants"} {
		got := call(t, words(line)...)
		require.Equal(t, 2, got.status, line)
		require.Contains(t, got.stderr, "mutants are built from source, but this is not a directory of a module that uses ", line)
		require.Empty(t, got.stdout, line)
	}
}

func TestMutants(t *testing.T) {
	inVictim(t, calmSource)
	got := call(t, words("mutants --json m.jsonl")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Regexp(t, `sleepless +calm/still +1 +0.000s +woke\n\n1 of 1 mutant caught and replayed\n`, got.stdout)
	require.Contains(t, got.stderr, "mutant 1 of 1: building sleepless\n")
	data, err := os.ReadFile("m.jsonl")
	require.NoError(t, err)
	require.Contains(t, string(data), `{"mutant":"sleepless","scenario":"calm","status":"caught","seeds":1,`)

	require.NoError(t, os.Remove("system/calm.go"))
	got = call(t, words("mutants --only sleepless --json -")...)
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, `"status":"error"`)
	require.Contains(t, got.stderr, "0 of 1 mutant caught and replayed")
}

func TestMutantsSurvivor(t *testing.T) {
	inVictim(t, calmSource)
	var stdout, stderr strings.Builder
	c := &cli.Command{
		Name: "simrun", Scenarios: fakes(), Stdout: &stdout, Stderr: &stderr,
		// A verdict that does not count as caught.
		Mutants: func() ([]*mutants.Mutant, error) { return mutantWith("unknown") },
	}
	require.Equal(t, 1, c.Run(context.Background(), []string{"mutants"}), stderr.String())
	require.Contains(t, stdout.String(), "1 of the seeds could not be judged\n")
	require.Contains(t, stdout.String(), "sleepless survived: a hole in the oracles or in the faults of calm\n")
}

func TestMutantsInterrupted(t *testing.T) {
	inVictim(t, calmSource)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancelCause(context.Background())
	var stdout strings.Builder
	c := &cli.Command{
		Name: "simrun", Scenarios: fakes(), Stdout: &stdout, Stderr: onWrite(func() { cancel(&cli.Interrupted{Signal: os.Interrupt}) }),
		Mutants: fakeMutants,
	}
	require.Equal(t, 130, c.Run(ctx, []string{"mutants"}))
	require.Contains(t, stdout.String(), "interrupted: 0 of 1 mutant done\n")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

// onWrite is a writer that calls a function whenever something is written.
type onWrite func()

func (w onWrite) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

// A program without the scenarios has not their mutants either.
func TestMutantsOfOtherScenarios(t *testing.T) {
	for _, line := range []string{"mutants", "mutants --list"} {
		var stdout, stderr strings.Builder
		c := &cli.Command{Name: "dicesim", Scenarios: fakes()[1:], Mutants: fakeMutants, Stdout: &stdout, Stderr: &stderr}
		require.Equal(t, 2, c.Run(context.Background(), words(line)))
		require.Contains(t, stderr.String(), "dicesim: mutants: there are none for the scenarios of dicesim: child, ")
		require.Empty(t, stdout.String())
	}
	var stderr strings.Builder
	c := &cli.Command{Name: "dicesim", Scenarios: fakes()[1:], Mutants: fakeMutants, Stderr: &stderr}
	require.Equal(t, 2, c.Run(context.Background(), words("run fussy --mutant sleepless")))
	require.Equal(t, "dicesim: mutant sleepless is for scenario calm, which dicesim does not have\n", stderr.String())
}

func TestMutantsList(t *testing.T) {
	got := call(t, words("mutants --list")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Equal(t, "sleepless\n  Never sleeps.\n  scenario  calm\n  oracles   calm/still\n  patch     001-sleepless.patch\n", got.stdout)
}

func TestMutantsDocumentAndLedger(t *testing.T) {
	inVictim(t, calmSource)
	line := words("mutants --markdown table.md --resume hunts.jsonl --jobs 2 --workers 1")
	got := call(t, line...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Contains(t, got.stderr, "mutant 1 of 1: building sleepless\n")
	table, err := os.ReadFile("table.md")
	require.NoError(t, err)
	require.Contains(t, string(table), "    simrun mutants --markdown table.md --resume hunts.jsonl --jobs 2 --workers 1\n")
	require.Contains(t, string(table), "| 001 | `sleepless` | Never sleeps. | calm/still | 1 | 0.000s |\n")

	again := call(t, line...)
	require.Equal(t, 0, again.status)
	require.Empty(t, again.stderr, "all is known")
	require.Equal(t, got.stdout, again.stdout)
	printed := call(t, words("mutants --resume hunts.jsonl --markdown -")...)
	require.Contains(t, printed.stdout, "| 001 | `sleepless` | Never sleeps. | calm/still | 1 | 0.000s |\n")
	require.Contains(t, printed.stderr, "1 of 1 mutant caught and replayed\n")

	// A hunt that was killed as it wrote: what is whole counts, and that something is not is said.
	ledger, err := os.ReadFile("hunts.jsonl")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("hunts.jsonl", append(ledger, `{"key":"ab`...), 0o644))
	torn := call(t, line...)
	require.Equal(t, 0, torn.status)
	require.Equal(t, "simrun: mutants: --resume: hunts.jsonl: the last line is torn: dropped\n", torn.stderr)
	require.Equal(t, got.stdout, torn.stdout)

	// One of other source is of no use, and that is said as well.
	require.NoError(t, os.WriteFile("hunts.jsonl", regexp.MustCompile(`"key":"[0-9a-f]+"`).ReplaceAll(ledger, []byte(`"key":"ab"`)), 0o644))
	stale := call(t, line...)
	require.Equal(t, 0, stale.status)
	require.Contains(t, stale.stderr, "simrun: mutants: --resume: hunts.jsonl: source or patches have changed since 1 of the campaigns in it: repeating them\n")
	require.Contains(t, stale.stderr, "mutant 1 of 1: building sleepless\n")
}

func TestMutantsThatAreKnownToSurvive(t *testing.T) {
	inVictim(t, calmSource)
	var stdout, stderr strings.Builder
	c := &cli.Command{
		Name: "simrun", Scenarios: fakes(), Stdout: &stdout, Stderr: &stderr,
		Mutants: func() ([]*mutants.Mutant, error) {
			all, err := mutantWith("pass, so to speak")
			all[0].Survives = "nobody can tell"
			return all, err
		},
	}
	require.Equal(t, 0, c.Run(context.Background(), words("mutants")), stderr.String())
	require.Contains(t, stdout.String(), "(as it is known to) nobody can tell\n")
}

func TestMutantsFlagErrors(t *testing.T) {
	inVictim(t, calmSource)
	require.NoError(t, os.WriteFile("notes.txt", []byte("buy milk\n"), 0o644))
	require.NoError(t, os.WriteFile("huge", nil, 0o644))
	require.NoError(t, os.Truncate("huge", 3<<30)) // of holes
	for line, want := range map[string]string{
		"mutants --campaigns 0":                                `simrun: mutants: --campaigns: "0" is not a whole number from 1 to 1000`,
		"mutants --jobs many":                                  `simrun: mutants: --jobs: "many" is not a whole number from 1 to 64`,
		"mutants --campaigns 2 --seeds 1-5,9":                  "simrun: mutants: --campaigns goes with one range of seeds, not with 1-5,9",
		"mutants --campaigns 9 --seeds 1-18446744073709551000": "simrun: mutants: --campaigns 9: there are not so many seeds behind 1-18446744073709551000",
		"mutants --resume notes.txt":                           "simrun: mutants: --resume: notes.txt: line 1 is not that of a hunt: ",
		"mutants --resume no/such/file":                        "simrun: --resume: there is no directory no/such to write no/such/file to",
		"mutants --list --only=sleeples":                       `simrun: there is no mutant "sleeples"; did you mean sleepless?`,
		"mutants --resume .":                                   "simrun: --resume: . is a directory: give a file",
		"mutants --resume huge":                                "simrun: --resume: huge: line 1 is longer than any that a hunt writes: ",
		"mutants --markdown no/such/file":                      "simrun: --markdown: there is no directory no/such to write no/such/file to",
		"mutants --markdown - --json -":                        "simrun: mutants: --json and --markdown cannot both go to standard output",
	} {
		got := call(t, words(line)...)
		require.Equal(t, 2, got.status, line)
		require.True(t, strings.HasPrefix(got.stderr, want), got.stderr)
		require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
		require.Empty(t, got.stdout, line)
	}
}
