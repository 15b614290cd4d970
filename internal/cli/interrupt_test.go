//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A campaign that would never end: its seeds up to 5 pass, the others hang until they are told to
// stop. Once the five are through, and written, it is interrupted.
func TestInterrupt(t *testing.T) {
	for name, test := range map[string]struct {
		signal syscall.Signal
		status int
	}{
		"SIGINT":  {syscall.SIGINT, 130},
		"SIGTERM": {syscall.SIGTERM, 143},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stdout, stderr := start(t, "run", "endless", "--seeds", "1-1000", "--workers", "2", "--json", "-")
			lines := bufio.NewReader(stdout)
			var json bytes.Buffer
			for range 5 {
				line, err := lines.ReadBytes('\n')
				require.NoError(t, err)
				json.Write(line)
			}
			require.NoError(t, cmd.Process.Signal(test.signal))
			_, err := io.Copy(&json, lines)
			require.NoError(t, err)

			var exit *exec.ExitError
			require.ErrorAs(t, cmd.Wait(), &exit)
			require.Equal(t, test.status, exit.ExitCode(), stderr.String())
			require.Len(t, records(t, json.String()), 5, "runs that were cut short are no results")
			require.Contains(t, stderr.String(), ": stopping; once more to end at once\n")
			require.Contains(t, stderr.String(), "endless: 5 seeds in ")
			require.Contains(t, stderr.String(), "interrupted: what is above is what was done until then\n")
		})
	}
}

// A violation found before the interruption is what counts.
func TestInterruptAfterFailure(t *testing.T) {
	cmd, stdout, stderr := start(t, "run", "fussy", "--keep-going", "--seeds", "1-1000000000", "--json", "-")
	lines := bufio.NewReader(stdout)
	for range 7 {
		_, err := lines.ReadBytes('\n')
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_, err := io.Copy(io.Discard, lines)
	require.NoError(t, err)
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, 1, exit.ExitCode(), stderr.String())
	require.Contains(t, stderr.String(), "FAIL fussy seed 7\n")
}

// Where the first Ctrl-C does not get through, the second ends the process.
func TestSecondInterrupt(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "run", "stuck", "--seeds", "1-9", "--workers", "1", "--json", "-")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	results := bufio.NewReader(stdout)
	for range 5 {
		_, err := results.ReadBytes('\n')
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	messages := bufio.NewReader(stderr)
	for line := ""; !strings.Contains(line, "once more to end at once"); {
		line, err = messages.ReadString('\n')
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_, err = io.Copy(io.Discard, messages)
	require.NoError(t, err)
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	status, ok := exit.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.True(t, status.Signaled(), exit)
	require.Equal(t, syscall.SIGINT, status.Signal())
}

// start runs the test binary as the command line.
func start(t *testing.T, args ...string) (cmd *exec.Cmd, stdout io.Reader, stderr *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.Command(self, args...)
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	stdout, err = cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if the test did not get to its end
	return cmd, stdout, stderr
}
