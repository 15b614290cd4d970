package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// artifactFlags are the flags for files that are written once a campaign is over, whatever it came
// to and however it ended.
type artifactFlags struct {
	junit, html, history string
	github               bool
}

func (f *artifactFlags) add(flags *pflag.FlagSet) {
	file := func(path *string, name, usage string) {
		flags.Var(&parsedFlag{typ: "FILE", parse: func(text string) error { *path = text; return nil }}, name, usage)
	}
	file(&f.junit, "junit", "write the results to this file as JUnit XML; - for standard output")
	file(&f.html, "html", "write a page to this file, with a diagram of the first failing runs; - for standard output")
	file(&f.history, "history", "write the operations that the first failing run, or the only one, recorded, one JSON object a line; - for standard output")
	flags.BoolVar(&f.github, "github", false, "annotate failures for GitHub Actions, and write a summary to the file that GITHUB_STEP_SUMMARY names")
}

// check returns an error if two of the files are one, or if that of --history, which is not created
// before there is something to write, cannot be.
func (f *artifactFlags) check(json *jsonFlag) error {
	flagOf := make(map[string]string)
	for _, flag := range []struct{ name, path string }{
		{"--json", json.path}, {"--junit", f.junit}, {"--html", f.html}, {"--history", f.history},
	} {
		path := flag.path
		if path == "" {
			continue
		}
		if path != "-" {
			path = filepath.Clean(path)
		}
		other, taken := flagOf[path]
		switch {
		case taken && path == "-":
			return usagef("run: %s and %s cannot both go to standard output: give one of them a file", other, flag.name)
		case taken:
			return usagef("run: %s and %s cannot both be written to %s: give one of them another file", other, flag.name, flag.path)
		}
		flagOf[path] = flag.name
	}
	return creatable("--history", f.history)
}

// creatable returns an error if there surely can't be a file of that path, without creating it.
func creatable(flag, path string) error {
	if path == "" || path == "-" {
		return nil
	}
	if isDirectory(path) {
		return usagef("%s: %s is a directory: give a file", flag, path)
	}
	if dir := filepath.Dir(path); !isDirectory(dir) {
		return usagef("%s: there is no directory %s to write %s to", flag, dir, path)
	}
	return nil
}

// artifacts are what is to be written once the campaign is over.
type artifacts struct {
	flags   *artifactFlags
	command *Command
	began   time.Time
	// text is where lines for people, and for GitHub, go.
	text io.Writer
	// files are those of the flags, open; nil is one that is not asked for.
	junitFile, htmlFile io.WriteCloser

	junit     reports.JUnit
	timelines []*reports.Timeline
	// firstFailing is the first seed that failed.
	firstFailing *uint64
}

// openArtifacts opens the files, so that what cannot be written is known before anything is run.
// If one of them is standard output, text goes to standard error.
func (c *Command) openArtifacts(f *artifactFlags, out *outputs) (*artifacts, error) {
	a := &artifacts{flags: f, command: c, began: time.Now()}
	var err error
	if a.junitFile, err = c.create("--junit", f.junit, out); err != nil {
		return nil, err
	}
	if a.htmlFile, err = c.create("--html", f.html, out); err != nil {
		return nil, err
	}
	if f.history == "-" {
		out.text = c.Stderr
	}
	a.text = out.text
	return a, nil
}

// create opens the file of a flag, which takes the place of an earlier one when it is closed; nil if there is none.
func (c *Command) create(flag, path string, out *outputs) (io.WriteCloser, error) {
	switch path {
	case "":
		return nil, nil
	case "-":
		out.text = c.Stderr
		return standardOutput{c.Stdout}, nil
	}
	return openAside(flag, path)
}

// standardOutput is not closed with what is written to it.
type standardOutput struct{ io.Writer }

func (standardOutput) Close() error { return nil }

