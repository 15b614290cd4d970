package real

import (
	"fmt"
	"maps"
	"sort"
	"sync"
	"sync/atomic"
)

// Violation is an Always or an Unreachable that failed.
type Violation struct {
	// Check is "always" or "unreachable".
	Check string
	// Name is the name of the check, and Message says what was found.
	Name, Message string
}

func (v Violation) Error() string { return v.Check + "/" + v.Name + ": " + v.Message }

// Tally is how often one check was met with.
type Tally struct {
	// Check is "always", "sometimes" (which Reachable is too) or "unreachable".
	Check, Name string
	// Met counts the calls, Held those in which it held. What is reached and is not to be never
	// holds.
	Met, Held uint64
}

// checks are the tallies. The map is replaced when a check is met with for the first time, so that
// counting takes no lock.
type checks struct {
	tallies atomic.Pointer[map[checkKey]*tally]
	mu      sync.Mutex // held to replace the map
}

type checkKey struct{ check, name string }

type tally struct{ met, held atomic.Uint64 }

func (c *checks) count(check, name string, held bool) {
	t := c.tally(checkKey{check, name})
	t.met.Add(1)
	if held {
		t.held.Add(1)
	}
}

func (c *checks) all() map[checkKey]*tally {
	if m := c.tallies.Load(); m != nil {
		return *m
	}
	return nil
}

func (c *checks) tally(key checkKey) *tally {
	if t := c.all()[key]; t != nil {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.all()[key]; t != nil {
		return t
	}
	m := make(map[checkKey]*tally, len(c.all())+1)
	maps.Copy(m, c.all())
	m[key] = new(tally)
	c.tallies.Store(&m)
	return m[key]
}

// Tallies tells how often each check was met with in this life, sorted by Check and Name.
func (h *Host) Tallies() []Tally {
	var all []Tally
	for k, t := range h.checks.all() {
		all = append(all, Tally{k.check, k.name, t.met.Load(), t.held.Load()})
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return a.Check < b.Check || a.Check == b.Check && a.Name < b.Name
	})
	return all
}

// Always is part of host.Host.
func (h *Host) Always(name string, ok bool, format string, args ...any) {
	if !h.alive() {
		return
	}
	h.checks.count("always", name, ok)
	if !ok {
		h.violated(Violation{"always", name, fmt.Sprintf(format, args...)})
	}
}

// Sometimes is part of host.Host.
func (h *Host) Sometimes(name string, ok bool) {
	if h.alive() {
		h.checks.count("sometimes", name, ok)
	}
}

// Reachable is part of host.Host.
func (h *Host) Reachable(name string) { h.Sometimes(name, true) }

// Unreachable is part of host.Host.
func (h *Host) Unreachable(name string, format string, args ...any) {
	if h.alive() {
		h.checks.count("unreachable", name, false)
		h.violated(Violation{"unreachable", name, fmt.Sprintf(format, args...)})
	}
}

// Buggify is part of host.Host, and false.
func (h *Host) Buggify(string) bool { return false }

func (h *Host) violated(v Violation) {
	h.log.Error("a check failed", "check", v.Check, "name", v.Name, "message", v.Message)
	if h.cfg.OnViolation != nil {
		h.cfg.OnViolation(v)
	}
}
