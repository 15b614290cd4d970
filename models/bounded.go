package models

import "io"

// Bounds limit how long an oracle searches. What comes to a limit is [VerdictUnknown].
type Bounds struct {
	// Steps bounds the search for each object, in steps of its specification: unlike time, the
	// same everywhere. 0 is the oracle's default.
	Steps int
	// Done, once closed, ends the search. Nil never does.
	Done <-chan struct{}
}

// Bounded is an oracle whose search can be limited.
type Bounded interface {
	Oracle
	// Bound returns the oracle with other limits.
	Bound(Bounds) Oracle
}

// Bound returns the oracle with another limit of steps. It does not heed Done.
func (l Linearizable) Bound(b Bounds) Oracle {
	if b.Steps > 0 {
		l.MaxSteps = b.Steps
	}
	return l
}

// Visualizer is an oracle that can draw what it judges.
type Visualizer interface {
	// Visualize writes one HTML page, self-contained.
	Visualize(w io.Writer) error
}
