package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/scenarios"
)

// TestMain makes the test binary the command line itself when a test, or the code under test,
// runs it again.
func TestMain(m *testing.M) {
	const again = "SIMRUN_TEST_AS_COMMAND"
	if os.Getenv(again) != "" {
		os.Exit(cli.Main(fakes(), nil))
	}
	if err := os.Setenv(again, "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// outcome is how a call of the command line ended.
type outcome struct {
	status         int
	stdout, stderr string
}

// call runs the command line over the fake scenarios, in this process.
func call(t testing.TB, args ...string) outcome {
	t.Helper()
	return callWith(t, context.Background(), "", args...)
}

func callWith(t testing.TB, ctx context.Context, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	self, err := os.Executable()
	require.NoError(t, err)
	c := &cli.Command{
		Name: "simrun", Scenarios: fakes(), Mutants: fakeMutants, Executable: self,
		Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr,
	}
	code := c.Run(ctx, args)
	return outcome{code, stdout.String(), stderr.String()}
}

// words takes a command line without quotes apart.
func words(line string) []string { return strings.Fields(line) }

func write(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// Whatever is wrong with a call: status 2, nothing on standard output, and one line on standard
// error that says what, where, and how to mend it.
func TestWrongCalls(t *testing.T) {
	noPlan := write(t, "faults: [")
	badPlan := write(t, "faults:\n  - kind: net.lost\n    from: 1s\n    to: 2s\n")
	foreignPlan := write(t, "faults:\n  - kind: node.pause\n    target: [mars]\n    from: 1s\n    to: 2s\n")
	noRecords := write(t, "\n")
	noJSON := write(t, "FAIL\n")
	otherJSON := write(t, `{"scenario":"gone","seed":1,"verdict":"fail","trace_hash":"00000000000000aa"}`)
	badRepro := write(t, `{"scenario":"fussy","seed":7,"verdict":"fail","trace_hash":"00000000000000aa","repro":"simrun repro 'fussy:7"}`)
	negative := write(t, `{"scenario":"fussy","seed":7,"verdict":"fail","trace_hash":"00000000000000aa","repro":"simrun repro fussy:7 --bogus 1"}`)
	emptied := write(t, `{"scenario":"fussy","seed":7,"verdict":"fail","trace_hash":"00000000000000aa","repro":"simrun repro fussy:7 --faults ''"}`)
	noHash := write(t, "\n"+`{"scenario":"fussy","seed":7,"verdict":"fail","trace_hash":""}`)
	badHash := write(t, `{"scenario":"fussy","seed":7,"verdict":"fail","trace_hash":"0xaa"}`)
	badSeed := write(t, `{"scenario":"fussy","seed":-1,"verdict":"fail"}`)
	cut := write(t, `{"scenario":"fussy","seed":7,"verd`)
	emptyPlan := write(t, "# nothing yet\n")
	binary := write(t, "\x7fELF\x00\x01")
	dir := t.TempDir()
	twice := write(t, strings.Repeat(`{"scenario":"fussy","seed":7,"verdict":"fail","trace_hash":"00000000000000aa"}`+"\n", 2))
	for line, want := range map[string]string{
		"rnu calm":              `there is no command "rnu"; did you mean run?`,
		"help rnu":              `there is no command "rnu"; did you mean run?`,
		"--seed 1":              "there is no flag --seed",
		"run":                   "which scenario? There are: calm, child",
		"run calm fussy":        "takes one scenario, not 2: calm fussy",
		"run clam":              `there is no scenario "clam"; did you mean calm? There are: calm,`,
		"run nothing-like-it":   `there is no scenario "nothing-like-it"; there are: calm,`,
		"run calm --sed 1":      "there is no flag --sed; did you mean --seed?",
		"run calm -s 1":         "there is no flag -s; simrun run --help lists them",
		"run calm --seed":       "flag --seed needs a value: N",
		"run calm --seeds 5-1":  "--seeds: range 5-1 is upside down: write it as 1-5",
		"run calm --seeds a-b":  `--seeds: "a" is not a seed`,
		"run calm --seeds 1-b":  `--seeds: "b" is not a seed`,
		"run calm --seeds 1-":   `--seeds: "1-" is not a range of seeds: write it like 1-50`,
		"run calm --seeds 1,,2": `--seeds: "" is not a range of seeds`,
		"run calm --seeds=":     `--seeds: it is empty: give A-B`,
		"run calm --seeds -5":   "--seeds: seed -5 is negative",
		"run calm --seeds 1--5": "--seeds: seed -5 is negative",
		"run calm --seeds 1-18446744073709551616":       "--seeds: seed 18446744073709551616 is too large: the largest is 18446744073709551615",
		"run calm --seed 0x":                            `--seed: "0x" is not a seed`,
		"run calm --seed 1.5":                           `--seed: "1.5" is not a seed`,
		"run calm --seed -1":                            "--seed: seed -1 is negative",
		"run calm --seed 1 --seeds 1-5":                 "--seed and --seeds each say which seeds to run: give only one of them",
		"run calm --seed 1 --for 1s":                    "--seed and --for each say",
		"run calm --for fast":                           `--for: "fast" is not a duration: write it like 30s`,
		"run calm --for 0s":                             "--for: 0s is no time at all",
		"run calm --for -1s":                            "--for: -1s is no time at all",
		"run calm --for 9999999999h":                    "--for: 9999999999h is too long: the longest is 2562047h0m0s",
		"run calm --json=":                              "--json: it is empty: give FILE",
		"run calm --faults=":                            "--faults: it is empty: give PROFILE|FILE|{PLAN}",
		"run calm --mutant=":                            "--mutant: it is empty: give NAME",
		"run calm --strategy=":                          "--strategy: it is empty: give fifo|pct|random",
		"run calm --set=":                               "--set: it is empty: give K=V",
		"repro calm:1 --trace=":                         "--trace: it is empty: give FILE",
		"bench --scenario=":                             "--scenario: it is empty: give SCENARIO",
		"run calm --keep-going=maybe":                   `--keep-going: "maybe" is neither true nor false`,
		"run calm --faults {}":                          "--faults: the plan given: fault plan, line 1 column 1: the plan is empty; write faults: [] for none",
		"run calm --faults {faults:[]":                  "--faults: the plan given: fault plan, line 1 column",
		"run calm --faults -":                           "--faults: standard input: fault plan, line 1 column 1: the plan is empty; write faults: [] for none",
		"run calm --faults " + emptyPlan:                emptyPlan + ": fault plan, line 1 column 1: the plan is empty; write faults: [] for none",
		"run calm --faults " + binary:                   binary + ": fault plan, line 1 column 1: this is not YAML text: save it as UTF-8",
		"run calm --faults /dev/zero":                   "the plan is longer than 256 KiB",
		"run calm --mutant deaf":                        "mutant deaf is for scenario radio, which simrun does not have",
		"mutants --only deaf":                           "mutant deaf is for scenario radio, which simrun does not have",
		"repro " + dir:                                  dir + " has no kept runs: those are files SCENARIO/*.yaml, which keep writes",
		"repro " + emptied:                              "record 1, fussy seed 7: its repro command cannot be read: --faults: it is empty",
		"repro " + noHash:                               noHash + `: line 2: not the record of a run: trace_hash "" is not 16 hexadecimal digits`,
		"repro " + badHash:                              badHash + `: line 1: not the record of a run: trace_hash "0xaa" is not 16 hexadecimal digits`,
		"repro " + badSeed:                              badSeed + ": line 1: not the record of a run: seed cannot be number -1",
		"repro " + cut:                                  cut + ": line 1: the record is cut off",
		"plan calm:x":                                   `plan calm:x: "x" is not a seed`,
		"run calm --workers 0":                          `--workers: "0" is not a number of workers`,
		"run calm --workers -1":                         `--workers: "-1" is not a number of workers`,
		"run calm --workers many":                       `--workers: "many" is not a number of workers`,
		"run calm --strategy rando":                     `there is no strategy "rando"; did you mean random?`,
		"run calm --set pace":                           `--set "pace": write it as name=value`,
		"run calm --set =3":                             `--set "=3": write it as name=value`,
		"run calm --set pcae=3":                         `scenario calm has no setting "pcae"; did you mean pace?`,
		"run calm --set pace=fast":                      "--set: setting pace:",
		"run calm --faults choas":                       `there is no fault profile and no file "choas"; did you mean chaos?`,
		"run calm --faults none.yaml":                   "cannot read the fault plan: open none.yaml",
		"run calm --faults .":                           "--faults: . is a directory: give a file with a plan of faults",
		"run calm --faults " + noPlan:                   noPlan + ": fault plan",
		"run calm --faults " + badPlan:                  badPlan + `: fault plan, line 2 column 11: there is no fault kind "net.lost"`,
		"run calm --faults " + foreignPlan:              foreignPlan + `: fault plan, line 3 column 14: node.pause/1: there is no target "mars"`,
		"run calm --json no/such/dir/file":              "--json: there is no directory no/such/dir to write no/such/dir/file to",
		"run calm --mutant gone":                        `there is no mutant "gone"; there are: sleepless`,
		"run calm --mutant sleeples":                    `there is no mutant "sleeples"; did you mean sleepless?`,
		"repro":                                         "takes one SCENARIO:SEED, FILE or DIR, not 0",
		"repro calm:1 calm:2":                           "takes one SCENARIO:SEED, FILE or DIR, not 2",
		"repro calm":                                    "which seed? Write it like calm:17",
		"repro calm:":                                   `repro calm:: "" is not a seed`,
		"repro calm:x":                                  `repro calm:x: "x" is not a seed`,
		"repro clam:1":                                  `there is no scenario "clam"; did you mean calm?`,
		"repro no-such-file":                            `there is no file "no-such-file"`,
		"repro calm:1 --expect 12":                      `--expect: "12" is not a trace hash`,
		"repro calm:1 --trace no/such/dir/file":         "--trace: open no/such/dir/file",
		"repro " + noRecords:                            "has no records",
		"repro " + noJSON:                               noJSON + ": line 1: not the record of a run",
		"repro " + otherJSON:                            `record 1: there is no scenario "gone"`,
		"repro " + badRepro:                             "record 1, fussy seed 7: its repro command cannot be read: a quote is not closed",
		"repro " + negative:                             "its repro command cannot be read: unknown flag: --bogus",
		"repro " + twice + " --trace t":                 "--trace writes one run, but the file has 2 that failed",
		"repro " + twice + " --expect 0123456789abcdef": "--expect goes with SCENARIO:SEED",
		"verify":                         "which scenario?",
		"verify calm --for 1s":           "there is no flag --for",
		"verify calm --workers 0":        "is not a number of workers",
		"verify calm --child=maybe":      "--child:",
		"plan":                           "takes one SCENARIO:SEED",
		"plan calm":                      "takes one SCENARIO:SEED",
		"plan calm:1 --mutant sleepless": "there is no flag --mutant",
		"list calm":                      "takes no arguments, but was given calm",
		"list --json no/such/dir/file":   "--json: there is no directory no/such/dir to write no/such/dir/file to",
		"version 2":                      "takes no arguments",
		"mutants sleepless":              "takes no arguments",
		"mutants --only gone":            `there is no mutant "gone"`,
		"mutants --seeds 2-1":            "upside down",
	} {
		t.Run(line, func(t *testing.T) {
			got := call(t, words(line)...)
			require.Equal(t, 2, got.status, got.stderr)
			require.Empty(t, got.stdout)
			require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
			require.True(t, strings.HasPrefix(got.stderr, "simrun: ") && strings.HasSuffix(got.stderr, "\n"), got.stderr)
			require.Contains(t, got.stderr, want)
			require.NotRegexp(t, `strconv|json: cannot|[uU]nmarshal|goroutine|\*\w+\.`, got.stderr, "Go is no business of the caller's")
		})
	}
}

// What is wrong with a scenario is its author's to mend: one line that says where, and status 3.
func TestScenariosThatCannotBeBuilt(t *testing.T) {
	for name, test := range map[string]struct {
		scenario scenarios.Scenario
		want     string
	}{
		"nil":     {scenarios.Scenario{}, "scenario broken: its Build panicked: it is nil"},
		"panic":   {scenarios.Scenario{Build: func(*scenarios.Run) { panic("well, really") }}, "scenario broken: its Build panicked: well, really (at "},
		"setting": {scenarios.Scenario{Build: func(r *scenarios.Run) { r.Int("pcae") }}, `has no setting "pcae" (at `},
		"nodes":   {scenarios.Scenario{Build: func(r *scenarios.Run) { build(r); build(r) }}, "scenario broken: its Build panicked: "},
		"profile": {scenarios.Scenario{Profile: "choas", Build: build}, `scenario broken: there is no fault profile "choas"`},
		"check": {scenarios.Scenario{Build: build, Settings: []scenarios.Setting{{
			Name: "pace", Default: "1s", Check: func(string) error { panic("unchecked") },
		}}}, "scenario broken: its checks panicked: unchecked"},
	} {
		for _, line := range []string{"run broken", "repro broken:1", "verify broken", "plan broken:1", "bench --scenario broken --quick"} {
			if name == "check" {
				if strings.HasPrefix(line, "bench") {
					continue
				}
				line += " --set pace=2s"
			}
			t.Run(name+" "+line, func(t *testing.T) {
				test.scenario.Name = "broken"
				var stdout, stderr strings.Builder
				c := &cli.Command{Name: "simrun", Scenarios: []*scenarios.Scenario{&test.scenario}, Stdout: &stdout, Stderr: &stderr}
				require.Equal(t, 3, c.Run(context.Background(), words(line)), stderr.String())
				require.Contains(t, stderr.String(), "simrun: "+"scenario broken: ")
				require.Contains(t, stderr.String(), test.want)
				require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			})
		}
	}
}

func TestWrongScenarios(t *testing.T) {
	for name, want := range map[string]string{
		"":     "must not be empty",
		"a b":  "must not be empty nor have colons or spaces",
		"a:b":  "must not be empty nor have colons or spaces",
		"calm": `two scenarios are called "calm": rename one`,
	} {
		t.Run(name, func(t *testing.T) {
			list := fakes()
			list[len(list)-1].Name = name
			var stderr bytes.Buffer
			c := &cli.Command{Name: "simrun", Scenarios: list, Stderr: &stderr}
			require.Equal(t, 2, c.Run(context.Background(), []string{"list"}))
			require.Contains(t, stderr.String(), want)
		})
	}
}

func TestHelp(t *testing.T) {
	for _, line := range []string{"", "--help", "help", "run --help", "help run", "repro --help", "verify --help", "mutants --help"} {
		t.Run(line, func(t *testing.T) {
			got := call(t, words(line)...)
			require.Equal(t, 0, got.status)
			require.Empty(t, got.stderr)
			require.Contains(t, got.stdout, "Exit status:")
			require.Contains(t, got.stdout, "130  interrupted by Ctrl-C")
		})
	}
	require.Equal(t, call(t, "run", "--help"), call(t, "help", "run"))
}

func TestVersion(t *testing.T) {
	got := call(t, "version")
	require.Equal(t, 0, got.status)
	require.Regexp(t, `^simrun \S+ .*go1\.\d+.*\n$`, got.stdout)
}
