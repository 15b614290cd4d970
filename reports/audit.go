package reports

import (
	"fmt"
	"strings"
)

// Divergence is a seed that did not come out the same when it was run again.
type Divergence struct {
	Scenario string
	Seed     uint64
	// Difference says in which part of the results it shows.
	Difference string
	// Event is the number of the first event that differs, from 1; First and Second are what it
	// was, "" if the trace had ended; Before are some events before it. 0: the traces were not
	// compared, or were equal that time.
	Event         int
	First, Second string
	Before        []string
	// Command runs the seed again.
	Command string
}

// Divergence prints a block about a seed that is not deterministic.
func (t *Terminal) Divergence(d Divergence) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n  %s\n", t.paint(red, "NOT DETERMINISTIC"),
		t.paint(bold, fmt.Sprintf("%s seed %d", d.Scenario, d.Seed)), d.Difference)
	if d.Event == 0 {
		b.WriteString("  the first event that differs is not known: with the trace recorded it came out the same\n")
	} else {
		fmt.Fprintf(&b, "  first event that differs: %d\n", d.Event)
		for _, line := range d.Before {
			fmt.Fprintf(&b, "      %s\n", line)
		}
		fmt.Fprintf(&b, "    - %s\n    + %s\n", eventOrEnd(d.First), eventOrEnd(d.Second))
	}
	fmt.Fprintf(&b, "  %-10s %s\n", "reproduce", t.paint(bold, d.Command))
	return t.block(&b)
}

func eventOrEnd(line string) string {
	if line == "" {
		return "(the trace ends)"
	}
	return line
}

// Audit is what an audit of determinism came to.
type Audit struct {
	Scenario string
	// Seeds were asked for, each to be run Runs times. Compared were run more than once.
	Seeds    uint64
	Runs     int
	Compared int
	// Differing are the seeds that did not come out the same.
	Differing []uint64
	// Failed and Unknown count the seeds whose verdict that was, in the first run.
	Failed, Unknown int
	Interrupted     bool
}

// seedsShown bounds how many seeds a line lists.
const seedsShown = 20

func firstSeeds(seeds []uint64) string {
	shown := seeds[:min(len(seeds), seedsShown)]
	text := strings.Trim(fmt.Sprint(shown), "[]")
	if more := len(seeds) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Audit prints what an audit of determinism came to.
func (t *Terminal) Audit(a Audit) error {
	var b strings.Builder
	whole := !a.Interrupted && uint64(a.Compared) == a.Seeds
	var word string
	switch {
	case len(a.Differing) > 0:
		word = t.paint(red, fmt.Sprintf("%d not deterministic", len(a.Differing))) + ": " + firstSeeds(a.Differing)
	case a.Compared == 0:
		word = t.paint(yellow, "nothing is known")
	case whole:
		word = t.paint(green, "deterministic")
	default:
		word = t.paint(yellow, "no difference so far")
	}
	if whole {
		fmt.Fprintf(&b, "%s: %s run %d times each: %s\n", a.Scenario, plural(a.Seeds, "seed"), a.Runs, word)
	} else {
		fmt.Fprintf(&b, "%s: %d of %s compared: %s\n", a.Scenario, a.Compared, plural(a.Seeds, "seed"), word)
	}
	if a.Failed > 0 || a.Unknown > 0 {
		fmt.Fprintf(&b, "(%d failed and %d could not be judged, which an audit does not mind)\n", a.Failed, a.Unknown)
	}
	if a.Interrupted {
		fmt.Fprintf(&b, "%s: not all seeds were run as often as they should have been\n", t.paint(yellow, "interrupted"))
	}
	return t.block(&b)
}
