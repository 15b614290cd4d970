package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/simrun-dev/simrun/internal/corpus"
)

// isKept says whether a file is a run of a corpus, by its name.
func isKept(name string) bool { return slices.Contains(corpus.Extensions, filepath.Ext(name)) }

// targetsOfDirectory are the runs of a corpus, or of one scenario's folder in it.
func (c *Command) targetsOfDirectory(ctx context.Context, command string, given *pflag.FlagSet, dir string, flags runFlags) ([]reproTarget, error) {
	folders, err := c.keptFolders(command, dir)
	if err != nil {
		return nil, err
	}
	var targets []reproTarget
	for _, folder := range folders {
		files, err := corpus.Files(filepath.Dir(folder), filepath.Base(folder))
		if err != nil {
			return nil, usagef("%s: %w", command, err)
		}
		for _, file := range files {
			target, err := c.targetOfKept(ctx, command, given, file, flags)
			if err != nil {
				return nil, err
			}
			targets = append(targets, target)
		}
	}
	if len(targets) == 0 {
		return nil, usagef("%s: %s has no kept runs: those are files SCENARIO/*.yaml, which keep writes", command, dir)
	}
	return targets, nil
}

// keptFolders are the folders of a corpus, each named after a scenario.
func (c *Command) keptFolders(command, dir string) ([]string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, usagef("%s: %w", command, err)
	}
	if slices.Contains(c.scenarioNames(), filepath.Base(absolute)) {
		return []string{absolute}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, usagef("%s: %w", command, err)
	}
	var folders []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if !slices.Contains(c.scenarioNames(), e.Name()) {
			return nil, usagef("%s: %s: there is no scenario %q%s", command, filepath.Join(dir, e.Name()), e.Name(), suggestion(e.Name(), c.scenarioNames()))
		}
		folders = append(folders, filepath.Join(dir, e.Name()))
	}
	return folders, nil
}

// targetOfKept is the run of a file of a corpus, whose folder is named after the scenario.
func (c *Command) targetOfKept(ctx context.Context, command string, given *pflag.FlagSet, file string, override runFlags) (reproTarget, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return reproTarget{}, usagef("%s: %w", command, err)
	}
	name := filepath.Base(filepath.Dir(absolute))
	if !slices.Contains(c.scenarioNames(), name) {
		return reproTarget{}, usagef("%s: %s: a kept run lies in a folder named after its scenario, and there is no scenario %q%s",
			command, file, name, suggestion(name, c.scenarioNames()))
	}
	kept, err := corpus.Read(file)
	if err != nil {
		return reproTarget{}, usagef("%s: %w", command, err)
	}
	if kept.Mutant != "" {
		if _, err := c.mutant(kept.Mutant); err != nil {
			return reproTarget{}, fmt.Errorf("%s: %w; adapt or remove it", file, err)
		}
	}
	flags := runFlags{strategy: kept.Strategy, faults: kept.Profile}
	for setting, value := range kept.Settings {
		flags.set = append(flags.set, setting+"="+value)
	}
	slices.Sort(flags.set)
	if kept.Plan != nil {
		flags.faults = kept.Plan.Inline()
	}
	flags.override(given, override)
	target, err := c.target(ctx, command, name, fmt.Sprint(kept.Seed), flags)
	if err != nil {
		return reproTarget{}, fmt.Errorf("%s: %w; adapt or remove it", file, err)
	}
	target.file, target.kept = file, kept
	return target, nil
}
