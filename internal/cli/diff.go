package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

const (
	// diffBefore is how many events before the first that differs are shown, diffAfter how many of
	// each run from there on.
	diffBefore = 8
	diffAfter  = 8
)

func (c *Command) diffCommand() *cobra.Command {
	var run runFlags
	cmd := &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Find the first event at which two runs part",
		Long: `Runs two runs again, each with its trace recorded, and shows the first event that
differs, with what was before it and what either did next. A RUN is SCENARIO:SEED, with
@PROFILE behind it for the faults of another profile, or a file written by run --json or
shrink with one run that failed. --set, --faults and --strategy hold for both.

Which faults a plan has shows when they strike: a run and the same with a fault less are
the same up to there.

Exit status:
  0    the two runs are the same, event by event
  1    they part
  2    the call or its input is wrong
  3    a run could not be repeated`,
		Example: c.example(`diff shard:17 shard:17@calm
diff shard:17 shard-17.shrunk.jsonl
diff shard:17 shard:18`),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("diff: takes two runs, SCENARIO:SEED[@PROFILE] or FILE, not %d", len(args))
			}
			if args[0] == "-" && args[1] == "-" {
				return usagef("diff: only one of the runs can be read from standard input")
			}
			var sides [2]diffSide
			for i, arg := range args {
				target, err := c.diffTarget(cmd, arg, run)
				if err != nil {
					return err
				}
				sides[i] = diffSide{reproTarget: *target, name: arg}
			}
			return c.diff(cmd.Context(), &sides[0], &sides[1])
		},
	}
	run.add(cmd.Flags())
	run.addMutant(cmd.Flags(), c.Name)
	return cmd
}

// diffTarget is the run that an argument stands for.
func (c *Command) diffTarget(cmd *cobra.Command, arg string, flags runFlags) (*reproTarget, error) {
	if before, profile, ok := strings.Cut(arg, "@"); ok && !isFile(arg) {
		if cmd.Flags().Changed("faults") {
			return nil, usagef("diff: %s has a profile: --faults is for runs that have none", arg)
		}
		if !slices.Contains(faults.Profiles(), profile) {
			return nil, usagef("diff %s: there is no fault profile %q%s", arg, profile, suggestion(profile, faults.Profiles()))
		}
		arg, flags.faults = before, profile
	}
	targets, err := c.targets(cmd.Context(), "diff", cmd.Flags(), arg, flags)
	var none *noFailureError
	switch {
	case errors.As(err, &none):
		return nil, usagef("diff: %w: give one as SCENARIO:SEED", none)
	case err != nil:
		return nil, err
	case len(targets) > 1:
		return nil, usagef("diff: %s has %d runs that failed: give one as SCENARIO:SEED", arg, len(targets))
	}
	return &targets[0], nil
}

// diffSide is one of the two runs.
type diffSide struct {
	reproTarget
	name  string
	trace []string
	hash  string // of the trace, at its end
}

// record runs the side again for its trace.
func (c *Command) record(ctx context.Context, s *diffSide) error {
	s.trace = nil
	add := func(line string) { s.trace = append(s.trace, line) }
	var err error
	if mutant := s.flags.mutantToBuild(); mutant != "" {
		err = c.recordMutant(ctx, s, mutant, add)
	} else {
		traceLines(ctx, s.scenario, s.options, add)
	}
	switch {
	case ctx.Err() != nil:
		return status(interruptStatus(context.Cause(ctx)))
	case err != nil:
		return err
	case len(s.trace) == 0:
		return fmt.Errorf("diff: %s has no events: it could not be run", s.name)
	}
	s.hash, _, _ = strings.Cut(s.trace[len(s.trace)-1], " ")
	return nil
}

// recordMutant has a binary with the bug planted print its trace.
func (c *Command) recordMutant(ctx context.Context, s *diffSide, mutant string, add func(string)) error {
	_, err := c.withMutant(ctx, mutant, func(ctx context.Context, binary string) (int, error) {
		args := []string{"repro", fmt.Sprintf("%s:%d", s.scenario.Name, s.seed), "--trace", "-"}
		cmd := exec.CommandContext(ctx, binary, append(args, s.flags.arguments(s.scenario)...)...)
		cmd.Env = append(os.Environ(), invocationVariable+"="+c.shown(c.Name))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == exitUsage {
			return 0, usagef("diff: %s: %s", s.name, oneLine(strings.TrimSpace(stderr.String())))
		}
		if err != nil && !errors.As(err, &exit) {
			return 0, err
		}
		for line := range bytes.Lines(out) {
			add(string(bytes.TrimSuffix(line, []byte("\n"))))
		}
		return 0, nil
	})
	return err
}

// diff compares two runs event by event.
func (c *Command) diff(ctx context.Context, a, b *diffSide) error {
	for _, s := range []*diffSide{a, b} {
		if err := c.record(ctx, s); err != nil {
			return err
		}
	}
	same := eventsAlike(a, b)
	n := 0
	for n < len(a.trace) && n < len(b.trace) && same(a.trace[n], b.trace[n]) {
		n++
	}
	report := reports.Parting{
		First: a.side(c), Second: b.side(c), Settings: settingsThatDiffer(a, b),
		Same: n == len(a.trace) && n == len(b.trace), Event: n + 1,
	}
	if !report.Same {
		report.Before = withoutHashes(a.trace[max(0, n-diffBefore):n])
		report.First.After = withoutHashes(a.trace[n:min(n+diffAfter, len(a.trace))])
		report.Second.After = withoutHashes(b.trace[n:min(n+diffAfter, len(b.trace))])
	}
	if err := c.terminal(c.Stdout).Parting(report); err != nil {
		return err
	}
	if !report.Same {
		return status(exitViolation)
	}
	return nil
}

// eventsAlike tells how events of the two runs are compared: by the hash of all that has happened up
// to them, which is that of the contents of messages too, if the runs have the same seed; by their
// words otherwise, since the hash begins with the seed.
func eventsAlike(a, b *diffSide) func(x, y string) bool {
	if a.seed == b.seed {
		return func(x, y string) bool { return x == y }
	}
	return func(x, y string) bool { return withoutHash(x) == withoutHash(y) }
}

// withoutHash is a line of a trace without the hash in front.
func withoutHash(line string) string {
	_, event, _ := strings.Cut(line, " ")
	return event
}

func withoutHashes(lines []string) []string {
	events := make([]string, len(lines))
	for i, line := range lines {
		events[i] = withoutHash(line)
	}
	return events
}

// side is what a report says about one of the runs.
func (s *diffSide) side(c *Command) reports.PartingSide {
	return reports.PartingSide{
		Name: s.name, Events: len(s.trace), TraceHash: s.hash,
		Command: c.shown(c.reproCommand(s.scenario, s.flags.typed(), s.seed)),
	}
}

// settingsThatDiffer are the settings in which two runs of a scenario differ, each with both values.
func settingsThatDiffer(a, b *diffSide) []string {
	if a.scenario != b.scenario {
		return nil
	}
	value := func(s *diffSide, setting scenarios.Setting) string {
		if v, ok := s.options.Settings[setting.Name]; ok {
			return v
		}
		return setting.Default
	}
	var differ []string
	for _, setting := range a.scenario.AllSettings() {
		if x, y := value(a, setting), value(b, setting); x != y {
			differ = append(differ, fmt.Sprintf("%s=%s and %s", setting.Name, rerun.Quote(x), rerun.Quote(y)))
		}
	}
	return differ
}
