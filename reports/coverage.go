package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/simrun-dev/simrun/scenarios"
)

// Coverage is which situations campaigns have got into.
type Coverage struct {
	Situations []scenarios.Situation
	// Campaigns are the campaigns, Seeds those that each of them ran, Runs how many runs there were
	// in all, and Failed how many of these failed.
	Campaigns    []scenarios.Campaigned
	Seeds        scenarios.Seeds
	Runs, Failed int
	Interrupted  bool
	// Planned is how many campaigns there were to be; an interruption leaves some of them out.
	Planned int
	// Command is the call that makes this report.
	Command string
}

// Unreached are the situations that no run got into.
func (c *Coverage) Unreached() []scenarios.Situation {
	var all []scenarios.Situation
	for _, s := range c.Situations {
		if s.Hits == 0 {
			all = append(all, s)
		}
	}
	return all
}

// needed is how many seeds a situation took, and which, in words.
func needed(s scenarios.Situation) (seeds, first string) {
	if s.Hits == 0 {
		return "-", ""
	}
	return fmt.Sprint(s.Needed), fmt.Sprintf("%s:%d", s.Scenario, s.First)
}

// near says how close runs came to a situation that none of them reached.
func near(s scenarios.Situation) string {
	if s.Runs == 0 {
		return "no run used its package"
	}
	return fmt.Sprintf("none of %s that used its package", plural(s.Runs, "run"))
}

// Coverage prints the situations as a table, and those that no run reached.
func (t *Terminal) Coverage(c *Coverage) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%10s %8s %8s  %-16s %s\n", "hits", "in seeds", "needed", "first", "situation")
	for _, s := range c.Situations {
		seeds, first := needed(s)
		if s.Hits > 0 && s.Profile != "" {
			first += "@" + s.Profile
		}
		line := fmt.Sprintf("%10d %8d %8s  %-16s %s", s.Hits, s.Seeds, seeds, first, s.Name)
		if s.Hits == 0 {
			line = t.paint(yellow, line)
		}
		b.WriteString(line + "\n")
	}
	unreached := c.Unreached()
	colour := green
	if len(unreached) > 0 {
		colour = yellow
	}
	reached := len(c.Situations) - len(unreached)
	fmt.Fprintf(&b, "\n%s in %s\n", t.paint(colour, fmt.Sprintf("%d of %s reached", reached, plural(len(c.Situations), "situation"))), plural(c.Runs, "run"))
	for _, s := range unreached {
		fmt.Fprintf(&b, "  never: %s (%s)\n", s.Name, near(s))
	}
	if c.Failed > 0 {
		fmt.Fprintf(&b, "%s: the same campaign of run names them\n", t.paint(red, plural(c.Failed, "run")+" failed"))
	}
	if c.Interrupted {
		fmt.Fprintf(&b, "%s: what is above is what was done until then\n", t.paint(yellow, "interrupted"))
	}
	return t.block(&b)
}

// CoverageMarkdown writes the coverage as a document: a table for each package, and what no run
// reached. It is a function of the runs, not of the machine or the day.
func CoverageMarkdown(w io.Writer, c *Coverage) error {
	var b strings.Builder
	unreached := c.Unreached()
	b.WriteString("# Coverage of rare situations\n\n")
	b.WriteString("Production code names the rare situations that simulations ought to get into (`Sometimes` and `Reachable` of\n" +
		"[`host.Checks`](https://pkg.go.dev/github.com/simrun-dev/simrun/system/host#Checks)). This is how often campaigns did. *Needed* is how many seeds it took the\n" +
		"campaign that got there first; that seed shows it: `simrun repro SCENARIO:SEED --faults PROFILE`.\n\n")
	fmt.Fprintf(&b, "%d of %d situations reached in %s: the seeds %s of each of\n%s.\n\nWritten by\n\n    %s\n",
		len(c.Situations)-len(unreached), len(c.Situations), plural(c.Runs, "run"), c.Seeds, campaigns(c.Campaigns), c.Command)
	if c.Interrupted {
		fmt.Fprintf(&b, "\n**Interrupted**: this is what was done until then, %s of %d in %s begun of %d. What is missing here may only not have been run.\n",
			plural(c.Runs, "run"), uint64(c.Planned)*c.Seeds.Len(), plural(len(c.Campaigns), "campaign"), c.Planned)
	}
	if len(unreached) > 0 {
		b.WriteString("\n## Never reached\n\nHoles in the workloads or in the faults:\n\n")
		for _, s := range unreached {
			fmt.Fprintf(&b, "- %s (%s)\n", cell(s.Name), near(s))
		}
	}
	previous := ""
	for i, s := range c.Situations {
		if p := s.Package(); i == 0 || p != previous {
			previous = p
			if p == "" {
				p = "of no package"
			}
			fmt.Fprintf(&b, "\n## %s\n\n| situation | hits | in seeds | needed | first | profile | reached by |\n|---|---:|---:|---:|---|---|---|\n", p)
		}
		seeds, first := needed(s)
		name := strings.TrimPrefix(s.Name, previous+": ")
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s | %s | %s |\n",
			cell(name), s.Hits, s.Seeds, seeds, first, s.Profile, strings.Join(s.Scenarios, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// campaigns lists campaigns as "shard (default, chaos), cdc (default)".
func campaigns(list []scenarios.Campaigned) string {
	var names []string
	profiles := map[string][]string{}
	for _, c := range list {
		if profiles[c.Scenario] == nil {
			names = append(names, c.Scenario)
		}
		profiles[c.Scenario] = append(profiles[c.Scenario], c.Profile)
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%s)", name, strings.Join(profiles[name], ", "))
	}
	return strings.Join(names, ", ")
}

// cell is a text that may stand in a table's cell.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}
