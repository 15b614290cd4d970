package reports

import (
	"fmt"
	"strings"
)

// Parting is where two runs part.
type Parting struct {
	First, Second PartingSide
	// Settings are those in which the runs differ, each with both values.
	Settings []string
	// Same says that they do not part.
	Same bool
	// Event is the number of the first event that differs, from 1; Before are some events before it,
	// which are the same in both.
	Event  int
	Before []string
}

// PartingSide is one of two runs.
type PartingSide struct {
	// Name is how the caller calls it, Command the one that runs it.
	Name, Command string
	// Events is how many there are in all, TraceHash the hash of them.
	Events    int
	TraceHash string
	// After are some events from the first that differs on; empty if the trace ends before.
	After []string
}

// Parting prints where two runs part.
func (t *Terminal) Parting(p Parting) error {
	var b strings.Builder
	for _, s := range []struct {
		sign string
		side PartingSide
		c    colour
	}{{"-", p.First, red}, {"+", p.Second, green}} {
		fmt.Fprintf(&b, "%s %s: %s, trace hash %s\n", t.paint(s.c, s.sign), t.paint(bold, s.side.Name), plural(s.side.Events, "event"), s.side.TraceHash)
		fmt.Fprintf(&b, "    %s\n", s.side.Command)
	}
	if len(p.Settings) > 0 {
		fmt.Fprintf(&b, "  settings: %s\n", strings.Join(p.Settings, "; "))
	}
	if p.Same {
		fmt.Fprintf(&b, "%s\n", t.paint(green, "the same, event by event"))
		return t.block(&b)
	}
	fmt.Fprintf(&b, "they part at event %d\n", p.Event)
	for _, line := range p.Before {
		fmt.Fprintf(&b, "      %s\n", line)
	}
	side := func(sign string, c colour, events []string) {
		if len(events) == 0 {
			events = []string{"(the trace ends)"}
		}
		for _, line := range events {
			fmt.Fprintf(&b, "    %s\n", t.paint(c, sign+" "+line))
		}
	}
	side("-", red, p.First.After)
	side("+", green, p.Second.After)
	return t.block(&b)
}
