package models

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"
)

// chooser returns a number in [0, n). Rapid's shrinks, a seeded one is fast.
type chooser func(n int) int

func rapidChooser(t *rapid.T) chooser {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
}

func seededChooser(seed uint64) chooser {
	return rand.New(rand.NewPCG(seed, 0)).IntN
}

// chance is true once in n.
func (c chooser) chance(n int) bool { return c(n) == 0 }

// mix says what a generated history is made of.
type mixture struct {
	shards, clients, ops int
	// unknown is how many of 100 appends and since changes end with an unknown outcome.
	unknown int
	// tagged gives every append rows of its own.
	tagged bool
	// holds adds readers and critical holds.
	holds bool
	// holdsOnly leaves appends out, all but a few.
	holdsOnly bool
}

// referenceShard is the sequential specification, written down as plainly as can be.
type referenceShard struct {
	name    string
	upper   Frontier
	since   Frontier
	updates []Update
	readers map[string]Frontier // live leased readers
	hold    *Hold               // of the one critical id
}

func (s *referenceShard) apply(op CompareAndAppend) bool {
	if s.upper != op.Expected || op.Misuse() != "" {
		return false
	}
	s.upper = op.New
	s.updates = append(s.updates, op.Updates...)
	return true
}

// advanceSince recomputes the since from what holds it back; it never goes back.
func (s *referenceShard) advanceSince() {
	if len(s.readers) == 0 && s.hold == nil {
		return
	}
	meet := Closed()
	for _, h := range s.readers {
		if h.Less(meet) {
			meet = h
		}
	}
	if s.hold != nil && s.hold.Since.Less(meet) {
		meet = s.hold.Since
	}
	s.since = s.since.Join(meet)
}

// generator runs clients against reference shards: each operation is called, takes effect in
// one moment, and returns, with other clients' steps in between; so the history is
// linearizable.
type generator struct {
	mixture
	choose  chooser
	history *History
	shards  []*referenceShard
	at      uint64
	clients []*generatedClient
	begun   int
	// limbo holds appends whose client is gone and whose fate is open.
	limbo []func()
	rows  int
}

type generatedClient struct {
	id     int
	known  []Frontier // last upper heard of, by shard
	reader []string   // by shard, "" while there is none
	token  Token
	effect func() (Outcome, any, bool) // not nil until the operation takes effect; false: try again
	answer func()                      // not nil from then until it returns
	tries  int
}

func generate(m mixture, choose chooser) *History {
	g := &generator{mixture: m, choose: choose, history: NewHistory()}
	for i := range m.shards {
		g.shards = append(g.shards, &referenceShard{name: fmt.Sprintf("s%d", i), readers: map[string]Frontier{}})
	}
	for i := range m.clients {
		g.clients = append(g.clients, &generatedClient{id: i, known: make([]Frontier, m.shards), reader: make([]string, m.shards)})
	}
	for g.step() {
	}
	return g.history
}

func (g *generator) now() (uint64, int64) {
	g.at++
	return g.at, int64(g.at) * 1e6
}

func (g *generator) step() bool {
	busy := slices.ContainsFunc(g.clients, func(c *generatedClient) bool { return c.effect != nil || c.answer != nil })
	if g.begun == g.ops && !busy {
		return false
	}
	if len(g.limbo) > 0 && g.choose.chance(4) {
		i := g.choose(len(g.limbo))
		g.limbo[i]()
		g.limbo = slices.Delete(g.limbo, i, i+1)
	}
	c := g.clients[g.choose(len(g.clients))]
	switch {
	case c.answer != nil:
		c.answer()
		c.answer = nil
	case c.effect != nil:
		outcome, output, done := c.effect()
		if !done {
			if c.tries++; c.tries < 3 {
				return true
			}
			outcome, output = Fail, nil
		}
		c.effect = nil
		c.answer = func() {
			at, ns := g.now()
			g.history.End(c.token, outcome, output, at, ns)
		}
	case g.begun < g.ops:
		g.begun++
		c.tries = 0
		g.begin(c)
	}
	return true
}

func (g *generator) call(c *generatedClient, kind string, input any) {
	at, ns := g.now()
	c.token = g.history.Begin(c.id, kind, input, at, ns)
}

func (g *generator) begin(c *generatedClient) {
	at := g.choose(len(g.shards))
	s := g.shards[at]
	kinds := 10
	if g.holds {
		kinds = 15
	}
	k := g.choose(kinds)
	if g.holdsOnly && !g.choose.chance(6) {
		k = kinds - 1
	}
	switch {
	case k < 5:
		g.beginAppend(c, at, s)
	case k < 7:
		g.call(c, KindFetchUpper, FetchUpper{s.name})
		c.effect = func() (Outcome, any, bool) {
			c.known[at] = s.upper
			return Ok, Upper{s.upper}, true
		}
	case k < 10:
		asOf := uint64(g.choose(int(s.upper.T) + 2))
		g.call(c, KindSnapshot, Snapshot{Shard: s.name, AsOf: asOf})
		c.effect = func() (Outcome, any, bool) {
			if s.since.Beyond(asOf) {
				return Fail, SinceError{s.since}, true
			}
			return Ok, Contents{ContentsAt(s.updates, asOf)}, s.upper.Beyond(asOf)
		}
	default:
		g.beginHold(c, at, s)
	}
}

