package scenarios

import (
	"time"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
)

// An office that comes back to the very capture that has given it up is rare where others wait for it, and then what was
// said and done in its former term is still about: in the same process, under the same name.

// returnWithin is how long an office may take to come back.
const returnWithin = 8 * time.Second

// bringBack has owners resign, one after the other, until the capture that led before is the owner again, in the same
// life. It tells whether that came about while it was still wanted.
func (c *cdcCluster) bringBack(before coord.Leader, wanted func() bool) bool {
	deadline := c.r.World.Now() + returnWithin
	for c.r.Working() && wanted() && c.r.World.Now() < deadline {
		leader, led := c.leader()
		if led && leader.Value == before.Value && leader.Revision > before.Revision {
			return true
		}
		c.changeOwner("resigns")
		c.within(time.Second, func() bool { next, ok := c.leader(); return ok && next.Revision > leader.Revision })
	}
	return false
}

// sendAway has the owner resign, and then others until it is the owner again. What captures send to it meanwhile is on its
// way until then, and comes when it schedules in another term.
func (c *cdcCluster) sendAway(f *faults.Fault) {
	leader, led := c.leader()
	n := c.ownerNode()
	if !led || n == nil || !c.r.Working() {
		return
	}
	captures := make([]string, len(c.nodes))
	for i, capture := range c.nodes {
		captures[i] = capture.Name()
	}
	heal := c.r.World.AddRule(sim.Rule{Key: f.ID, From: captures, To: []string{n.Name()}, Hold: true})
	over := false
	c.r.World.Go("resign in turn", func() {
		c.r.World.Sleep(f.Duration("after")) // so that something is on its way
		if c.bringBack(leader, func() bool { return !over }) {
			c.within(time.Second, func() bool {
				return over || c.watch.scheduling > leader.Revision && c.leads(leader.Value, c.watch.scheduling)
			})
		}
		over = true
	})
	c.within(returnWithin, func() bool { return over })
	over = true
	heal()
}

// leads tells whether a capture is the owner, in the term of that epoch.
func (c *cdcCluster) leads(capture string, epoch coord.Revision) bool {
	leader, ok := c.leader()
	return ok && leader.Value == capture && leader.Revision == epoch
}

// standAgain has the owner resign while the first of its next candidatures is held up, and resign once more when another
// one has made it the owner again. Then what is held up is let go: it makes a candidate of one that does not know.
func (c *cdcCluster) standAgain(s *coordStall) {
	defer c.gate.end(s)
	wanted := func() bool { return !s.over.Closed() }
	leader, led := c.leader()
	if !led || c.changeOwner("resigns") != leader.Revision {
		return
	}
	c.within(returnWithin, func() bool { return !wanted() || s.givenUp > 0 })
	if s.givenUp == 0 || !c.bringBack(leader, wanted) {
		return
	}
	epoch := c.changeOwner("resigns")
	c.within(time.Second, func() bool { return !wanted() || !c.leads(leader.Value, epoch) })
}
