package sim

import "time"

// Strategy decides which of the things that could happen next does: it ranks each one when it
// becomes possible, and the lowest rank goes first. What could happen next are tasks that can go
// on and events that are due at the same instant, or within Slack of it.
type Strategy interface {
	// Name is what the command line calls it.
	Name() string
	// Start is called once, before anything is ranked.
	Start(random *Stream)
	// Rank is called for each candidate, in the order in which they become possible.
	Rank(c Candidate) uint32
	// Slack is how far apart two events may be due and still be ordered by rank. The later
	// one may then go first, and the earlier one is late: as if its machine had been slow.
	// Zero keeps to the order in which events are due.
	Slack() time.Duration
}

// Candidate is something that could happen next.
type Candidate struct {
	Actor   uint64 // a stable key of who acts: a task, a link, or a process's timers
	Ordinal uint64 // how many candidates of that actor came before
	Step    uint64 // how many candidates came before in the whole run
}

// Random is the random walk: each candidate's rank is a hash of its actor and ordinal, so that
// a task more or less in one place does not change the order everywhere else.
func Random() Strategy { return &randomWalk{} }

// The world asks a randomWalk's key, not its Rank: its ranks are decisions like all others.
type randomWalk struct{ key uint64 }

func (*randomWalk) Name() string         { return "random" }
func (r *randomWalk) Start(s *Stream)    { r.key = s.Uint64() }
func (*randomWalk) Slack() time.Duration { return 0 }
func (r *randomWalk) Rank(c Candidate) uint32 {
	return uint32(mix(r.key^c.Actor+c.Ordinal*golden) >> 32)
}

// FIFO runs what became possible first.
func FIFO() Strategy { return fifo{} }

type fifo struct{}

func (fifo) Name() string            { return "fifo" }
func (fifo) Start(*Stream)           {}
func (fifo) Slack() time.Duration    { return 0 }
func (fifo) Rank(c Candidate) uint32 { return uint32(c.Step) }

// PCT is probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS
// 2010): actors have random priorities, the highest runs, and at depth-1 random steps the one
// that acts is demoted below all others. A bug of that depth among n actors and k steps is hit
// with probability at least 1/(n*k^(depth-1)).
//
// Differences from the paper: the actors are tasks and links; steps are candidates, not
// instructions; and since events in a distributed system seldom fall on one instant, those due
// within slack of each other count as simultaneous.
func PCT(depth, steps int, slack time.Duration) Strategy {
	return &pct{depth: depth, steps: steps, slack: slack}
}

type pct struct {
	depth, steps int
	slack        time.Duration

	key     uint64
	changes map[uint64]uint32 // step -> the priority its actor falls to
	demoted map[uint64]uint32 // actor -> priority
}

func (*pct) Name() string { return "pct" }

func (p *pct) Slack() time.Duration { return p.slack }

func (p *pct) Start(s *Stream) {
	p.key = s.Uint64()
	p.changes = make(map[uint64]uint32, p.depth)
	p.demoted = make(map[uint64]uint32, p.depth)
	for i := 1; i < p.depth; i++ {
		p.changes[s.N(uint64(max(p.steps, 1)))] = uint32(i)
	}
}

func (p *pct) Rank(c Candidate) uint32 {
	if low, ok := p.changes[c.Step]; ok {
		p.demoted[c.Actor] = low
	}
	if len(p.demoted) > 0 {
		if low, ok := p.demoted[c.Actor]; ok {
			return ^(low << rankOrdinalBits) + uint32(c.Ordinal)&(1<<rankOrdinalBits-1) - (1<<rankOrdinalBits - 1)
		}
	}
	// The top bit stays clear, so that a demoted actor is behind every other. What one actor does
	// stays in order.
	return uint32(mix(p.key^c.Actor)>>33)&^(1<<rankOrdinalBits-1) | uint32(c.Ordinal)&(1<<rankOrdinalBits-1)
}

// rankOrdinalBits are the low bits of a rank, which order what is of equal priority.
const rankOrdinalBits = 10

// Strategies returns the strategies that a name on the command line can choose, by name.
func Strategies() []string { return []string{"fifo", "pct", "random"} }

// NewStrategy returns a new strategy by name, or nil when there is none of that name.
func NewStrategy(name string) Strategy {
	switch name {
	case "random":
		return Random()
	case "fifo":
		return FIFO()
	case "pct":
		return PCT(3, 20_000, time.Millisecond)
	}
	return nil
}
