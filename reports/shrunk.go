package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Shrunk is what the search for the smallest run that fails in the same way has come to.
type Shrunk struct {
	// File is where the run was written, "-" for standard output.
	File string
	// FaultsBefore and Faults are how many faults the plan had, and has.
	FaultsBefore, Faults int
	// Before and After are all settings.
	Before, After map[string]string
	// Runs is how many runs were tried, Took the real time.
	Runs int
	Took time.Duration
	// Complete says that no step makes the run smaller; otherwise time was up before.
	Complete bool
}

// Shrunk prints by how much a run was made smaller, and where it is.
func (t *Terminal) Shrunk(s Shrunk) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d of %s left", t.paint(green, "shrunk"), s.Faults, plural(s.FaultsBefore, "fault"))
	for _, name := range slices.Sorted(maps.Keys(s.After)) {
		if s.After[name] != s.Before[name] {
			fmt.Fprintf(&b, ", %s=%s (was %s)", name, s.After[name], s.Before[name])
		}
	}
	fmt.Fprintf(&b, "\n  %s in %s", plural(s.Runs, "run"), wall(s.Took))
	if !s.Complete {
		b.WriteString(": time was up, a longer search may find a smaller one")
	}
	b.WriteByte('\n')
	if s.File != "-" {
		fmt.Fprintf(&b, "  written to %s\n", s.File)
	}
	return t.block(&b)
}
