package simrun_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun"
	"github.com/simrun-dev/simrun/scenarios"
)

// dice is a scenario of a user's own: it fails whenever it throws a six.
var dice = &scenarios.Scenario{
	Name: "dice", Doc: "one throw", Profile: "calm",
	Build: func(r *scenarios.Run) {
		r.Count(func() (ops, succeeded int) { return 1, 1 })
		r.World.Go("throw", func() {
			if r.World.NewStream("dice").N(6) == 5 {
				r.World.Fail("dice/low", "threw a six")
			}
		})
	},
}

// TestMain makes the test binary a program of a user's own when it is run again.
func TestMain(m *testing.M) {
	const again = "SIMRUN_TEST_AS_COMMAND"
	if os.Getenv(again) != "" {
		simrun.Main(dice)
	}
	if err := os.Setenv(again, "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// program runs the user's program and returns its standard output and exit status.
func program(t testing.TB, args ...string) (stdout string, status int) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	out, err := exec.Command(self, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out), exit.ExitCode()
	}
	require.NoError(t, err)
	return string(out), 0
}

func TestMainOverOwnScenarios(t *testing.T) {
	out, status := program(t, "list")
	require.Equal(t, 0, status)
	require.True(t, strings.HasPrefix(out, "dice\n  one throw\n"), out)

	out, status = program(t, "run", "dice", "--seeds", "1-100")
	require.Equal(t, 1, status)
	require.Contains(t, out, "dice/low: threw a six\n")

	_, status = program(t, "run", "shard")
	require.Equal(t, 2, status, "the built-in scenarios are not among them")
}

func ExampleMain() {
	transfers := &scenarios.Scenario{
		Name: "transfers", Doc: "clients move money between accounts, none may get lost",
		Build: func(r *scenarios.Run) {
			// Machines, a workload, and the oracles that judge it.
		},
	}
	simrun.Main(transfers)
}

func ExampleProgram() {
	simrun.Program{
		Scenarios: []*scenarios.Scenario{dice},
		Mutants:   os.DirFS("mutants"), // planted bugs, a patch file each
	}.Main()
}

// BenchmarkMain is a whole call: starting the process, a run, its report.
func BenchmarkMain(b *testing.B) {
	for b.Loop() {
		if out, _ := program(b, "repro", "dice:1"); out == "" {
			b.Fatal("no report")
		}
	}
}
