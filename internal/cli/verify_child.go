package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/reports"
)

// childEnvironment is what the child process has different.
func childEnvironment() []string {
	procs := 1
	if runtime.GOMAXPROCS(0) == 1 {
		procs = 2
	}
	return append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(procs), "GOGC=20")
}

// childCommand is a call of this program with the runs' flags added.
func (a *audit) childCommand(ctx context.Context, args ...string) (*exec.Cmd, error) {
	binary := a.Executable
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	flags := *a.flags
	var plan []byte
	if flags.plan != nil {
		// Not as an argument: that must not be longer than the system has it.
		plan = flags.plan.YAML()
		flags.faults, flags.plan = "-", nil
	}
	cmd := exec.CommandContext(ctx, binary, append(args, flags.arguments(a.scenario)...)...)
	cmd.Env = childEnvironment()
	cmd.Stdin = bytes.NewReader(plan)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd, nil
}

// runChild runs the seeds in a process of their own and compares the results.
func (a *audit) runChild(ctx context.Context) error {
	cmd, err := a.childCommand(ctx, "run", a.scenario.Name, "--seeds", a.seeds.String(), "--keep-going", "--json", "-")
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the child process: %w", err)
	}
	p := a.progress("child process", a.seeds, 0)
	seen := 0
	var readErr error
	for r, err := range reports.ReadResults(stdout) {
		if err != nil {
			readErr = fmt.Errorf("the child process's results: %w", err)
			break
		}
		seen++
		p.add(&r)
		a.compare(r, "run in a process with another GOMAXPROCS and GOGC")
	}
	p.clear()
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == exitViolation || exit.ExitCode() == exitUnknown) {
		err = nil
	}
	switch {
	case err != nil:
		return fmt.Errorf("the child process: %w: %s", err, lastLine(stderr.String()))
	case readErr != nil:
		return readErr
	case seen != len(a.first):
		return fmt.Errorf("the child process ran %d seeds, not %d: %s", seen, len(a.first), lastLine(stderr.String()))
	}
	return nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
