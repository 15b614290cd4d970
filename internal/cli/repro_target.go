package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/corpus"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// reproTarget is one run to be repeated.
type reproTarget struct {
	scenario *scenarios.Scenario
	seed     uint64
	// file is the one that it is a record of; "" is none.
	file string
	// kept is the run of a corpus that it is; nil is none.
	kept    *corpus.Run
	flags   runFlags
	options scenarios.Options
	// overridden are the flags in place of what is recorded: it is another run, with nothing to
	// be compared with.
	overridden []string
	// recorded is the result that it must come to; nil is not known. Of --expect, only the hash
	// is known.
	recorded *scenarios.Result
}

// reproTargets finds out what the argument stands for.
func (c *Command) reproTargets(ctx context.Context, given *pflag.FlagSet, argument string, flags *reproFlags) ([]reproTarget, error) {
	find := c.targets
	if isDirectory(argument) {
		find = c.targetsOfDirectory
	}
	targets, err := find(ctx, "repro", given, argument, flags.run)
	if err != nil || flags.expect == "" {
		return targets, err
	}
	if len(targets) != 1 || targets[0].file != "" {
		return nil, usagef("--expect goes with SCENARIO:SEED, not with %s: a trace hash is that of one run", argument)
	}
	targets[0].recorded = &scenarios.Result{TraceHash: flags.expect}
	return targets, nil
}

// targets are the run, or the failing runs of a file, that an argument of a command stands for.
func (c *Command) targets(ctx context.Context, command string, given *pflag.FlagSet, argument string, flags runFlags) ([]reproTarget, error) {
	name, seedText, ok := strings.Cut(argument, ":")
	if ok && (slices.Contains(c.scenarioNames(), name) || !isFile(argument)) {
		target, err := c.target(ctx, command, name, seedText, flags)
		if err != nil {
			return nil, err
		}
		return []reproTarget{target}, nil
	}
	if isDirectory(argument) {
		return nil, usagef("%s: %s is a directory: give a file written by run --json", command, argument)
	}
	if argument != "-" && !isFile(argument) {
		if slices.Contains(c.scenarioNames(), argument) {
			return nil, usagef("%s %s: which seed? Write it like %s:17", command, argument, argument)
		}
		return nil, usagef("%s: there is no file %q, and SCENARIO:SEED is written like shard:17", command, argument)
	}
	if isKept(argument) {
		target, err := c.targetOfKept(ctx, command, given, argument, flags)
		if err != nil {
			return nil, err
		}
		return []reproTarget{target}, nil
	}
	return c.targetsOfFile(ctx, command, given, argument, flags)
}

// noFailureError says that a file has records, and none of a run that failed.
type noFailureError struct {
	file    string
	records int
}

func (e *noFailureError) Error() string {
	return fmt.Sprintf("%s: none of the %d runs failed", e.file, e.records)
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// target is one run, given to a command by scenario, seed and flags.
func (c *Command) target(ctx context.Context, command, name, seedText string, flags runFlags) (reproTarget, error) {
	s, err := c.scenario(name)
	if err != nil {
		return reproTarget{}, err
	}
	if before, profile, ok := strings.Cut(seedText, "@"); ok {
		// As diff and coverage call a run of another profile than the scenario's own.
		switch {
		case !slices.Contains(faults.Profiles(), profile):
			return reproTarget{}, usagef("%s %s:%s: there is no fault profile %q%s", command, name, seedText, profile, suggestion(profile, faults.Profiles()))
		case flags.faults != "":
			return reproTarget{}, usagef("%s %s:%s: --faults and @%s both say which faults: leave out one of them", command, name, seedText, profile)
		}
		seedText, flags.faults = before, profile
	}
	seed, err := rerun.ParseSeed(seedText)
	if err != nil {
		return reproTarget{}, usagef("%s %s:%s: %w", command, name, seedText, err)
	}
	target := reproTarget{scenario: s, seed: seed, flags: flags}
	if flags.mutantToBuild() != "" {
		return target, nil // the binary with the bug checks the rest
	}
	target.options, err = c.options(ctx, s, &target.flags, seed)
	return target, err
}

// targetsOfFile are the failing records of a file.
func (c *Command) targetsOfFile(ctx context.Context, command string, given *pflag.FlagSet, name string, override runFlags) ([]reproTarget, error) {
	in := c.Stdin
	if name != "-" {
		file, err := await(ctx, func() (*os.File, error) { return os.Open(name) })
		var interrupted statusError
		switch {
		case errors.As(err, &interrupted):
			return nil, err
		case err != nil:
			return nil, usagef("%s: %w", command, err)
		}
		defer file.Close()
		in = file
	}
	var targets []reproTarget
	records := 0
	for r, err := range reports.ReadResults(awaitedReader{ctx, in}) {
		var interrupted statusError
		switch {
		case errors.As(err, &interrupted):
			return nil, err
		case errors.Is(err, reports.ErrCutOff) && records > 0:
			c.complain(fmt.Errorf("%s: %s: %w: repeating the %d before it", command, name, err, records))
			continue
		case err != nil:
			return nil, usagef("%s: %s: %w; it must be a file written by run --json", command, name, err)
		}
		records++
		if r.Verdict != scenarios.Fail {
			continue
		}
		flags, err := c.flagsOfRecord(&r)
		if err != nil {
			return nil, usagef("%s: %s: record %d, %s seed %d: %w", command, name, records, r.Scenario, r.Seed, err)
		}
		overridden := flags.override(given, override)
		target, err := c.target(ctx, command, r.Scenario, fmt.Sprint(r.Seed), flags)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: record %d: %w", command, name, records, err)
		}
		target.file = name
		if target.overridden = overridden; len(overridden) == 0 {
			target.recorded = &r
		}
		targets = append(targets, target)
	}
	if records == 0 {
		return nil, usagef("%s: %s has no records: it must be a file written by run --json", command, name)
	}
	if len(targets) == 0 {
		return nil, &noFailureError{name, records}
	}
	return targets, nil
}

// flagsOfRecord takes the flags out of a record's repro command, which has those that the other
// keys do not tell.
func (c *Command) flagsOfRecord(r *scenarios.Result) (runFlags, error) {
	var flags runFlags
	if r.Repro == "" {
		for name, value := range r.Settings {
			flags.set = append(flags.set, name+"="+value)
		}
		slices.Sort(flags.set)
		return flags, nil
	}
	words, err := rerun.Split(r.Repro)
	if err != nil {
		return flags, fmt.Errorf("its repro command cannot be read: %w", err)
	}
	set := pflag.NewFlagSet("repro", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	flags.add(set)
	flags.addMutant(set, c.Name)
	if err := set.Parse(words); err != nil {
		var invalid *pflag.InvalidValueError
		if errors.As(err, &invalid) {
			err = fmt.Errorf("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
		}
		return flags, fmt.Errorf("its repro command cannot be read: %w", err)
	}
	return flags, nil
}

// override takes over the flags that were given, and returns them.
func (f *runFlags) override(given *pflag.FlagSet, by runFlags) (overridden []string) {
	for _, flag := range []struct {
		name string
		take func()
	}{
		{"faults", func() { f.faults = by.faults }},
		{"set", func() { f.set = append(f.set, by.set...) }},
		{"strategy", func() { f.strategy = by.strategy }},
		{"mutant", func() { f.mutant = by.mutant }},
	} {
		if given.Changed(flag.name) {
			flag.take()
			overridden = append(overridden, "--"+flag.name)
		}
	}
	return overridden
}
