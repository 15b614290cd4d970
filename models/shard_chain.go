package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The chain checker judges a shard's log without searching, in O(n log n).
//
// It can, because histories of a shard carry versions: every append names the upper it starts
// from and the one it leads to. The appends that took effect therefore form one chain of
// intervals from [0] to the final upper, without gap or overlap, and what was acknowledged or
// seen pins most of it down. Three things remain:
//
//  1. Shape. Acknowledged appends must not overlap, and whatever upper was seen must be a link.
//  2. Time. The append into a link took effect after its own call and after the call of
//     everything that still needed an earlier upper; and before its own return and the return
//     of everything that already knew of a later one. Going along the chain and always taking
//     the earliest possible moment decides whether such moments exist. Where open appends leave
//     a choice of links, the way that arrives earliest is as good as any other, because nothing
//     ever asks for a later arrival.
//  3. Contents. Contents as of a time never change once the upper is past it, so every snapshot
//     is compared with the sum of the chain's updates, whenever it was taken.
//
// Closing by evidence comes first: after it no append that a snapshot could show is open, if
// rows tell appends apart. Then the answer is exact: the checker and Porcupine must agree on
// every history.

// chain is one shard's log being judged.
type chain struct {
	shard  string
	links  map[Frontier]*link
	order  []*link // sorted by upper
	edges  []*logEntry
	shots  []*logEntry // sorted by asOf
	broken []*logEntry
	// hidden holds open appends whose effect on snapshots cannot be told, because their rows
	// are not theirs alone.
	hidden []*logEntry
	all    []*Op
	found  []Violation
}

// link is an upper on or beside the chain.
type link struct {
	upper Frontier
	// proof is the entry that is first to show that the upper was reached; nil for one that
	// only open appends lead to.
	proof *logEntry
	// readCall and readRet are the latest call and the earliest return of who saw this upper.
	readCall, readRet bound
	reached           bool
	// arrival is the earliest moment at which the upper can have become this.
	arrival bound
	// blocked is the first contradiction that kept an append from leading here.
	blocked *conflict
}

// bound is a moment and what sets it.
type bound struct {
	at uint64
	by *logEntry
	// upper is what the entry needs, or shows, the upper to be.
	upper Frontier
}

// conflict is an entry called too late for the upper it needs, because another had returned
// before that knew of a later one.
type conflict struct {
	needs, knows bound
}

// checkChain judges a log that was closed by evidence. Exact says that an empty answer means
// the log is linearizable; a violation always means it is not.
func checkChain(s *shardHistory, log []*logEntry) (found []Violation, exact bool) {
	c := &chain{shard: s.shard, links: map[Frontier]*link{}, all: s.all}
	c.sort(log)
	c.checkAnswers()
	if c.checkShape() {
		c.walk()
		c.checkReached()
	}
	c.checkContents()
	return c.found, len(c.hidden) == 0
}

func (c *chain) link(upper Frontier) *link {
	l := c.links[upper]
	if l == nil {
		l = &link{upper: upper, readRet: bound{at: Open}}
		c.links[upper] = l
	}
	return l
}

// sort files the entries under the links they belong to.
func (c *chain) sort(log []*logEntry) {
	c.link(At(0)).reached = true
	prove := func(upper Frontier, by *logEntry) {
		l := c.link(upper)
		if l.proof == nil || by.op.Return < l.proof.op.Return {
			l.proof = by
		}
	}
	evidence := newEvidence(log)
	if len(evidence.open) > 0 {
		evidence.findOwners()
	}
	for _, e := range log {
		if e.broken != "" {
			c.broken = append(c.broken, e)
			continue
		}
		switch e.kind {
		case logAppend:
			c.edges = append(c.edges, e)
			c.link(e.from)
			c.link(e.to)
			if !e.open {
				prove(e.from, e)
				prove(e.to, e)
			} else if _, visible := evidence.showing(e); visible {
				c.hidden = append(c.hidden, e)
			}
		case logUpper:
			prove(e.upper, e)
			l := c.link(e.upper)
			if l.readCall.by == nil || e.call > l.readCall.at {
				l.readCall = bound{e.call, e, e.upper}
			}
			if e.ret < l.readRet.at {
				l.readRet = bound{e.ret, e, e.upper}
			}
		}
	}
	c.shots = evidence.snapshots
	slices.SortStableFunc(c.edges, func(a, b *logEntry) int {
		return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to), cmp.Compare(a.call, b.call))
	})
	for _, l := range c.links {
		c.order = append(c.order, l)
	}
	slices.SortFunc(c.order, func(a, b *link) int { return a.upper.Compare(b.upper) })
}

