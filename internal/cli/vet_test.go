package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/internal/cli"
)

// vetModule makes the working directory a module of a package that is clean, one that is not, and one
// that does not compile.
func vetModule(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"go.mod":              "module example.com/bank\n\ngo 1.26\n",
		"vault/vault.go":      "package vault\n\nfunc Open() {}\n",
		"broken/broken.go":    "package broken\n\nvar a = b\n",
		"teller/teller.go":    "package teller\n\nimport \"time\"\n\nfunc Wait(m map[string]int) (last string) {\n\ttime.Sleep(1)\n\tfor name := range m {\n\t\tlast = name\n\t}\n\treturn last\n}\n",
		"teller/wait_test.go": "package teller\n\nimport \"time\"\n\nvar started = time.Now()\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	}
}

const (
	tellerSleeps = "teller/teller.go:6:2: time.Sleep blocks the only thread that the simulation has, in real time: " +
		"use Host.Clock().Sleep (simtime)\n"
	tellerKeeps = "teller/teller.go:7:2: map m is visited in an order that the seed does not decide, and the order shows: " +
		"the loop keeps the first or the last entry visited in last (line 8): range over slices.Sorted(maps.Keys(m)) (simmap)\n"
)

func TestVet(t *testing.T) {
	vetModule(t)
	for line, want := range map[string]outcome{
		"vet ./vault":                        {0, "", ""},
		"vet ./vault ./teller":               {1, tellerSleeps + tellerKeeps, ""},
		"vet ./teller/... --skip simmap":     {1, tellerSleeps, ""},
		"vet ./teller --only simmap,simgo":   {1, tellerKeeps, ""},
		"vet ./teller --skip simmap,simtime": {0, "", ""},
		"vet ./teller --only simtime --tests": {1, tellerSleeps + "teller/wait_test.go:5:15: time.Now reads the machine's clock, " +
			"which the seed does not decide: use Host.Clock().Now (simtime)\n", ""},
	} {
		require.Equal(t, want, call(t, words(line)...), line)
	}
}

func TestVetJSON(t *testing.T) {
	vetModule(t)
	got := call(t, words("vet ./teller --json -")...)
	require.Equal(t, 1, got.status)
	require.Equal(t, tellerSleeps+tellerKeeps, got.stderr)
	require.Equal(t, 2, strings.Count(got.stdout, "\n"))
	var first map[string]any
	require.NoError(t, json.NewDecoder(strings.NewReader(got.stdout)).Decode(&first))
	require.Equal(t, map[string]any{
		"file": "teller/teller.go", "line": 6.0, "column": 2.0, "check": "simtime",
		"message": "time.Sleep blocks the only thread that the simulation has, in real time: use Host.Clock().Sleep",
	}, first)
}

// A call that is wrong, or packages that are, are another status than findings.
func TestVetWrongCalls(t *testing.T) {
	vetModule(t)
	for line, want := range map[string]string{
		"vet ./gone":                "simrun: vet: stat ",
		"vet ./...":                 "broken.go:3:9: undefined: b\n",
		"vet ./vault ./broken":      "broken.go:3:9: undefined: b\n",
		"vet --skip simclock":       `simrun: vet: --skip: there is no check "simclock"; there are: simchan, `,
		"vet --only= .":             "--only: it is empty",
		"vet ./broken --fix":        "broken.go:3:9: undefined: b\n",
		"vet ./vault --json /no/no": "--json: ",
	} {
		got := call(t, words(line)...)
		require.Equal(t, 2, got.status, line)
		require.Empty(t, got.stdout, line)
		require.Contains(t, got.stderr, want, line)
		require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
	}
}

func TestVetInterrupted(t *testing.T) {
	vetModule(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&cli.Interrupted{Signal: syscall.SIGTERM})
	require.Equal(t, outcome{143, "", ""}, callWith(t, ctx, "", words("vet ./teller")...))
}

// What is mechanical is mended, and the rest reported.
func TestVetFix(t *testing.T) {
	vetModule(t)
	got := call(t, words("vet ./teller --fix")...)
	require.Equal(t, outcome{1, strings.Replace(tellerSleeps, ":6:", ":11:", 1), ""}, got)
	mended, err := os.ReadFile("teller/teller.go")
	require.NoError(t, err)
	require.Contains(t, string(mended), "\tfor _, name := range slices.Sorted(maps.Keys(m)) {\n")
	require.Contains(t, string(mended), "\"slices\"\n")
	out, err := exec.Command("go", "build", "./teller").CombinedOutput()
	require.NoError(t, err, string(out))
}

// The program is a tool for go vet as well.
func TestVetTool(t *testing.T) {
	vetModule(t)
	self, err := os.Executable()
	require.NoError(t, err)
	vet := func(args ...string) (string, int) {
		cmd := exec.Command("go", append([]string{"vet", "-vettool=" + self}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			require.IsType(t, &exec.ExitError{}, err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := vet("./teller")
	require.Equal(t, 1, code)
	require.Contains(t, out, tellerSleeps)
	require.Contains(t, out, tellerKeeps)
	require.NotContains(t, out, "time.Now")

	out, code = vet("-simmap=false", "-tests", "./teller")
	require.Equal(t, 1, code)
	require.Contains(t, out, tellerSleeps)
	require.NotContains(t, out, tellerKeeps)
	require.Contains(t, out, "wait_test.go:5:15: time.Now")

	out, code = vet("./vault")
	require.Zero(t, code, out)
	require.Empty(t, out)
}
