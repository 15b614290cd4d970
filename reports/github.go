package reports

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/scenarios"
)

// annotationsShown is how many annotations of one kind GitHub shows of a step.
const annotationsShown = 10

// GitHubAnnotations prints a workflow command for each kind of failure of a campaign, which GitHub
// Actions shows as an annotation of the run: an error for a violation, a warning for what could not
// be judged.
func GitHubAnnotations(w io.Writer, c *Campaign) error {
	shown := map[scenarios.Verdict]int{}
	for _, g := range c.violationsFirst() {
		if shown[g.Verdict]++; shown[g.Verdict] > annotationsShown {
			continue
		}
		command := "error"
		if g.Verdict != scenarios.Fail {
			command = "warning"
		}
		title := fmt.Sprintf("%s seed %d: %s", c.Scenario, g.FirstSeed, g.First.Oracle)
		text := fmt.Sprintf("%s\nat virtual %s, in %s\nreproduce: %s",
			g.First.Message, virtual(time.Duration(g.First.AtNS)), plural(g.Seeds, "seed"), c.Command(g.FirstSeed))
		if _, err := fmt.Fprintf(w, "::%s title=%s::%s\n", command, escapeProperty.Replace(title), escapeData.Replace(text)); err != nil {
			return err
		}
	}
	return nil
}

// What workflow commands cannot have in them as it is.
var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// GitHubSummary writes a campaign as Markdown, for the file that GITHUB_STEP_SUMMARY names.
func GitHubSummary(w io.Writer, c *Campaign) error {
	var b strings.Builder
	verdict := "passed"
	switch {
	case c.Failed > 0:
		verdict = "**failed**"
	case c.Interrupted:
		verdict = "was interrupted"
	case c.Unknown > 0 || len(c.Abandoned) > 0 || c.Summary.Seeds() == 0:
		verdict = "**could not be judged**"
	}
	fmt.Fprintf(&b, "### simrun: %s %s\n\n", markdown(c.Scenario), verdict)
	fmt.Fprintf(&b, "%s in %s, %s of virtual time: %d passed, %d failed, %d could not be judged.\n",
		plural(c.Summary.Seeds(), "seed"), wall(c.Wall), virtual(c.Virtual), c.Passed, c.Failed, c.Unknown)
	if c.Interrupted {
		b.WriteString("\nInterrupted: this is what was done until then.\n")
	}
	if len(c.Groups) > 0 {
		b.WriteString("\n| seeds | oracle | message | reproduce |\n|--:|---|---|---|\n")
		groups := c.violationsFirst()
		for i, g := range groups {
			if i == groupsShown {
				fmt.Fprintf(&b, "\nand %d more kinds\n", len(groups)-groupsShown)
				break
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", g.Seeds, markdown(g.First.Oracle),
				markdown(headline(g.First.Message)), markdownCode(c.Command(g.FirstSeed)))
		}
	}
	if len(c.Faults) > 0 {
		b.WriteString("\n<details><summary>faults that took effect</summary>\n\n| times | fault |\n|--:|---|\n")
		for _, kind := range slices.Sorted(maps.Keys(c.Faults)) {
			fmt.Fprintf(&b, "| %d | %s |\n", c.Faults[kind], markdown(kind))
		}
		b.WriteString("\n</details>\n")
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// markdown is text within a table.
func markdown(text string) string { return escapeMarkdown.Replace(text) }

// markdownCode is code within a table, as HTML: backticks would be ended by those in it.
func markdownCode(text string) string { return "<code>" + markdown(text) + "</code>" }

var escapeMarkdown = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "*", "&#42;", "_", "&#95;",
	"`", "&#96;", "[", "&#91;", "\\", "&#92;", "#", "&#35;", "~", "&#126;", "\r", " ", "\n", " ")
