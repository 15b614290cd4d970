package models

import (
	"cmp"
	"slices"
)

// closeByEvidence decides open appends from what other operations saw, and returns the log with
// those that took effect closed and those that did not taken out. What stays open is what
// nobody can have noticed. Searches blow up on open operations, not on long histories, so this
// is what keeps them small (etcd's robustness tests and Jepsen do likewise).
//
// Each step leaves a log that has a linearization if and only if the log before the step has one.
//
// Back from the log after a step is easy: an append that was closed stays where it is, which is
// after its call, and one that was taken out is placed at the end, as never having taken effect.
// An open append may do either. Steps only ever add constraints.
//
// Forth, each rule below says what holds in every linearization of the log it is applied to, so
// that such a linearization is one of the log after the step too. Upper only grows, by appends
// from e to n > e; so it is never strictly between the two ends of an append that takes effect,
// and at most one append takes effect from the same e. Acknowledged appends, with those closed
// before among them, take effect in every linearization.
//
//  1. A snapshot as of a, with updates of the append at times <= a that don't cancel out, and
//     whose rows no other append has: if it shows any of the rows, the append took effect,
//     before the snapshot was answered. If not, the append did not, and never will: the upper
//     is past a, and so past the upper from which it appends.
//  2. An acknowledged append starts at the same upper: the open one never takes effect.
//  3. It starts strictly inside an acknowledged append: never.
//  4. An upper was seen that lies strictly inside it: never.
//  5. An upper was seen, other than [0], to which no acknowledged append leads and only one
//     open append does: that one took effect, before whoever saw the upper was answered.
//  6. Two open appends of which no snapshot can show anything lead from the same upper to the
//     same: at most one takes effect, and where it is the one called later, the one called
//     earlier can take its place. The later is taken out. This is the one rule that exchanges:
//     the log after the step has another linearization than the log before it.
func closeByEvidence(log []*logEntry) []*logEntry {
	c := newEvidence(log)
	if len(c.open) == 0 {
		return log
	}
	c.readBack()
	for c.changed = true; c.changed && len(c.open) > 0; {
		c.changed = false
		c.refreshUppers()
		c.dropImpossible()
		c.dropInterchangeable()
		c.closeOnlyProducers()
	}
	return append(append(c.rest, c.acknowledged...), c.open...)
}

// evidence is the state of closeByEvidence.
type evidence struct {
	rest         []*logEntry // what is not an append
	acknowledged []*logEntry // sorted by from
	open         []*logEntry
	snapshots    []*logEntry // sorted by asOf
	// earliest[i] is the least return of snapshots[i:].
	earliest []uint64
	// owner is the one append that has the row, nil if several have.
	owner map[string]*logEntry
	// seen maps uppers that were certainly reached to the earliest return that shows it.
	seen    map[Frontier]uint64
	uppers  []Frontier // keys of seen, sorted
	changed bool
}

func newEvidence(log []*logEntry) *evidence {
	c := &evidence{}
	for _, e := range log {
		switch {
		case e.kind != logAppend:
			c.rest = append(c.rest, e)
			if e.kind == logSnapshot {
				c.snapshots = append(c.snapshots, e)
			}
		case e.open:
			c.open = append(c.open, e)
		default:
			c.acknowledged = append(c.acknowledged, e)
		}
	}
	c.sortAcknowledged()
	slices.SortStableFunc(c.snapshots, func(a, b *logEntry) int { return cmp.Compare(a.asOf, b.asOf) })
	c.earliest = make([]uint64, len(c.snapshots))
	least := Open
	for i := len(c.snapshots) - 1; i >= 0; i-- {
		least = min(least, c.snapshots[i].ret)
		c.earliest[i] = least
	}
	return c
}

func (c *evidence) sortAcknowledged() {
	slices.SortStableFunc(c.acknowledged, func(a, b *logEntry) int { return a.from.Compare(b.from) })
}

// findOwners indexes rows by the append that alone has them.
func (c *evidence) findOwners() {
	c.owner = map[string]*logEntry{}
	for _, appends := range [][]*logEntry{c.acknowledged, c.open} {
		for _, e := range appends {
			for _, u := range e.updates {
				if first, ok := c.owner[u.Data]; ok && first != e {
					c.owner[u.Data] = nil
				} else {
					c.owner[u.Data] = e
				}
			}
		}
	}
}

// showing is the index of the first snapshot, by asOf, that would show anything of an append.
func (c *evidence) showing(e *logEntry) (int, bool) {
	if len(e.deltas) == 0 {
		return 0, false
	}
	at, _ := slices.BinarySearchFunc(c.snapshots, e.deltas[0].ts, func(s *logEntry, ts uint64) int {
		return cmp.Compare(s.asOf, ts)
	})
	for ; at < len(c.snapshots); at++ {
		if e.sumAt(c.snapshots[at].asOf) != 0 {
			return at, true
		}
	}
	return 0, false
}

// tagged says whether all rows of an append are its alone.
func (c *evidence) tagged(e *logEntry) bool {
	for _, u := range e.updates {
		if c.owner[u.Data] != e {
			return false
		}
	}
	return true
}

