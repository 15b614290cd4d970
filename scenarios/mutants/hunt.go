package mutants

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/scenarios"
)

// Hunt runs mutants, one after the other, until each is caught or the seeds are used up.
type Hunt struct {
	// Tree is the source the bugs are planted in.
	Tree Tree
	// Command is the package built; "" is [CommandPackage]. It must understand
	// `run SCENARIO --seeds A-B --json -`.
	Command string
	// Dir is where the binaries are built, each in a directory of its own that is removed again;
	// "" is a temporary directory.
	Dir string
	// Seeds are tried in this order.
	Seeds scenarios.Seeds
	// Workers is how many seeds run at a time; 0 is as the command sees fit.
	Workers int
	// OnPhase, if not nil, is told before a mutant is built, hunted and repeated.
	OnPhase func(m *Mutant, phase string)
	// OnOutcome, if not nil, receives each outcome as soon as it is there.
	OnOutcome func(Outcome)
}

// Run hunts the mutants. If ctx is done it returns the outcomes so far and ctx's error; what
// goes wrong with single mutants is in their outcomes.
func (h *Hunt) Run(ctx context.Context, mutants []*Mutant) ([]Outcome, error) {
	dir := h.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "simrun-mutants-"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
	}
	var outcomes []Outcome
	for _, m := range mutants {
		outcome := h.hunt(ctx, m, filepath.Join(dir, m.Name))
		if ctx.Err() != nil && outcome.Status != Caught {
			return outcomes, context.Cause(ctx)
		}
		outcomes = append(outcomes, outcome)
		if h.OnOutcome != nil {
			h.OnOutcome(outcome)
		}
	}
	return outcomes, nil
}

func (h *Hunt) hunt(ctx context.Context, m *Mutant, dir string) Outcome {
	o := Outcome{Mutant: m.Name, Scenario: m.Scenario, Status: Survived}
	broken := func(err error) Outcome {
		o.Status, o.Err, o.Error = Broken, err, err.Error()
		return o
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return broken(err)
	}
	// Binaries are tens of megabytes each; no need to keep more than one.
	defer os.RemoveAll(dir)

	h.phase(m, "building")
	binary, err := h.Tree.Build(ctx, m, h.command(), dir)
	if err != nil {
		return broken(err)
	}
	h.phase(m, "hunting")
	var caught *scenarios.Result
	err = h.campaign(ctx, binary, m, h.Seeds, func(r scenarios.Result) {
		if caught != nil {
			return
		}
		o.Seeds++
		switch r.Verdict {
		case scenarios.Unknown:
			o.Unknown++
		case scenarios.Fail:
			caught = &r
		}
	})
	if err != nil {
		return broken(err)
	}
	if caught == nil {
		return o
	}
	failure, expected := m.tellingFailure(caught)
	o.Seed, o.Oracle, o.Message, o.Expected = caught.Seed, failure.Oracle, failure.Message, expected
	o.AtNS, o.VirtualNS, o.TraceHash, o.Repro = failure.AtNS, caught.VirtualNS, caught.TraceHash, caught.Repro

	h.phase(m, "repeating the failure of")
	var again *scenarios.Result
	one := scenarios.Seeds{{First: caught.Seed, Last: caught.Seed}}
	if err := h.campaign(ctx, binary, m, one, func(r scenarios.Result) { again = &r }); err != nil {
		return broken(err)
	}
	o.Status = Caught
	if err := sameFailure(caught, again); err != nil {
		o.Status, o.Err, o.Error = NotReplayable, err, err.Error()
	}
	return o
}

func (h *Hunt) command() string { return cmp.Or(h.Command, CommandPackage) }

func (h *Hunt) phase(m *Mutant, phase string) {
	if h.OnPhase != nil {
		h.OnPhase(m, phase)
	}
}

// tellingFailure is the first failure of an oracle that was expected to object, or else simply the
// first.
func (m *Mutant) tellingFailure(r *scenarios.Result) (f scenarios.Failure, expected bool) {
	for _, f := range r.Failures {
		if m.expected(f.Oracle) {
			return f, true
		}
	}
	if len(r.Failures) == 0 {
		return scenarios.Failure{Message: "verdict fail without a failure"}, false
	}
	return r.Failures[0], false
}

// sameFailure compares two runs of the same seed.
func sameFailure(a, b *scenarios.Result) error {
	switch {
	case b == nil:
		return errors.New("no result when the seed was repeated")
	case a.TraceHash != b.TraceHash:
		return fmt.Errorf("trace hash %s, but %s when the seed was repeated", a.TraceHash, b.TraceHash)
	case a.Verdict != b.Verdict:
		return fmt.Errorf("verdict %s, but %s when the seed was repeated", a.Verdict, b.Verdict)
	case !slices.Equal(a.Failures, b.Failures):
		return fmt.Errorf("failures %+v, but %+v when the seed was repeated", a.Failures, b.Failures)
	}
	return nil
}

// Arguments are those of `simrun run` for this mutant, without the name of the command.
func (m *Mutant) Arguments(seeds scenarios.Seeds) []string {
	args := []string{"run", m.Scenario, "--seeds", seeds.String(), "--json", "-"}
	for _, setting := range m.Settings {
		args = append(args, "--set", setting)
	}
	if m.Faults != "" {
		args = append(args, "--faults", m.Faults)
	}
	return args
}

// campaign runs the binary over the seeds and passes on its results.
func (h *Hunt) campaign(ctx context.Context, binary string, m *Mutant, seeds scenarios.Seeds, each func(scenarios.Result)) error {
	called := path.Base(h.command())
	args := m.Arguments(seeds)
	if h.Workers > 0 {
		args = append(args, "--workers", strconv.Itoa(h.Workers))
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	results := 0
	readErr := readResults(stdout, func(r scenarios.Result) {
		results++
		each(r)
	})
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case readErr != nil:
		return fmt.Errorf("%s %s: output: %w", called, strings.Join(args, " "), readErr)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == 1 || exit.ExitCode() == 3) {
		err = nil // a violation, or something that could not be judged: the results tell
	}
	if err == nil && results == 0 {
		err = errors.New("no results")
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", called, strings.Join(args, " "), err, lastLine(stderr.String()))
	}
	return nil
}

// readResults decodes one result after the other. It reads to the end, come what may, so that
// the writer is not stopped by a full pipe.
func readResults(r io.Reader, each func(scenarios.Result)) error {
	defer io.Copy(io.Discard, r)
	for d := json.NewDecoder(r); ; {
		var result scenarios.Result
		switch err := d.Decode(&result); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		each(result)
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
