package simvet

import (
	"fmt"
	"go/token"
	"go/types"
)

// outcome is what becomes of an effect when the pieces of code that have it swap places, from nothing
// to the worst.
type outcome int

const (
	// settles: it is there as soon as one of them is done, and the same whichever that is.
	settles outcome = iota + 1
	// fills: each has a place of its own.
	fills
	// counts: once all are done it is the same in every order, but on the way there it is not.
	counts
	// shows: it differs.
	shows
)

// owner says whose a piece of memory is, seen from a region: one pass through a loop over a map, or
// one call of a function. From 0 on it is the number of the function's parameter through which it is
// reached, the receiver first.
type owner int

const (
	fresh   owner = -3 // made in the region, and its own
	entry   owner = -2 // reached through the map's entry or its key, so that other passes have another
	outside owner = -1
)

// join is the owner of what may be either's.
func (o owner) join(p owner) owner {
	switch {
	case o == p || p == fresh:
		return o
	case o == fresh:
		return p
	case o == entry:
		return p
	case p == entry:
		return o
	}
	return outside
}

// effect is something that a region does to what outlives it.
type effect struct {
	on      owner
	outcome outcome
	why     string // completes "the loop ..."
	pos     token.Pos
}

// summary says what calls of a function do, in as far as their order could show. It is a fact about
// the functions that do anything.
type summary struct {
	// Outside is what they do to anything but their arguments; 0 is nothing.
	Outside outcome
	Why     string // of Outside: completes "which ..."
	// Params is what they do to what their arguments point to, the receiver first; those behind the
	// last one are left alone. It is no map: facts must be encoded the same each time.
	Params []paramEffect
	// Reveals tells that their result depends on what they count.
	Reveals bool
	// Sorts tells that they put what they are given in order, so that its order before is lost.
	Sorts bool
}

// paramEffect is what a function does to an argument; the zero value is nothing.
type paramEffect struct {
	Outcome outcome
	Why     string
}

func (*summary) AFact() {}

func (s *summary) String() string {
	if s.Outside == shows {
		return "order shows: " + s.Why
	}
	return fmt.Sprintf("outside %d, params %+v", s.Outside, s.Params)
}

// add takes up an effect.
func (s *summary) add(e effect) {
	switch {
	case e.on == fresh:
	case e.on < 0:
		if s.Outside != shows && e.outcome == shows {
			s.Why = e.why
		}
		s.Outside = max(s.Outside, e.outcome)
	default:
		for len(s.Params) <= int(e.on) {
			s.Params = append(s.Params, paramEffect{})
		}
		p := &s.Params[e.on]
		if p.Outcome != shows && e.outcome == shows {
			p.Why = e.why
		}
		p.Outcome = max(p.Outcome, e.outcome)
	}
}

// harmless tells whether there is nothing to say.
func (s *summary) harmless() bool { return s.Outside == 0 && len(s.Params) == 0 && !s.Sorts }

// effects of which nothing is known.
func unknownEffects(why string) *summary { return &summary{Outside: shows, Why: why} }

// onParam is a function whose only effect is on one of its parameters.
func onParam(i int, o outcome, why string) *summary {
	s := &summary{}
	s.add(effect{on: owner(i), outcome: o, why: why})
	return s
}

// hasPointers tells whether a copy of a value shares memory with it.
func hasPointers(t types.Type) bool {
	if t == nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Struct:
		for f := range u.Fields() {
			if hasPointers(f.Type()) {
				return true
			}
		}
		return false
	case *types.Array:
		return hasPointers(u.Elem())
	case *types.Tuple:
		return true
	}
	return true
}