// checkAnswers reports answers that no state of the shard explains.
func (c *chain) checkAnswers() {
	for _, e := range c.broken {
		c.report(e.op, "%v: %s", e.op, e.broken)
	}
}

// checkShape reports acknowledged appends that start at the same upper, and uppers seen inside
// an acknowledged append. Without that the chain cannot be walked.
func (c *chain) checkShape() bool {
	var before *logEntry
	for _, e := range c.edges {
		if e.open {
			continue
		}
		if before != nil && before.from == e.from {
			c.report(later(before, e).op, "two appends took effect from the same upper %v: %s; and %s",
				e.from, effect(before), effect(e))
			return false
		}
		before = e
		at, _ := slices.BinarySearchFunc(c.order, e.from, func(l *link, upper Frontier) int {
			return l.upper.Compare(upper)
		})
		for _, l := range c.order[at+1:] {
			if !l.upper.Less(e.to) {
				break
			}
			if l.proof != nil {
				c.report(later(e, l.proof).op,
					"the upper went from %v to %v in one step, %s; but %s shows it at %v, in between",
					e.from, e.to, effect(e), effect(l.proof), l.upper)
				return false
			}
		}
	}
	return true
}

// walk goes along the appends in the order of the uppers they start from, and keeps the
// earliest moment at which each upper can have been reached.
func (c *chain) walk() {
	shot := 0
	for _, e := range c.edges {
		from, to := c.links[e.from], c.links[e.to]
		if !from.reached {
			continue
		}
		depart := latest(latest(from.arrival, from.readCall), bound{e.call, e, e.from})
		// Of an append that was closed by evidence the witnesses' own returns are limits
		// already, and make a better message.
		limit := to.readRet
		if e.op.Return < limit.at {
			limit = bound{e.op.Return, e, e.to}
		}
		for shot < len(c.shots) && c.shots[shot].asOf < e.from.T {
			shot++
		}
		for _, s := range c.shots[shot:] {
			if !e.to.Beyond(s.asOf) {
				break
			}
			if s.ret < limit.at {
				limit = bound{s.ret, s, e.to}
			}
		}
		if depart.at > limit.at {
			if to.blocked == nil || !e.open {
				to.blocked = &conflict{depart, limit}
			}
			continue
		}
		if !to.reached || depart.at < to.arrival.at {
			to.reached, to.arrival = true, depart
		}
	}
}

func latest(a, b bound) bound {
	if b.by != nil && (a.by == nil || b.at > a.at) {
		return b
	}
	return a
}

// checkReached reports the first link that had to be reached and cannot have been.
func (c *chain) checkReached() {
	last := c.links[At(0)]
	for _, l := range c.order {
		if l.reached {
			last = l
			continue
		}
		if l.proof == nil {
			continue
		}
		if x := c.blockedPast(last); x != nil {
			c.reportConflict(x)
			return
		}
		c.report(l.proof.op,
			"%s shows the upper at %v, but no append that may have taken effect leads there from %v%s",
			effect(l.proof), l.upper, last.upper, c.suspects(l.upper))
		return
	}
	c.checkPassed(last)
}

// blockedPast is the first contradiction on the way on from the last link that was reached.
func (c *chain) blockedPast(last *link) *conflict {
	for _, l := range c.order {
		if l.blocked != nil && last.upper.Less(l.upper) {
			return l.blocked
		}
	}
	return nil
}

// checkPassed reports a snapshot that was answered although the upper cannot have been past its
// time. Snapshots of earlier times were compared with the appends that passed them.
func (c *chain) checkPassed(last *link) {
	if len(c.shots) == 0 {
		return
	}
	s := c.shots[len(c.shots)-1]
	if last.upper.Beyond(s.asOf) {
		return
	}
	if x := c.blockedPast(last); x != nil {
		c.reportConflict(x)
		return
	}
	c.report(s.op,
		"%s, but no append that may have taken effect moves the upper past %d; "+
			"the last upper that can be explained is %v",
		s.op, s.asOf, last.upper)
}

