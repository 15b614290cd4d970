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
	"sync"
	"sync/atomic"
	"time"

	"github.com/simrun-dev/simrun/scenarios"
)

// Hunt runs mutants until each is caught or the seeds are used up.
type Hunt struct {
	// Tree is the source the bugs are planted in.
	Tree Tree
	// Command is the package built; "" is [CommandPackage]. It must understand
	// `run SCENARIO --seeds A-B --json -`.
	Command string
	// Dir is where the binaries are built, each in a directory of its own that is removed again;
	// "" is a temporary directory.
	Dir string
	// Seeds are tried in this order by the first campaign, each mutant's only one by default.
	Seeds scenarios.Seeds
	// Campaigns is how many campaigns there are against each mutant; 0 is 1. Each tries as many seeds
	// as the first, from where the one before it ends, and is over at the first that fails: how many it
	// takes is a matter of luck, and the median over several campaigns less so.
	Campaigns int
	// Jobs is how many mutants are built and hunted at a time; 0 is 1.
	Jobs int
	// Ledger, if not nil, knows campaigns of earlier hunts, which are not repeated, and learns those of
	// this one.
	Ledger *Ledger
	// Workers is how many seeds run at a time; 0 is as the command sees fit.
	Workers int
	// OnStale, if not nil, is told before all else how many campaigns against these mutants the ledger
	// has that are of no use, since source or patches have changed.
	OnStale func(campaigns int)
	// OnPhase, if not nil, is told before a mutant is built, hunted and repeated, never by two at a
	// time.
	OnPhase func(m *Mutant, phase string)
	// OnLitter, if not nil, is told what a build has left in the go command's cache, and why, never by two
	// at a time. The hunt goes on.
	OnLitter func(m *Mutant, err error)
	// OnOutcome, if not nil, receives each outcome, in the order of the mutants, as soon as it and those
	// before it are there.
	OnOutcome func(Outcome)

	phases sync.Mutex
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
	source := ""
	if h.Ledger != nil {
		var err error
		if source, err = h.Tree.Digest(); err != nil {
			return nil, err
		}
	}
	keys := map[string]string{}
	for _, m := range mutants {
		keys[m.Name] = m.key(source, h.command())
	}
	if stale := h.Ledger.stale(keys); stale > 0 && h.OnStale != nil {
		h.OnStale(stale)
	}
	return h.runAll(ctx, mutants, func(m *Mutant) Outcome {
		return h.hunt(ctx, m, filepath.Join(dir, m.Name), keys[m.Name])
	})
}

// runAll hunts several mutants at a time, and passes on what becomes of them in their order.
func (h *Hunt) runAll(ctx context.Context, mutants []*Mutant, hunt func(*Mutant) Outcome) ([]Outcome, error) {
	ready := make([]chan Outcome, len(mutants))
	for i := range ready {
		ready[i] = make(chan Outcome, 1)
	}
	var next atomic.Int64
	var hunters sync.WaitGroup
	defer hunters.Wait()
	for range min(max(h.Jobs, 1), len(mutants)) {
		hunters.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(mutants); i = int(next.Add(1)) - 1 {
				if ctx.Err() != nil {
					return
				}
				ready[i] <- hunt(mutants[i])
			}
		})
	}
	var outcomes []Outcome
	for i := range mutants {
		var o Outcome
		select {
		case o = <-ready[i]:
		case <-ctx.Done():
			// What was being hunted has noticed it as well, and may have come to its end before.
			hunters.Wait()
			select {
			case o = <-ready[i]:
			default:
				return outcomes, context.Cause(ctx)
			}
		}
		if ctx.Err() != nil && o.Status != Caught {
			return outcomes, context.Cause(ctx)
		}
		outcomes = append(outcomes, o)
		if h.OnOutcome != nil {
			h.OnOutcome(o)
		}
	}
	return outcomes, nil
}

// hunt takes a mutant through all its campaigns.
func (h *Hunt) hunt(ctx context.Context, m *Mutant, dir, key string) Outcome {
	broken := func(err error) Outcome {
		return Outcome{Mutant: m.Name, Scenario: m.Scenario, Status: Broken, Err: err, Error: err.Error()}
	}
	binary := "" // not built as long as all is known
	var chases []Chase
	for n := range max(h.Campaigns, 1) {
		seeds := shifted(h.Seeds, n)
		if c, known := h.Ledger.find(key, seeds); known {
			chases = append(chases, c)
			continue
		}
		if binary == "" {
			if err := os.Mkdir(dir, 0o755); err != nil {
				return broken(err)
			}
			// Binaries are tens of megabytes each; no need to keep more of them than are in use.
			defer os.RemoveAll(dir)
			h.phase(m, "building")
			var err error
			began := time.Now()
			if binary, err = h.Tree.Build(ctx, m, h.command(), dir); err != nil {
				return broken(err)
			}
			if err := h.Tree.forget(ctx, m, h.command(), dir, began); err != nil && ctx.Err() == nil {
				h.litter(m, err)
			}
		}
		h.phase(m, "hunting")
		c, err := h.chase(ctx, binary, m, seeds)
		if err == nil {
			err = h.Ledger.add(key, m, seeds, c)
		}
		if err != nil {
			return broken(err)
		}
		chases = append(chases, c)
	}
	return m.outcome(chases)
}

func (h *Hunt) command() string { return cmp.Or(h.Command, CommandPackage) }

func (h *Hunt) phase(m *Mutant, phase string) {
	if h.OnPhase != nil {
		h.phases.Lock()
		defer h.phases.Unlock()
		h.OnPhase(m, phase)
	}
}

func (h *Hunt) litter(m *Mutant, err error) {
	if h.OnLitter != nil {
		h.phases.Lock()
		defer h.phases.Unlock()
		h.OnLitter(m, err)
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
