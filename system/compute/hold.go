package compute

import (
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// holders counts who needs a collection to be readable from which frontier on.
type holders struct{ counts map[protocol.Frontier]int }

func newHolders() *holders { return &holders{counts: map[protocol.Frontier]int{}} }

// least is from where on it has to be readable; empty if nobody needs it.
func (s *holders) least() protocol.Frontier {
	least := persist.Empty()
	for f := range s.counts {
		least = least.Meet(f)
	}
	return least
}

func (s *holders) add(f protocol.Frontier, n int) {
	if f.IsEmpty() {
		return
	}
	if s.counts[f] += n; s.counts[f] == 0 {
		delete(s.counts, f)
	}
}

// take adds a hold.
func (s *holders) take(at protocol.Frontier) *hold {
	s.add(at, 1)
	return &hold{of: s, since: at}
}

// hold is one need of a collection.
type hold struct {
	of    *holders
	since protocol.Frontier // empty once it is released
}

// downgrade gives up what is before a frontier. It does nothing if that is given up already.
func (h *hold) downgrade(to protocol.Frontier) {
	if !h.since.Before(to) {
		return
	}
	h.of.add(h.since, -1)
	h.of.add(to, 1)
	h.since = to
}

func (h *hold) release() { h.downgrade(persist.Empty()) }

func (h *hold) clone() *hold { return h.of.take(h.since) }

// ReadHold keeps a collection readable from its Since on, until it is released.
type ReadHold struct {
	c    *Controller
	id   protocol.GlobalID
	hold *hold
}

// AcquireReadHold holds a collection at its present since. The error is [ErrUnknownCollection].
func (c *Controller) AcquireReadHold(id protocol.GlobalID) (*ReadHold, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	col, err := c.find(id)
	if err != nil {
		return nil, err
	}
	return &ReadHold{c, id, col.holders.take(col.since)}, nil
}

// ID is the collection.
func (r *ReadHold) ID() protocol.GlobalID { return r.id }

// Since is from where on the collection is held; empty once it is released.
func (r *ReadHold) Since() protocol.Frontier {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	return r.hold.since
}

// Downgrade gives up what is before a frontier.
func (r *ReadHold) Downgrade(to protocol.Frontier) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.hold.downgrade(to)
}

// Release gives up the hold.
func (r *ReadHold) Release() { r.Downgrade(persist.Empty()) }
