package main

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/scenarios"
)

// TestMain makes the test binary simrun itself when it is run again.
func TestMain(m *testing.M) {
	const again = "SIMRUN_TEST_AS_COMMAND"
	if os.Getenv(again) != "" {
		main()
	}
	if err := os.Setenv(again, "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func call(t testing.TB, args ...string) (stdout string, status int) {
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

// Each built-in scenario passes a seed, the same in another process.
func TestBuiltinScenarios(t *testing.T) {
	for _, s := range scenarios.Builtin() {
		t.Run(s.Name, func(t *testing.T) {
			var short []string
			if s.Slowness > 1 {
				short = []string{"--set", "duration=1h"}
			}
			out, status := call(t, append([]string{"repro", s.Name + ":1"}, short...)...)
			require.Equal(t, 0, status, out)
			out, status = call(t, append([]string{"verify", s.Name, "--seed", "1"}, short...)...)
			require.Equal(t, 0, status, out)
			require.Equal(t, s.Name+": 1 seed run 3 times each: deterministic\n", out)
		})
	}
}

// BenchmarkFull is a campaign of ten seeds from the command line, with the process around it.
func BenchmarkFull(b *testing.B) {
	for b.Loop() {
		if out, status := call(b, "run", "full", "--seeds", "1-10"); status != 0 {
			b.Fatal(out)
		}
	}
	b.ReportMetric(float64(10*b.N)/b.Elapsed().Seconds(), "seeds/s")
}
