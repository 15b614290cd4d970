package compute

import (
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// ReadPolicy tells from where on a collection is to be readable, whoever may ask, given how far it is
// written.
type ReadPolicy func(write protocol.Frontier) protocol.Frontier

// StepBack is the policy that keeps the latest time that is complete.
func StepBack() ReadPolicy { return LagBy(1, 1) }

// LagBy keeps so many times before the latest, rounded down to a multiple of granularity (at least 1), so
// that the since moves in steps. Of a collection that is complete for ever it keeps everything.
func LagBy(lag, granularity uint64) ReadPolicy {
	granularity = max(granularity, 1)
	return func(write protocol.Frontier) protocol.Frontier {
		t, ok := write.Time()
		if !ok || t < lag {
			return protocol.Frontier{}
		}
		return persist.At((t - lag) / granularity * granularity)
	}
}

// ValidFrom keeps everything from a frontier on.
func ValidFrom(f protocol.Frontier) ReadPolicy {
	return func(protocol.Frontier) protocol.Frontier { return f }
}

// stepBack is the frontier of the time before.
func stepBack(f protocol.Frontier) protocol.Frontier {
	t, ok := f.Time()
	switch {
	case !ok:
		return f
	case t == 0:
		return protocol.Frontier{}
	}
	return persist.At(t - 1)
}
