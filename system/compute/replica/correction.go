package replica

import (
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// correction is the difference between what a shard should hold and what it holds: what would have to be
// appended at its upper.
type correction struct {
	updates []persist.Update
	// upper is the shard's upper as it was last seen. Corrections are due from there on.
	upper protocol.Frontier
	// tidy is how many updates there were when they were last put in order.
	tidy int
}

// desire adds what the shard should hold.
func (c *correction) desire(updates []persist.Update) {
	c.updates = append(c.updates, updates...)
	c.shrink()
}

// persisted subtracts what it holds, up to an upper.
func (c *correction) persisted(updates []persist.Update, upper protocol.Frontier) {
	for _, u := range updates {
		u.Diff = -u.Diff
		c.updates = append(c.updates, u)
	}
	c.upper = c.upper.Join(upper)
	c.shrink()
}

// shrink puts the updates in order when they have grown to twice as many: most of them cancel out.
func (c *correction) shrink() {
	if len(c.updates) > 2*c.tidy+1024 {
		c.order()
	}
}

// order brings all updates forward to the upper, before which nothing can be corrected any more.
func (c *correction) order() {
	from, ok := c.upper.Time()
	if !ok {
		c.updates, c.tidy = nil, 0
		return
	}
	for i := range c.updates {
		c.updates[i].Time = max(c.updates[i].Time, from)
	}
	c.updates = persist.Consolidate(c.updates)
	c.tidy = len(c.updates)
}

// before is what has to be appended for times before a frontier.
func (c *correction) before(to protocol.Frontier) []persist.Update {
	c.order()
	n := 0
	for n < len(c.updates) && !to.LessEqual(c.updates[n].Time) {
		n++
	}
	return append([]persist.Update(nil), c.updates[:n]...)
}
