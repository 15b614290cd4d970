package reports

import (
	_ "embed"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/scenarios"
)

// TimelinesDrawn is how many runs a page draws.
const TimelinesDrawn = 3

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed diagram.js
	diagramScript string
)

var page = template.Must(template.New("page").Parse(pageText))

// HTML writes a campaign as one page that needs nothing else: the verdicts, what failed how often
// and how to run it again, the faults that struck, and a space-time diagram of the failing runs
// given. It is readable without scripts, except for the diagrams.
func HTML(w io.Writer, c *Campaign, runs []*Timeline) error {
	view := pageView{
		Style: template.CSS(pageStyle), Script: template.JS(diagramScript),
		Scenario: c.Scenario, Asked: c.Seeds.String(), Interrupted: c.Interrupted,
		Seeds: plural(c.Summary.Seeds(), "seed"), Wall: wall(c.Wall), Virtual: virtual(c.Virtual),
		Passed: c.Passed, Failed: c.Failed, Unknown: c.Unknown,
		Settings: named(c.Settings), Profile: c.Options.Profile, Strategy: c.Options.Strategy,
	}
	view.Verdict, view.VerdictClass = pageVerdict(c)
	if c.Seeds.Len() == math.MaxUint64 {
		view.Asked = "" // as many as there was time for
	}
	if c.Options.Plan != nil {
		view.Plan = string(c.Options.Plan.YAML())
	}
	for _, g := range c.violationsFirst() {
		view.Groups = append(view.Groups, pageGroup{
			Violation: g.Verdict == scenarios.Fail, Seeds: g.Seeds, First: g.FirstSeed, Oracle: g.First.Oracle,
			At: virtual(time.Duration(g.First.AtNS)), Headline: headline(g.First.Message),
			Message: strings.TrimSpace(wrapped(g.First.Message)), Command: c.Command(g.FirstSeed),
		})
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Faults)) {
		view.Faults = append(view.Faults, pageCount{Name: kind, Count: c.Faults[kind]})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Sometimes)) {
		n := c.Sometimes[name]
		view.Sometimes = append(view.Sometimes, pageCount{Name: name, Count: n, Blind: n == 0 && c.Summary.Seeds() >= blindSeeds})
	}
	for _, t := range runs[:min(len(runs), TimelinesDrawn)] {
		d := t.drawing()
		view.Drawings = append(view.Drawings, d)
		view.Runs = append(view.Runs, pageRun{
			Seed: t.Seed, Oracle: t.Oracle, Message: strings.TrimSpace(wrapped(t.Message)), At: virtual(time.Duration(t.FailNS)),
			Event: t.FailEvent, Command: t.Command, Shown: d.Shown, LeftOut: d.LeftOut, From: virtual(time.Duration(d.From)),
		})
	}
	return page.Execute(w, &view)
}

func pageVerdict(c *Campaign) (text, class string) {
	switch {
	case c.Failed > 0:
		return "failed", "fail"
	case c.Interrupted:
		return "interrupted", "unknown"
	case c.Unknown > 0 || len(c.Abandoned) > 0 || c.Summary.Seeds() == 0:
		return "could not be judged", "unknown"
	}
	return "passed", "pass"
}

type pageView struct {
	Style                   template.CSS
	Script                  template.JS
	Scenario, Asked         string
	Verdict, VerdictClass   string
	Interrupted             bool
	Seeds, Wall, Virtual    string
	Passed, Failed, Unknown int
	Settings                []pageSetting
	Profile, Strategy, Plan string
	Groups                  []pageGroup
	Faults, Sometimes       []pageCount
	Runs                    []pageRun
	Drawings                []drawing
}

type pageSetting struct{ Name, Value string }

type pageGroup struct {
	Violation                     bool
	Seeds                         int
	First                         uint64
	Oracle, At, Headline, Message string
	Command                       string
}

type pageCount struct {
	Name  string
	Count int
	Blind bool
}

type pageRun struct {
	Seed            uint64
	Oracle, Message string
	At              string
	Event           uint64
	Command         string
	Shown, LeftOut  int
	From            string
}

func named(settings map[string]string) []pageSetting {
	list := make([]pageSetting, 0, len(settings))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		list = append(list, pageSetting{name, settings[name]})
	}
	return list
}