func (g *generator) beginAppend(c *generatedClient, at int, s *referenceShard) {
	in := CompareAndAppend{Shard: s.name, Expected: s.upper}
	if g.choose.chance(4) {
		in.Expected = c.known[at]
	}
	if in.Expected.Empty {
		in.Expected = At(s.lastTime() + 1)
	}
	width := uint64(g.choose(4))
	in.New = At(in.Expected.T + width)
	if g.choose.chance(150) {
		in.New = Closed()
		width = 1
	}
	if width > 0 {
		for range g.choose(3) {
			g.rows++
			data := fmt.Sprintf("row-%d", g.rows)
			if !g.tagged {
				data = fmt.Sprintf("row-%d", g.choose(3))
			}
			in.Updates = append(in.Updates, Update{Data: data, TS: in.Expected.T + uint64(g.choose(int(width))), Diff: 1})
		}
		if len(in.Updates) > 0 && g.choose.chance(8) {
			// A row that comes and goes within the append.
			u := in.Updates[0]
			u.Diff, u.TS = -1, in.Expected.T+width-1
			in.Updates = append(in.Updates, u)
		}
	}
	g.call(c, KindCompareAndAppend, in)
	c.effect = func() (Outcome, any, bool) {
		if g.choose(100) < g.unknown {
			land := func() { s.apply(in) }
			if g.choose.chance(2) {
				land()
			} else {
				g.limbo = append(g.limbo, land)
			}
			return Unknown, nil, true
		}
		if s.apply(in) {
			c.known[at] = in.New
			return Ok, nil, true
		}
		c.known[at] = s.upper
		return Fail, UpperMismatch{s.upper}, true
	}
}

func (s *referenceShard) lastTime() uint64 {
	last := uint64(0)
	for _, u := range s.updates {
		last = max(last, u.TS)
	}
	return last
}

func (g *generator) beginHold(c *generatedClient, shard int, s *referenceShard) {
	reader := c.reader[shard]
	_, live := s.readers[reader]
	to := At(uint64(g.choose(int(s.upper.T) + 3)))
	unsure := func(effect func(sure bool) (Outcome, any)) func() (Outcome, any, bool) {
		return func() (Outcome, any, bool) {
			if g.choose(100) >= g.unknown {
				outcome, output := effect(true)
				return outcome, output, true
			}
			if g.choose.chance(2) {
				effect(false)
			} else {
				g.limbo = append(g.limbo, func() { effect(false) })
			}
			return Unknown, nil, true
		}
	}
	switch g.choose(5) {
	case 0, 1:
		if reader == "" || !live && g.choose.chance(2) {
			reader = fmt.Sprintf("r%d-%d", c.id, g.begun)
			c.reader[shard] = reader
			g.call(c, KindOpenReader, OpenReader{s.name, reader})
			c.effect = func() (Outcome, any, bool) {
				s.readers[reader] = s.since
				return Ok, Since{s.since}, true
			}
			return
		}
		g.call(c, KindDowngradeSince, DowngradeSince{Shard: s.name, Reader: reader, Since: to})
		expire := g.choose.chance(10)
		c.effect = unsure(func(sure bool) (Outcome, any) {
			h, ok := s.readers[reader]
			if !ok {
				return Ok, Since{Closed()}
			}
			if expire && sure { // or its client would vouch for a lease that is gone
				delete(s.readers, reader)
				return Ok, Since{Closed()}
			}
			s.readers[reader] = h.Join(to)
			s.advanceSince()
			return Ok, Since{h.Join(to)}
		})
	case 2:
		asOf := uint64(g.choose(int(s.upper.T) + 2))
		// Whether the lease is live may be vouched for, since nobody but its client ends it.
		g.call(c, KindSnapshot, Snapshot{Shard: s.name, AsOf: asOf, Reader: reader, Live: live && g.choose.chance(2)})
		c.effect = func() (Outcome, any, bool) {
			since := s.since
			if reader != "" {
				h, ok := s.readers[reader]
				if !ok {
					return Fail, LeaseExpired{}, true
				}
				since = since.Join(h)
			}
			if since.Beyond(asOf) {
				return Fail, SinceError{since}, true
			}
			return Ok, Contents{ContentsAt(s.updates, asOf)}, s.upper.Beyond(asOf)
		}
	case 3:
		g.call(c, KindOpenCritical, OpenCritical{s.name, "controller", 0})
		c.effect = func() (Outcome, any, bool) {
			if s.hold == nil {
				s.hold = &Hold{0, s.since}
			}
			return Ok, *s.hold, true
		}
	case 4:
		if s.hold == nil {
			g.call(c, KindFetchUpper, FetchUpper{s.name})
			c.effect = func() (Outcome, any, bool) { return Ok, Upper{s.upper}, true }
			return
		}
		in := CompareAndDowngradeSince{Shard: s.name, ID: "controller", Expected: s.hold.Opaque, New: s.hold.Opaque, Since: to}
		if g.choose.chance(3) {
			in.New = uint64(g.begun)
		}
		if g.choose.chance(6) {
			in.Expected = uint64(g.choose(3))
		}
		g.call(c, KindCompareAndDowngradeSince, in)
		hidden := g.choose.chance(4) // a first attempt goes through and nobody knows
		swap := unsure(func(bool) (Outcome, any) {
			if s.hold.Opaque != in.Expected {
				return Fail, OpaqueMismatch{s.hold.Opaque}
			}
			s.hold = &Hold{in.New, s.hold.Since.Join(in.Since)}
			s.advanceSince()
			return Ok, Since{s.hold.Since}
		})
		c.effect = func() (Outcome, any, bool) {
			if hidden && s.hold.Opaque == in.Expected {
				hidden = false
				s.hold = &Hold{in.New, s.hold.Since.Join(in.Since)}
				s.advanceSince()
				return "", nil, false
			}
			return swap()
		}
	}
}