func (c *chain) reportConflict(x *conflict) {
	knows, needs := x.knows, x.needs
	shown := fmt.Sprintf("was at %v or later", knows.upper)
	if knows.by.kind == logSnapshot {
		shown = fmt.Sprintf("was past %d", knows.by.asOf)
	}
	c.report(later(knows.by, needs.by).op,
		"the upper %s by the return of %s; but %s, called only after that, needs it at %v",
		shown, effect(knows.by), effect(needs.by), needs.upper)
}

// checkContents compares every snapshot with the sum of the appends that took effect.
func (c *chain) checkContents() {
	type step struct {
		delta
		e *logEntry
	}
	var steps []step
	for _, e := range c.edges {
		if !e.open {
			for _, d := range e.deltas {
				steps = append(steps, step{d, e})
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.ts, b.ts) })
	next, sum, reported := 0, uint64(0), 0
	for _, s := range c.shots {
		for next < len(steps) && steps[next].ts <= s.asOf {
			sum += steps[next].sum
			next++
		}
		if s.sum == sum || c.obscured(s) {
			continue
		}
		c.reportContents(s)
		if reported++; reported == contentsReported {
			return
		}
	}
}

// contentsReported bounds how many wrong snapshots of a shard are reported: a row that is wrong
// stays wrong in all later ones.
const contentsReported = 3

// obscured says whether an open append may be part of a snapshot without anybody being able to
// tell.
func (c *chain) obscured(s *logEntry) bool {
	return slices.ContainsFunc(c.hidden, func(e *logEntry) bool { return e.sumAt(s.asOf) != 0 })
}

func (c *chain) reportContents(s *logEntry) {
	var updates []Update
	for _, e := range c.edges {
		if !e.open {
			updates = append(updates, e.updates...)
		}
	}
	gap := compareRows(ContentsAt(updates, s.asOf), s.rows)
	c.report(s.op, "%s differs from what was appended at times <= %d: %s", s.op, s.asOf, gap.describe(c.origin))
}

// origin says who wrote, or tried to write, a row.
func (c *chain) origin(data string) string {
	var writers []string
	for _, op := range c.all {
		in, ok := op.Input.(CompareAndAppend)
		if !ok {
			continue
		}
		for _, u := range in.Updates {
			if u.Data == data {
				answer := string(op.Outcome)
				if op.Output != nil {
					answer = fmt.Sprint(op.Output)
				}
				writers = append(writers,
					fmt.Sprintf("#%d of client %d at time %d, answered %s", op.ID, op.Client, u.TS, answer))
				break
			}
		}
	}
	if len(writers) == 0 {
		return "in no append"
	}
	if len(writers) > 2 {
		writers = append(writers[:2:2], "...")
	}
	return strings.Join(writers, "; ")
}

// suspects names appends that lead to an upper but were answered that they did nothing.
func (c *chain) suspects(to Frontier) string {
	for _, op := range c.all {
		if in, ok := op.Input.(CompareAndAppend); ok && op.Outcome == Fail && in.New == to && in.Misuse() == "" {
			return fmt.Sprintf("; #%d of client %d would, and was told that it did nothing", op.ID, op.Client)
		}
	}
	return ""
}

// effect says how it is known that an append took effect.
func effect(e *logEntry) string {
	switch {
	case e.op.Outcome != Unknown:
		return e.op.String()
	case e.open:
		return e.op.String() + " (which may have taken effect)"
	}
	return e.op.String() + " (which took effect, as others saw)"
}

// later is the entry whose operation was the last to end, and so completed a contradiction.
func later(a, b *logEntry) *logEntry {
	if lastEvent(b.op) > lastEvent(a.op) {
		return b
	}
	return a
}

// lastEvent is where an operation is last heard of: its return, or its call if it is open.
func lastEvent(op *Op) uint64 {
	if op.Return == Open {
		return op.Call
	}
	return op.Return
}

// report adds a violation that was complete once op had returned.
func (c *chain) report(op *Op, format string, args ...any) {
	c.found = append(c.found, violation(OracleLinearizable, c.shard, op, format, args...))
}

// violation is complete when op returned, or for an open one when it was called.
func violation(oracle, shard string, op *Op, format string, args ...any) Violation {
	v := Violation{
		Oracle:  oracle,
		Message: fmt.Sprintf("shard %s: %s", shard, fmt.Sprintf(format, args...)),
		AtNS:    op.ReturnNS, Event: lastEvent(op),
	}
	if op.Return == Open {
		v.AtNS = op.CallNS
	}
	return v
}
