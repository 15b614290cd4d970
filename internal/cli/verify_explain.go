package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

const (
	// explainLimit is how many seeds that are not deterministic are looked into.
	explainLimit = 3
	// contextLines is how many events before the first that differs are shown.
	contextLines = 5
)

// traceAgain repeats a run and passes on its trace, line by line.
type traceAgain func(context.Context, scenarios.Options, func(line string)) error

// explainAll explains the first few seeds that are not deterministic and have not been explained.
func (a *audit) explainAll(ctx context.Context, again traceAgain) error {
	for _, seed := range slices.Sorted(maps.Keys(a.differences)) {
		if a.explained[seed] || len(a.explained) >= explainLimit {
			continue
		}
		a.explained[seed] = true
		if err := a.explain(ctx, seed, again); err != nil {
			return err
		}
	}
	return nil
}

// explain prints that a seed is not deterministic, and the first event that differs when it is
// run here and again.
func (a *audit) explain(ctx context.Context, seed uint64, again traceAgain) error {
	report := reports.Divergence{
		Scenario: a.scenario.Name, Seed: seed, Difference: a.differences[seed],
		Command: a.shown(a.reproCommand(a.scenario, a.flags.typed(), seed)),
	}
	options := a.options
	options.Seed = seed
	if a.first[seed].Events <= rerun.RecordLimit && ctx.Err() == nil {
		if err := a.findDivergence(ctx, options, again, &report); err != nil {
			return err
		}
	}
	return a.terminal.Divergence(report)
}

func (a *audit) findDivergence(ctx context.Context, options scenarios.Options, again traceAgain, report *reports.Divergence) error {
	var trace []string
	traceLines(ctx, a.scenario, options, func(line string) { trace = append(trace, line) })
	n := 0 // index of the next line of the other trace
	found := func(other string) {
		report.Event, report.Second = n+1, other
		if n < len(trace) {
			report.First = trace[n]
		}
		end := min(n, len(trace))
		report.Before = trace[max(0, end-contextLines):end]
	}
	err := again(ctx, options, func(line string) {
		if report.Event == 0 && (n >= len(trace) || trace[n] != line) {
			found(line)
		}
		n++
	})
	if err == nil && report.Event == 0 && n < len(trace) {
		found("")
	}
	return err
}

// inProcess repeats a run in this process.
func (a *audit) inProcess(ctx context.Context, options scenarios.Options, each func(string)) error {
	traceLines(ctx, a.scenario, options, each)
	return nil
}

// inChild repeats a run in a process of its own.
func (a *audit) inChild(ctx context.Context, options scenarios.Options, each func(string)) error {
	cmd, err := a.childCommand(ctx, "repro", fmt.Sprintf("%s:%d", a.scenario.Name, options.Seed), "--trace", "-")
	if err != nil {
		return err
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("the child process: %w", err)
	}
	for line := range bytes.Lines(out) {
		each(string(bytes.TrimSuffix(line, []byte("\n"))))
	}
	return nil
}