// readBack is rule 1.
func (c *evidence) readBack() {
	c.findOwners()
	var still []*logEntry
	for _, e := range c.open {
		at, visible := c.showing(e)
		if !visible || !c.tagged(e) {
			still = append(still, e)
			continue
		}
		snapshot := c.snapshots[at]
		if !shows(snapshot, e) {
			continue
		}
		ret := snapshot.ret
		if !cancels(e) {
			// Every snapshot from here on has to show it, so the earliest of them bounds it.
			ret = c.earliest[at]
		}
		c.acknowledged = append(c.acknowledged, e.closed(ret))
	}
	c.open = still
	c.sortAcknowledged()
}

// closed is an open append once it is known to have taken effect by a certain moment. If that
// moment lies before its call, somebody saw it too early, and there is no linearization. The
// interval is kept well formed then, and it is the observer's own return that convicts.
func (e *logEntry) closed(by uint64) *logEntry {
	c := *e
	c.open, c.ret = false, max(by, e.call)
	return &c
}

// shows says whether a snapshot has rows of an append that it would have to show.
func shows(snapshot, e *logEntry) bool {
	for _, r := range e.rowsAt(snapshot.asOf) {
		if countOf(snapshot.rows, r.Data) != 0 {
			return true
		}
	}
	return false
}

// rowsAt is the append's share in the contents as of a time.
func (e *logEntry) rowsAt(asOf uint64) []Row { return ContentsAt(e.updates, asOf) }

// cancels says whether an append has a row more than once, so that it may show at one time and
// not at a later one.
func cancels(e *logEntry) bool {
	rows := map[string]bool{}
	for _, u := range e.updates {
		if rows[u.Data] {
			return true
		}
		rows[u.Data] = true
	}
	return false
}

// refreshUppers collects the uppers that were certainly reached.
func (c *evidence) refreshUppers() {
	c.seen = map[Frontier]uint64{}
	see := func(upper Frontier, by uint64) {
		if before, ok := c.seen[upper]; !ok || by < before {
			c.seen[upper] = by
		}
	}
	for _, e := range c.rest {
		if e.kind == logUpper {
			see(e.upper, e.ret)
		}
	}
	for _, e := range c.acknowledged {
		see(e.from, e.ret)
		see(e.to, e.ret)
	}
	c.uppers = c.uppers[:0]
	for upper := range c.seen {
		c.uppers = append(c.uppers, upper)
	}
	slices.SortFunc(c.uppers, Frontier.Compare)
}

// dropImpossible is rules 2, 3 and 4.
func (c *evidence) dropImpossible() {
	c.keep(func(e *logEntry) bool {
		at, taken := slices.BinarySearchFunc(c.acknowledged, e.from, func(a *logEntry, from Frontier) int {
			return a.from.Compare(from)
		})
		if taken {
			return false
		}
		if at > 0 && e.from.Less(c.acknowledged[at-1].to) {
			return false
		}
		inside, found := slices.BinarySearchFunc(c.uppers, e.from, Frontier.Compare)
		if found {
			inside++
		}
		return inside == len(c.uppers) || !c.uppers[inside].Less(e.to)
	})
}

// dropInterchangeable is rule 6.
func (c *evidence) dropInterchangeable() {
	type span struct{ from, to Frontier }
	first := map[span]*logEntry{}
	for _, e := range c.open {
		if _, visible := c.showing(e); visible {
			continue
		}
		key := span{e.from, e.to}
		if best, ok := first[key]; !ok || e.call < best.call {
			first[key] = e
		}
	}
	c.keep(func(e *logEntry) bool {
		if _, visible := c.showing(e); visible {
			return true
		}
		return first[span{e.from, e.to}] == e
	})
}

// closeOnlyProducers is rule 5. It goes from the latest upper to the earliest, because an
// append that is closed shows the upper it starts at.
func (c *evidence) closeOnlyProducers() {
	led := map[Frontier]bool{{}: true}
	for _, e := range c.acknowledged {
		led[e.to] = true
	}
	candidates := map[Frontier][]*logEntry{}
	for _, e := range c.open {
		candidates[e.to] = append(candidates[e.to], e)
	}
	closed := map[*logEntry]bool{}
	for i := len(c.uppers) - 1; i >= 0; i-- {
		upper, by := c.uppers[i], c.seen[c.uppers[i]]
		for !led[upper] && len(candidates[upper]) == 1 {
			e := candidates[upper][0]
			closed[e] = true
			c.acknowledged = append(c.acknowledged, e.closed(by))
			led[upper] = true
			upper = e.from
			if before, ok := c.seen[upper]; ok {
				by = min(by, before)
			}
		}
	}
	if len(closed) > 0 {
		c.sortAcknowledged()
		c.keep(func(e *logEntry) bool { return !closed[e] })
		c.changed = true
	}
}

// keep filters the open appends.
func (c *evidence) keep(ok func(*logEntry) bool) {
	var kept []*logEntry
	for _, e := range c.open {
		if ok(e) {
			kept = append(kept, e)
		}
	}
	if len(kept) < len(c.open) {
		c.changed = true
	}
	c.open = kept
}
