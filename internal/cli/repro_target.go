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

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// reproTarget is one run to be repeated.
type reproTarget struct {
	scenario *scenarios.Scenario
	seed     uint64
	flags    runFlags
	options  scenarios.Options
	// overridden are the flags in place of what is recorded: it is another run, with nothing to
	// be compared with.
	overridden []string
	// recorded is the result that it must come to; nil is not known. Of --expect, only the hash
	// is known.
	recorded *scenarios.Result
}

// reproTargets finds out what the argument stands for.
func (c *Command) reproTargets(ctx context.Context, given *pflag.FlagSet, argument string, flags *reproFlags) ([]reproTarget, error) {
	name, seedText, ok := strings.Cut(argument, ":")
	if ok && (slices.Contains(c.scenarioNames(), name) || !isFile(argument)) {
		target, err := c.target(ctx, "repro", name, seedText, flags.run)
		if err != nil {
			return nil, err
		}
		if flags.expect != "" {
			target.recorded = &scenarios.Result{TraceHash: flags.expect}
		}
		return []reproTarget{target}, nil
	}
	if flags.expect != "" {
		return nil, usagef("--expect goes with SCENARIO:SEED: the records of a file have their hashes")
	}
	if isDirectory(argument) {
		return nil, usagef("repro: %s is a directory: give a file written by run --json", argument)
	}
	if argument != "-" && !isFile(argument) {
		if slices.Contains(c.scenarioNames(), argument) {
			return nil, usagef("repro %s: which seed? Write it like %s:17", argument, argument)
		}
		return nil, usagef("repro: there is no file %q, and SCENARIO:SEED is written like shard:17", argument)
	}
	return c.targetsOfFile(ctx, given, argument, flags.run)
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
func (c *Command) targetsOfFile(ctx context.Context, given *pflag.FlagSet, name string, override runFlags) ([]reproTarget, error) {
	in := c.Stdin
	if name != "-" {
		file, err := await(ctx, func() (*os.File, error) { return os.Open(name) })
		var interrupted statusError
		switch {
		case errors.As(err, &interrupted):
			return nil, err
		case err != nil:
			return nil, usagef("repro: %w", err)
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
			c.complain(fmt.Errorf("repro: %s: %w: repeating the %d before it", name, err, records))
			continue
		case err != nil:
			return nil, usagef("repro: %s: %w; it must be a file written by run --json", name, err)
		}
		records++
		if r.Verdict != scenarios.Fail {
			continue
		}
		flags, err := c.flagsOfRecord(&r)
		if err != nil {
			return nil, usagef("repro: %s: record %d, %s seed %d: %w", name, records, r.Scenario, r.Seed, err)
		}
		overridden := flags.override(given, override)
		target, err := c.target(ctx, "repro", r.Scenario, fmt.Sprint(r.Seed), flags)
		if err != nil {
			return nil, fmt.Errorf("repro: %s: record %d: %w", name, records, err)
		}
		if target.overridden = overridden; len(overridden) == 0 {
			target.recorded = &r
		}
		targets = append(targets, target)
	}
	if records == 0 {
		return nil, usagef("repro: %s has no records: it must be a file written by run --json", name)
	}
	if len(targets) == 0 {
		_, err := fmt.Fprintf(c.Stdout, "%s: none of the %d runs failed: nothing to reproduce\n", name, records)
		return nil, err
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
