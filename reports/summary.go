package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/scenarios"
)

// blindSeeds is how many seeds a campaign must have had for what none reached to be worth a remark.
const blindSeeds = 20

// situationsListed is how many situations a summary lists with their counts. More are counted by package; coverage and
// --json have all counts.
const situationsListed = 40

// blindShown bounds how many of those that no seed reached are listed then.
const blindShown = 12

// groupsShown bounds how many kinds of failure a summary lists.
const groupsShown = 20

// Summary prints what a campaign came to.
func (t *Terminal) Summary(s scenarios.Summary) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s (%.1f seeds/s), %s of virtual time (%.0f simulated seconds per real second)\n",
		t.paint(bold, s.Scenario), plural(s.Seeds(), "seed"), wall(s.Wall), s.SeedsPerSecond(), virtual(s.Virtual), s.Speedup())
	t.verdicts(&b, s)
	t.groups(&b, s.Groups)
	t.faults(&b, s.Faults)
	t.neverBegan(&b, s)
	t.figures(&b, s.Figures)
	t.sometimes(&b, situationsShown(s), s.Seeds())
	if s.Interrupted {
		fmt.Fprintf(&b, "\n%s: what is above is what was done until then\n", t.paint(yellow, "interrupted"))
	}
	if len(s.Abandoned) > 0 {
		fmt.Fprintf(&b, "\n%s: %s did not stop when told to and %s given up: %s\n", t.paint(red, "abandoned"),
			plural(len(s.Abandoned), "run"), wasWere(len(s.Abandoned)), strings.Trim(fmt.Sprint(s.Abandoned), "[]"))
	}
	return t.block(&b)
}

func (t *Terminal) verdicts(b *strings.Builder, s scenarios.Summary) {
	fmt.Fprintf(b, "\n  %-8s %8s\n", "verdict", "seeds")
	row := func(verdict scenarios.Verdict, n int, c colour) {
		line := fmt.Sprintf("%-8s %8d", verdict, n)
		if n > 0 {
			line = t.paint(c, line)
		}
		fmt.Fprintf(b, "  %s\n", line)
	}
	row(scenarios.Pass, s.Passed, green)
	row(scenarios.Fail, s.Failed, red)
	row(scenarios.Unknown, s.Unknown, yellow)
}

func (t *Terminal) groups(b *strings.Builder, groups []scenarios.FailureGroup) {
	for _, kind := range []struct {
		title    string
		includes func(scenarios.Verdict) bool
	}{
		{"violations", func(v scenarios.Verdict) bool { return v == scenarios.Fail }},
		{"could not be judged", func(v scenarios.Verdict) bool { return v != scenarios.Fail }},
	} {
		var shown []scenarios.FailureGroup
		for _, g := range groups {
			if kind.includes(g.Verdict) {
				shown = append(shown, g)
			}
		}
		if len(shown) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n  %8s %12s  %s\n", "seeds", "first seed", kind.title)
		more := max(0, len(shown)-groupsShown)
		for _, g := range shown[:len(shown)-more] {
			fmt.Fprintf(b, "  %8d %12d  %s\n", g.Seeds, g.FirstSeed, headline(g.Signature))
		}
		if more > 0 {
			fmt.Fprintf(b, "  and %d more kinds\n", more)
		}
	}
}

func (t *Terminal) faults(b *strings.Builder, fired map[string]int) {
	if len(fired) == 0 {
		b.WriteString("\n  no fault took effect\n")
		return
	}
	fmt.Fprintf(b, "\n  %8s  %s\n", "fired", "fault")
	for _, kind := range slices.Sorted(maps.Keys(fired)) {
		fmt.Fprintf(b, "  %8d  %s\n", fired[kind], kind)
	}
}

// neverBegan names the faults of a plan that was given whose moment no run came to.
func (t *Terminal) neverBegan(b *strings.Builder, s scenarios.Summary) {
	if s.Options.Plan == nil || s.Seeds() == 0 {
		return
	}
	for i := range s.Options.Plan.Faults {
		f := &s.Options.Plan.Faults[i]
		if f.When != nil && s.Faults[f.Kind] == 0 {
			fmt.Fprintf(b, "  %s\n", t.paint(yellow, fmt.Sprintf("%s never began: it waits for %s", f.ID, f.When)))
		}
	}
}

func (t *Terminal) figures(b *strings.Builder, figures map[string][]int64) {
	if len(figures) == 0 {
		return
	}
	fmt.Fprintf(b, "\n  %10s %10s  figure, over the seeds that have it\n", "median", "most")
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		values := slices.Sorted(slices.Values(figures[name]))
		fmt.Fprintf(b, "  %10d %10d  %s\n", values[len(values)/2], values[len(values)-1], name)
	}
}

// situationsShown are the situations that a summary lists. Of a few seeds one of which failed, those that were reached:
// which were not says nothing then, and a list of a hundred would push the failure off the screen. Of a single seed
// that failed, none.
func situationsShown(s scenarios.Summary) map[string]int {
	switch {
	case s.Failed == 0 || s.Seeds() >= blindSeeds:
		return s.Sometimes
	case s.Seeds() == 1:
		return nil
	}
	reached := maps.Clone(s.Sometimes)
	maps.DeleteFunc(reached, func(_ string, n int) bool { return n == 0 })
	return reached
}

func (t *Terminal) sometimes(b *strings.Builder, reached map[string]int, seeds int) {
	if len(reached) == 0 {
		return
	}
	if len(reached) > situationsListed {
		t.sometimesByPackage(b, reached, seeds)
		return
	}
	fmt.Fprintf(b, "\n  %8s  %s\n", "reached", "sometimes")
	for _, name := range slices.Sorted(maps.Keys(reached)) {
		line := fmt.Sprintf("%8d  %s", reached[name], name)
		if reached[name] == 0 && seeds >= blindSeeds {
			line = t.paint(yellow, line+"  <- reached by no seed: the campaign was blind there")
		}
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// sometimesByPackage counts many situations by what is before the colon of their names, and lists those that no seed
// reached, if there were enough seeds for that to mean something.
func (t *Terminal) sometimesByPackage(b *strings.Builder, reached map[string]int, seeds int) {
	type count struct{ reached, all int }
	packages := map[string]count{}
	var blind []string
	for _, name := range slices.Sorted(maps.Keys(reached)) {
		group, _, _ := strings.Cut(name, ":")
		c := packages[group]
		c.all++
		if reached[name] > 0 {
			c.reached++
		} else {
			blind = append(blind, name)
		}
		packages[group] = c
	}
	fmt.Fprintf(b, "\n  reached %d of %d situations that the code names\n", len(reached)-len(blind), len(reached))
	for _, group := range slices.Sorted(maps.Keys(packages)) {
		fmt.Fprintf(b, "  %3d of %3d  %s\n", packages[group].reached, packages[group].all, group)
	}
	if len(blind) == 0 || seeds < blindSeeds {
		return
	}
	fmt.Fprintf(b, "\n  %s\n", t.paint(yellow, "reached by no seed: the campaign was blind there"))
	more := max(0, len(blind)-blindShown)
	for _, name := range blind[:len(blind)-more] {
		fmt.Fprintf(b, "  %s\n", name)
	}
	if more > 0 {
		fmt.Fprintf(b, "  and %d more, which coverage lists\n", more)
	}
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
