package reports

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/simrun-dev/simrun/scenarios"
)

// Detail is what there is to say about a run beyond its result, found by running it again.
type Detail struct {
	// Strategy of the run; "" is the default one.
	Strategy string
	// Command replaces the result's Repro; "" does not.
	Command string
	// Kept is the file of a corpus that has the run, and what it has shown before; "" is none.
	Kept string
	// Also are further commands that reproduce the run.
	Also []string
	// InForce are the faults that were in force at the first failure, one a line. Nil is
	// unknown, empty is none.
	InForce []string
	// Plan is the plan of faults, one fault a line; nil is not shown.
	Plan []string
	// Log are the last lines that the processes logged before the failure; nil is not shown.
	Log []string
	// Trace are the last events before the failure, one a line; nil is not shown.
	Trace []string
	// Warning is something else that the reader must know.
	Warning string
}

const (
	// failuresShown bounds how many of a run's failures a block has.
	failuresShown = 10
	// messageWidth is how many characters of a message are on a line, where it can be parted.
	messageWidth = 110
)

// wrapped parts the lines of a message that are too long to be read, behind semicolons.
func wrapped(message string) string {
	var b strings.Builder
	for line := range strings.Lines(message) {
		width := 0
		for i, part := range strings.SplitAfter(line, "; ") {
			part = strings.TrimSuffix(part, " ")
			length := utf8.RuneCountInString(part)
			switch {
			case i > 0 && width+1+length > messageWidth:
				b.WriteString("\n    ")
				width = 4
			case i > 0:
				b.WriteByte(' ')
				width++
			}
			b.WriteString(part)
			width += length
		}
	}
	return b.String()
}

// Failure prints a block about a run that failed or could not be judged: what, when, under which
// faults, and how to see it again.
func (t *Terminal) Failure(r scenarios.Result, d Detail) error {
	var b strings.Builder
	word := t.paint(red, "FAIL")
	if r.Verdict != scenarios.Fail {
		word = t.paint(yellow, strings.ToUpper(string(r.Verdict)))
	}
	fmt.Fprintf(&b, "%s %s\n", word, t.paint(bold, fmt.Sprintf("%s seed %d", r.Scenario, r.Seed)))
	more := max(0, len(r.Failures)-failuresShown)
	for i := range r.Failures[:len(r.Failures)-more] {
		f := &r.Failures[i]
		b.WriteString(indented("  ", wrapped(f.Oracle+": "+f.Message)))
		fmt.Fprintf(&b, "    at virtual %s (event %d)\n", virtual(time.Duration(f.AtNS)), f.Event)
	}
	if more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	field := func(name, value string) { fmt.Fprintf(&b, "  %-10s %s\n", name, value) }
	if d.InForce != nil {
		field("in force", listed(d.InForce))
	}
	field("fired", counts(r.Faults))
	if len(r.Settings) > 0 {
		field("settings", assignments(r.Settings))
	}
	if d.Strategy != "" {
		field("strategy", d.Strategy)
	}
	if d.Kept != "" {
		field("kept as", d.Kept)
	}
	field("run", fmt.Sprintf("%s of virtual time, %s, %s, trace hash %s",
		virtual(r.VirtualTime()), plural(r.Events, "event"), plural(r.Ops, "operation"), r.TraceHash))
	section(&b, "plan", d.Plan)
	section(&b, "last log lines", d.Log)
	section(&b, "last events", d.Trace)
	if d.Warning != "" {
		field("warning", t.paint(yellow, d.Warning))
	}
	command := d.Command
	if command == "" {
		command = r.Repro
	}
	field("reproduce", t.paint(bold, command))
	for _, also := range d.Also {
		field("", t.paint(bold, also))
	}
	return t.block(&b)
}

// FailureAgain prints one line about a run that failed as an earlier one did.
func (t *Terminal) FailureAgain(r scenarios.Result, earlier uint64) error {
	word, painted := "FAIL", red
	if r.Verdict != scenarios.Fail {
		word, painted = strings.ToUpper(string(r.Verdict)), yellow
	}
	oracle := ""
	if len(r.Failures) > 0 {
		oracle = " (" + r.Failures[0].Oracle + ")"
	}
	return t.line("%s %s seed %d: as seed %d%s", t.paint(painted, word), r.Scenario, r.Seed, earlier, oracle)
}

// Pass prints one line about a run that passed, and another if it is one that was kept.
func (t *Terminal) Pass(r scenarios.Result, d Detail) error {
	err := t.line("%s %s seed %d: %s of virtual time, %s, %s, trace hash %s", t.paint(green, "PASS"),
		r.Scenario, r.Seed, virtual(r.VirtualTime()), plural(r.Events, "event"), plural(r.Ops, "operation"), r.TraceHash)
	if d.Kept == "" || err != nil {
		return err
	}
	return t.line("  kept as %s", d.Kept)
}

func listed(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, "; ")
}

func section(b *strings.Builder, name string, lines []string) {
	if lines == nil {
		return
	}
	if len(lines) == 0 {
		lines = []string{"none"}
	}
	fmt.Fprintf(b, "  %s\n%s", name, indented("    ", strings.Join(lines, "\n")))
}
