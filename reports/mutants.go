package reports

import (
	"fmt"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/scenarios/mutants"
)

// MutantRow prints the line of a table about one mutant; see [Terminal.MutantHead].
func (t *Terminal) MutantRow(o mutants.Outcome) error {
	message := headline(o.Message)
	by, at, c := o.Oracle, virtual(time.Duration(o.AtNS)), green
	switch o.Status {
	case mutants.Caught:
		if !o.Expected {
			message = "(not an oracle that was expected to) " + message
		}
	case mutants.Survived:
		by, at, c = "SURVIVED", "", red
		if o.Survives != "" {
			c, message = yellow, "(as it is known to) "+headline(o.Survives)
		} else if o.Unknown > 0 {
			message = fmt.Sprintf("%d of the seeds could not be judged", o.Unknown)
		}
	case mutants.NotReplayable:
		by, c, message = "NOT REPLAYABLE", red, headline(o.Error)
	default:
		by, at, c, message = "ERROR", "", red, o.Error
	}
	// Padded before it is painted: colours have no width.
	seeds := fmt.Sprint(o.Seeds)
	if o.Cut {
		seeds = ">" + seeds
	}
	line := fmt.Sprintf("%-32s %s %5s %9s  %s", o.Mutant, t.paint(c, fmt.Sprintf("%-24s", by)), seeds, at, message)
	return t.line("%s", strings.TrimRight(line, " "))
}

// MutantHead prints the head of the table.
func (t *Terminal) MutantHead() error {
	return t.line("%-32s %-24s %5s %9s  %s", "mutant", "caught by", "seeds", "virtual", "message")
}

// MutantSummary prints the lines below the table. total is how many mutants there were to hunt: if
// it is more than there are outcomes, the hunt was interrupted.
func (t *Terminal) MutantSummary(outcomes []mutants.Outcome, total int) error {
	var b strings.Builder
	caught, known := 0, 0
	for _, o := range outcomes {
		switch {
		case o.Status == mutants.Caught:
			caught++
		case o.Status == mutants.Survived && o.Survives != "":
			known++
		}
	}
	c := green
	if caught+known < len(outcomes) {
		c = red
	}
	if len(outcomes) > 0 {
		fmt.Fprintf(&b, "%s\n", t.paint(c, fmt.Sprintf("%d of %s caught and replayed", caught, plural(len(outcomes), "mutant"))))
	}
	for _, o := range outcomes {
		switch {
		case o.Status == mutants.Caught && o.Survives != "":
			fmt.Fprintf(&b, "%s is caught, though its header says why it survives: take that out\n", o.Mutant)
		case o.Status == mutants.Survived && o.Survives == "":
			fmt.Fprintf(&b, "%s survived: a hole in the oracles or in the faults of %s\n", o.Mutant, o.Scenario)
		}
	}
	if len(outcomes) < total {
		fmt.Fprintf(&b, "%s: %d of %s done\n", t.paint(yellow, "interrupted"), len(outcomes), plural(total, "mutant"))
	}
	return t.block(&b)
}

// MutantList prints what mutants there are.
func (t *Terminal) MutantList(list []*mutants.Mutant) error {
	var b strings.Builder
	for i, m := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n  %s\n", t.paint(bold, m.Name), m.Bug)
		fmt.Fprintf(&b, "  %-9s %s\n", "scenario", m.Scenario)
		fmt.Fprintf(&b, "  %-9s %s\n", "oracles", strings.Join(m.Expect, ", "))
		if m.Faults != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", "faults", m.Faults)
		}
		if len(m.Settings) > 0 {
			fmt.Fprintf(&b, "  %-9s %s\n", "settings", strings.Join(m.Settings, " "))
		}
		if m.Survives != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", "survives", m.Survives)
		}
		fmt.Fprintf(&b, "  %-9s %s\n", "patch", m.File)
	}
	return t.block(&b)
}