// watcher looks at a failing run for the page; it wants nothing if there is no page, or enough on
// it.
func (a *artifacts) watcher(r scenarios.Result, command string) rerun.Watcher {
	if a.htmlFile == nil || len(a.timelines) >= reports.TimelinesDrawn || r.Events > rerun.RecordLimit {
		return rerun.Watcher{}
	}
	t := reports.NewTimeline(r, command)
	a.timelines = append(a.timelines, t)
	return rerun.Watcher{Run: func(r *scenarios.Run) { t.Plan(r.Plan()) }, Event: t.Add}
}

// add takes in a result; detail is what is known of one that did not pass.
func (a *artifacts) add(r scenarios.Result, detail reports.Detail) {
	if r.Verdict == scenarios.Fail && a.firstFailing == nil {
		a.firstFailing = &r.Seed
	}
	if a.junitFile != nil {
		a.junit.Add(r, detail)
	}
}

// write writes everything. What goes wrong with one file does not keep the others from being
// written.
func (a *artifacts) write(campaign *reports.Campaign, s *scenarios.Scenario) error {
	var errs []error
	if a.junitFile != nil {
		errs = append(errs, closeWritten(a.junitFile, a.junit.Write(a.junitFile, campaign.Summary, a.began)))
	}
	if a.htmlFile != nil {
		errs = append(errs, closeWritten(a.htmlFile, reports.HTML(a.htmlFile, campaign, a.timelines)))
	}
	if a.flags.github {
		errs = append(errs, reports.GitHubAnnotations(a.text, campaign), a.stepSummary(campaign))
	}
	if a.flags.history != "" {
		errs = append(errs, a.writeHistory(campaign, s))
	}
	return errors.Join(errs...)
}

// stepSummary adds the campaign to the file that GitHub shows on the page of the run.
func (a *artifacts) stepSummary(campaign *reports.Campaign) (err error) {
	path := a.command.getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("GITHUB_STEP_SUMMARY: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return reports.GitHubSummary(file, campaign)
}

// writeHistory repeats the first failing seed, or else the only one, and writes what it recorded.
func (a *artifacts) writeHistory(campaign *reports.Campaign, s *scenarios.Scenario) error {
	seed := a.firstFailing
	if seed == nil && campaign.Seeds.Len() == 1 && campaign.Summary.Seeds() == 1 {
		only := campaign.Seeds.At(0)
		seed = &only
	}
	if seed == nil {
		a.command.complain(errors.New("--history: no seed failed: there is none whose operations to write; --seed says which"))
		return nil
	}
	opt := campaign.Options
	opt.Seed = *seed
	var recorded []scenarios.Recorded
	opt.Inspect = func(r *scenarios.Run) { recorded = r.Recorded() }
	// It has come to an end once, so that it does again; an interruption must not lose it.
	rerun.Once(context.Background(), s, opt)
	if len(recorded) == 0 {
		a.command.complain(fmt.Errorf("--history: scenario %s records no operations (Run.Record): there are none to write", s.Name))
		return nil
	}
	if len(recorded) > 1 && a.flags.history == "-" {
		a.command.complain(fmt.Errorf("--history: scenario %s records %d histories: give a file, from which the names of theirs are made", s.Name, len(recorded)))
		return nil
	}
	for _, h := range recorded {
		if err := a.writeRecorded(h, len(recorded) > 1); err != nil {
			return fmt.Errorf("--history: %w", err)
		}
	}
	return nil
}

// writeRecorded writes one history. Where a run has several, the model's name is put into that of
// the file.
func (a *artifacts) writeRecorded(h scenarios.Recorded, several bool) error {
	if a.flags.history == "-" {
		return h.Model.Schema.Write(a.command.Stdout, h.History)
	}
	path := a.flags.history
	if several {
		extension := filepath.Ext(path)
		path = strings.TrimSuffix(path, extension) + "." + h.Model.Name + extension
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(h.Model.Schema.Write(file, h.History), file.Close())
}
