package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

// MutantTable is what hunts for mutants have come to, as a document.
type MutantTable struct {
	// Mutants are those that were to be hunted, Outcomes what became of the first of them.
	Mutants  []*mutants.Mutant
	Outcomes []mutants.Outcome
	// Seeds are those of the first of the Campaigns against each mutant.
	Seeds     scenarios.Seeds
	Campaigns int
	// Command is the call that makes this report.
	Command string
}

// MutantsMarkdown writes the table: each mutant with the bug that it stands for, what caught it, and
// how soon; and the survivors with the reason. It is a function of the source, not of the machine or
// the day.
func MutantsMarkdown(w io.Writer, t *MutantTable) error {
	var b strings.Builder
	caught := 0
	for _, o := range t.Outcomes {
		if o.Status == mutants.Caught {
			caught++
		}
	}
	b.WriteString("# Planted bugs\n\n")
	b.WriteString("The measure of the tests: bugs that people did write, or easily might, each planted alone in `system/` by a\n" +
		"[patch](https://github.com/simrun-dev/simrun/tree/main/scenarios/mutants/patches), and hunted by campaigns of a scenario until a seed fails. A mutant that survives is\n" +
		"a hole in the oracles or in the faults. Each failure was repeated from its seed, and came out the same.\n\n")
	fmt.Fprintf(&b, "%d of %s caught. ", caught, plural(len(t.Outcomes), "mutant"))
	if t.Campaigns > 1 {
		fmt.Fprintf(&b, "*Seeds* is how many it took, the median of %d campaigns of at most %d seeds each, and *in* how many\n"+
			"of them it was caught at all: for those that were not in all, *1 in N* is how many of the seeds that were tried\n"+
			"catch it. *Time* is the virtual time of the violation in the first campaign that found it.", t.Campaigns, t.Seeds.Len())
	} else {
		fmt.Fprintf(&b, "*Seeds* is how many it took, of %s; *time* is the virtual time of the violation.", t.Seeds)
	}
	fmt.Fprintf(&b, "\n\nWritten by\n\n    %s\n", t.Command)
	if missing := len(t.Mutants) - len(t.Outcomes); missing > 0 {
		fmt.Fprintf(&b, "\nThat was interrupted; not here yet: %s.\n", plural(missing, "mutant"))
	}
	t.quantiles(&b)
	survivors(&b, t.Outcomes)
	byName := make(map[string]*mutants.Mutant, len(t.Mutants))
	for _, m := range t.Mutants {
		byName[m.Name] = m
	}
	for _, scenario := range scenariosOf(t.Outcomes) {
		head, rule := "", ""
		if t.Campaigns > 1 {
			head, rule = " in |", "---:|"
		}
		fmt.Fprintf(&b, "\n## Scenario %s\n\n| no. | mutant | bug | caught by | seeds |%s time |\n|---|---|---|---|---:|%s---:|\n", scenario, head, rule)
		for _, o := range t.Outcomes {
			if o.Scenario != scenario {
				continue
			}
			m := byName[o.Mutant]
			by, at := mutantCells(o)
			in := ""
			if t.Campaigns > 1 {
				in = caughtIn(o) + " | "
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s%s |\n", m.Number(), m.Name, cell(m.Bug), by, seedsTaken(o), in, at)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// quantiles says within how many seeds most mutants are caught.
func (t *MutantTable) quantiles(b *strings.Builder) {
	within := func(most uint64) (n int) {
		for _, o := range t.Outcomes {
			if o.Status == mutants.Caught && !o.Cut && o.Seeds <= most {
				n++
			}
		}
		return n
	}
	if len(t.Outcomes) < 2 {
		return
	}
	fmt.Fprintf(b, "\nBy the first seed: %d; within ten seeds: %d; within %d: %d.\n", within(1), within(10), t.Seeds.Len(), within(t.Seeds.Len()))
}

// caughtIn is in how many of its campaigns a mutant was caught, and, if that is not in all, by which of the seeds.
func caughtIn(o mutants.Outcome) string {
	caught, tried := 0, uint64(0)
	for _, c := range o.Campaigns {
		tried += c.Tried
		if c.Caught {
			caught++
		}
	}
	all := len(o.Campaigns)
	if all == 0 { // it could not be built
		return ""
	}
	if caught == 0 || caught == all {
		return fmt.Sprintf("%d of %d", caught, all)
	}
	return fmt.Sprintf("%d of %d, 1 in %d", caught, all, (tried+uint64(caught)/2)/uint64(caught))
}

// scenariosOf are the scenarios of mutants, in the order of the first of each.
func scenariosOf(outcomes []mutants.Outcome) []string {
	var names []string
	for _, o := range outcomes {
		if !slices.Contains(names, o.Scenario) {
			names = append(names, o.Scenario)
		}
	}
	return names
}

// survivors lists the mutants that were not caught, and why.
func survivors(b *strings.Builder, outcomes []mutants.Outcome) {
	headed := false
	for _, o := range outcomes {
		if o.Status == mutants.Caught {
			continue
		}
		if !headed {
			b.WriteString("\n## Not caught\n\n")
			headed = true
		}
		why := o.Survives
		switch {
		case o.Status != mutants.Survived:
			why = headline(o.Error)
		case why == "":
			why = "why is not known: a hole"
		}
		fmt.Fprintf(b, "- `%s` (%s): %s\n", o.Mutant, o.Status, cell(why))
	}
}

// mutantCells are what caught a mutant and when.
func mutantCells(o mutants.Outcome) (by, at string) {
	if o.Status != mutants.Caught {
		return "**" + string(o.Status) + "**", ""
	}
	return strings.Join(o.CaughtBy(), ", "), virtual(time.Duration(o.AtNS))
}

// seedsTaken is how many seeds a mutant took; more than were tried if it was in vain.
func seedsTaken(o mutants.Outcome) string {
	switch {
	case o.Status == mutants.Broken:
		return ""
	case o.Status == mutants.Survived, o.Cut:
		return fmt.Sprintf(">%d", o.Seeds)
	}
	return fmt.Sprint(o.Seeds)
}
