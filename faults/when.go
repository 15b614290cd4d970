package faults

import (
	"fmt"
	"strings"
	"time"
)

// When is a moment that a fault waits for: that a process notes something. A fault that strikes at a
// time drawn beforehand seldom falls between two steps that belong together; one that waits for the
// first of them does in each run.
type When struct {
	// Note is what a process must note: the key of a piece of state (host.Host.Note), whole or up to
	// its first slash, or the name of a situation that is reached (Sometimes, Reachable).
	Note string `yaml:"note"`
	// Nth is which time counts, over all machines, since the fault's From; 0 is the first.
	Nth int `yaml:"nth,omitempty"`
	// After is how long after that the fault begins.
	After Time `yaml:"after,omitempty"`
}

// nth is which time counts, from 1.
func (w *When) nth() int { return max(w.Nth, 1) }

func (w *When) String() string {
	var b strings.Builder
	if w.nth() > 1 {
		fmt.Fprintf(&b, "time %d of ", w.nth())
	}
	b.WriteString(w.Note)
	if w.After > 0 {
		fmt.Fprintf(&b, " + %s", time.Duration(w.After))
	}
	return b.String()
}

// There stands, among the targets of a fault with a When, for the machine whose process noted.
const There = "there"

// rolePrefix begins targets that stand for any machine of a role.
const rolePrefix = "role/"

// roleOf takes the role out of a target that stands for any machine of one.
func roleOf(target string) (role string, ok bool) { return strings.CutPrefix(target, rolePrefix) }

// Period is when the fault begins and ends, in words: "2s to 3.5s", or "at time 2 of cdc.owner + 5ms,
// for 1s".
func (f *Fault) Period() string {
	if f.When == nil {
		if f.To == 0 {
			return time.Duration(f.From).String()
		}
		return time.Duration(f.From).String() + " to " + time.Duration(f.To).String()
	}
	period := "at " + f.When.String()
	if f.From > 0 {
		period = "from " + time.Duration(f.From).String() + " " + period
	}
	if f.For > 0 {
		period += ", for " + time.Duration(f.For).String()
	}
	return period
}

// checkWhen is check for a fault that waits for a moment.
func (f *Fault) checkWhen(k *Kind) (field string, err error) {
	switch {
	case f.When.Note == "":
		return "when", fmt.Errorf("when has no note: write it like {note: cdc.owner, nth: 2, after: 5ms}")
	case f.When.Nth < 0 || f.When.Nth > maxNth:
		return "when.nth", fmt.Errorf("nth: %d is not a whole number from 1 to %d", f.When.Nth, maxNth)
	case f.When.After < 0:
		return "when.after", fmt.Errorf("after: %s is before the moment it follows", time.Duration(f.When.After))
	case f.To != 0:
		return "to", fmt.Errorf("a fault with a when has no to: for says how long it lasts")
	case k.Instant && f.For != 0:
		return "for", fmt.Errorf("%s is over as it begins and has no for", f.Kind)
	case !k.Instant && f.For <= 0:
		return "for", fmt.Errorf("%s with a when needs a for above 0: how long it lasts", f.Kind)
	}
	return "", nil
}
