package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// reproTarget is one run to be repeated.
type reproTarget struct {
	scenario *scenarios.Scenario
	seed     uint64
	flags    runFlags
	options  scenarios.Options
	// recorded is the result that it must come to; nil is not known. Of --expect, only the hash
	// is known.
	recorded *scenarios.Result
}

// reproTargets finds out what the argument stands for.
func (c *Command) reproTargets(given *pflag.FlagSet, argument string, flags *reproFlags) ([]reproTarget, error) {
	name, seedText, ok := strings.Cut(argument, ":")
	if ok && !isFile(argument) {
		target, err := c.target(name, seedText, flags.run)
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
	if argument != "-" && !isFile(argument) {
		if slices.Contains(c.scenarioNames(), argument) {
			return nil, usagef("repro %s: which seed? Write it like %s:17", argument, argument)
		}
		return nil, usagef("repro: there is no file %q, and SCENARIO:SEED is written like shard:17", argument)
	}
	return c.targetsOfFile(given, argument, flags.run)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// target is one run, given by scenario, seed and flags.
func (c *Command) target(name, seedText string, flags runFlags) (reproTarget, error) {
	s, err := c.scenario(name)
	if err != nil {
		return reproTarget{}, err
	}
	seed, err := parseSeed(seedText)
	if err != nil {
		return reproTarget{}, usagef("repro %s:%s: %w", name, seedText, err)
	}
	target := reproTarget{scenario: s, seed: seed, flags: flags}
	if flags.mutantToBuild() != "" {
		return target, nil // the binary with the bug checks the rest
	}
	target.options, err = c.options(s, &flags, seed)
	return target, err
}

// targetsOfFile are the failing records of a file.
func (c *Command) targetsOfFile(given *pflag.FlagSet, name string, override runFlags) ([]reproTarget, error) {
	in := c.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, usagef("repro: %w", err)
		}
		defer file.Close()
		in = file
	}
	var targets []reproTarget
	records := 0
	for r, err := range reports.ReadResults(in) {
		if err != nil {
			return nil, usagef("repro: %s: %w; it must be a file written by run --json", name, err)
		}
		records++
		if r.Verdict != scenarios.Fail {
			continue
		}
		flags, err := flagsOfRecord(&r)
		if err != nil {
			return nil, usagef("repro: %s: record %d, %s seed %d: %w", name, records, r.Scenario, r.Seed, err)
		}
		flags.override(given, override)
		target, err := c.target(r.Scenario, fmt.Sprint(r.Seed), flags)
		if err != nil {
			return nil, fmt.Errorf("repro: %s: record %d: %w", name, records, err)
		}
		target.recorded = &r
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
func flagsOfRecord(r *scenarios.Result) (runFlags, error) {
	var flags runFlags
	if r.Repro == "" {
		for name, value := range r.Settings {
			flags.set = append(flags.set, name+"="+value)
		}
		slices.Sort(flags.set)
		return flags, nil
	}
	words, err := unquote(r.Repro)
	if err != nil {
		return flags, fmt.Errorf("its repro command cannot be read: %w", err)
	}
	set := pflag.NewFlagSet("repro", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	flags.add(set)
	flags.addMutant(set)
	if err := set.Parse(words); err != nil {
		return flags, fmt.Errorf("its repro command cannot be read: %w", err)
	}
	return flags, nil
}

// override takes over the flags that were given.
func (f *runFlags) override(given *pflag.FlagSet, by runFlags) {
	if given.Changed("faults") {
		f.faults = by.faults
	}
	if given.Changed("strategy") {
		f.strategy = by.strategy
	}
	if given.Changed("mutant") {
		f.mutant = by.mutant
	}
	f.set = append(f.set, by.set...)
}