// copyHistory lets a mutation change operations.
func copyHistory(h *History) *History {
	out := &History{}
	for _, op := range h.ops {
		c := *op
		out.ops = append(out.ops, &c)
	}
	return out
}

// mutate changes one answer, or one interval, of a history's log, as a buggy shard or a late
// one would. Often the history is no longer linearizable; not always.
func mutate(h *History, choose chooser) *History {
	out := copyHistory(h)
	of := func(kind string, outcome Outcome) *Op {
		var all []*Op
		for _, op := range out.ops {
			if op.Kind == kind && op.Outcome == outcome {
				all = append(all, op)
			}
		}
		if len(all) == 0 {
			return nil
		}
		return all[choose(len(all))]
	}
	switch choose(11) {
	case 0: // a wrong or stale mismatch
		if op := of(KindCompareAndAppend, Fail); op != nil {
			op.Output = UpperMismatch{At(uint64(choose(12)))}
		}
	case 1: // a stale or early upper
		if op := of(KindFetchUpper, Ok); op != nil {
			if u := op.Output.(Upper).Upper; u.T > 0 {
				op.Output = Upper{At(uint64(choose(int(u.T) + 2)))}
			}
		}
	case 2: // a row is missing
		if op := of(KindSnapshot, Ok); op != nil {
			if rows := op.Output.(Contents).Rows; len(rows) > 0 {
				at := choose(len(rows))
				op.Output = Contents{slices.Delete(slices.Clone(rows), at, at+1)}
			}
		}
	case 3: // a row is twice there
		if op := of(KindSnapshot, Ok); op != nil {
			if rows := slices.Clone(op.Output.(Contents).Rows); len(rows) > 0 {
				rows[choose(len(rows))].Diff++
				op.Output = Contents{rows}
			}
		}
	case 4: // a write that was refused is there
		if op := of(KindCompareAndAppend, Ok); op != nil {
			op.Outcome, op.Output = Fail, UpperMismatch{At(uint64(choose(12)))}
		}
	case 5: // a write that was acknowledged is not
		if op := of(KindCompareAndAppend, Fail); op != nil {
			op.Outcome, op.Output = Ok, nil
		}
	case 6: // an append that took effect twice
		if op := of(KindCompareAndAppend, Ok); op != nil {
			twin := *op
			twin.ID = len(out.ops) + 1
			out.ops = append(out.ops, &twin)
			out.inOrder()
		}
	case 7: // answered before somebody else called
		if op := of(KindCompareAndAppend, Ok); op != nil {
			op.Return = op.Call
		}
	case 8: // called late
		if op := of([]string{KindFetchUpper, KindCompareAndAppend, KindSnapshot}[choose(3)], Ok); op != nil {
			op.Call = op.Return
			out.inOrder()
		}
	case 9: // snapshots swapped
		a, b := of(KindSnapshot, Ok), of(KindSnapshot, Ok)
		if a != nil {
			a.Output, b.Output = b.Output, a.Output
		}
	case 10: // an answer that is lost is still fine
		if op := of(KindCompareAndAppend, Ok); op != nil {
			op.Outcome, op.Return = Unknown, Open
		}
	}
	return out
}

// inOrder restores the order of calls.
func (h *History) inOrder() {
	slices.SortStableFunc(h.ops, func(a, b *Op) int {
		if a.Call != b.Call {
			if a.Call < b.Call {
				return -1
			}
			return 1
		}
		return a.ID - b.ID
	})
}
