package dataflow

import "github.com/simrun-dev/simrun/system/persist"

// Gather puts together what several producers put out of one collection, each its part, in pieces: what all have
// come beyond is put out again. The zero value is of no use; see [NewGather].
type Gather struct {
	lower   Frontier
	uppers  []Frontier // by producer
	updates []Update   // of times that are not complete
	errors  []ErrorUpdate
}

// NewGather is of so many producers, and begins at a frontier.
func NewGather(producers int, at Frontier) *Gather {
	return &Gather{lower: at, uppers: make([]Frontier, producers)}
}

// Upper is how far all producers have come, and never before the beginning.
func (g *Gather) Upper() Frontier { return g.lower }

// Add takes what a producer puts out, and returns what is complete by that, if anything is.
func (g *Gather) Add(producer int, out Output) (complete Output, ok bool) {
	g.uppers[producer] = g.uppers[producer].Join(out.Upper)
	g.updates = append(g.updates, out.Updates...)
	g.errors = append(g.errors, out.Errors...)
	upper := persist.Empty()
	for _, u := range g.uppers {
		upper = upper.Meet(u)
	}
	if !g.lower.Before(upper) {
		return Output{}, false
	}
	complete = Output{Lower: g.lower, Upper: upper}
	if len(g.uppers) == 1 {
		complete.Updates, complete.Errors = g.updates, g.errors
		g.updates, g.errors = nil, nil
	} else {
		complete.Updates, g.updates = cutBefore(g.updates, upper, func(u *Update) uint64 { return u.Time })
		complete.Errors, g.errors = cutBefore(g.errors, upper, func(u *ErrorUpdate) uint64 { return u.Time })
		complete.Updates, complete.Errors = Consolidate(complete.Updates), ConsolidateErrors(complete.Errors)
	}
	g.lower = upper
	return complete, true
}

// cutBefore parts what is of times before a frontier from the rest.
func cutBefore[T any](all []T, at Frontier, time func(*T) uint64) (before, rest []T) {
	for i := range all {
		if at.LessEqual(time(&all[i])) {
			rest = append(rest, all[i])
		} else {
			before = append(before, all[i])
		}
	}
	return before, rest
}
