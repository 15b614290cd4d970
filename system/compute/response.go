package compute

import (
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// handleResponse takes in a response, unless its task was given up.
func (c *Controller) handleResponse(r taggedResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rep := c.replicas[r.replica]
	if rep == nil || r.incarnation != rep.epoch.Replica {
		c.h.Sometimes("compute: a response of an older incarnation was dropped", true)
		return
	}
	c.cfg.Observer.Observe(ResponseApplied{r.replica, protocol.Epoch{Controller: c.cfg.Incarnation, Replica: r.incarnation}, r.response})
	switch resp := r.response.(type) {
	case protocol.Frontiers:
		if resp.ID.IsLog() {
			rep.logs[resp.ID] = rep.logs[resp.ID].Join(resp.Write)
		} else if rc := c.known(rep, resp.ID); rc != nil {
			c.updateReplica(rep, rc, resp)
			c.updateWrite(c.collections[resp.ID], resp.Write)
		}
	case protocol.PeekResponse:
		c.handlePeekResponse(r.replica, resp)
	case protocol.SubscribeResponse:
		if rc := c.known(rep, resp.ID); rc != nil {
			c.handleSubscribeResponse(rep, rc, resp)
		}
	}
}

// known is a collection's state on a replica.
func (c *Controller) known(r *replica, id protocol.GlobalID) *replicaCollection {
	rc := r.collections[id]
	c.h.Always("compute: a replica speaks of collections that it was given", rc != nil, "replica %s, epoch %v: %v", r.id, r.epoch, id)
	return rc
}

// updateReplica notes how far a replica is, which lets go of what it has read.
func (c *Controller) updateReplica(r *replica, rc *replicaCollection, f protocol.Frontiers) {
	back := f.Write.Before(rc.told.Write) || f.Input.Before(rc.told.Input) || f.Output.Before(rc.told.Output)
	c.h.Always("compute: a replica's frontiers never go back", !back, "replica %s, epoch %v: from %v to %v", r.id, r.epoch, rc.told, f)
	rc.told = protocol.Frontiers{
		ID:    f.ID,
		Write: rc.told.Write.Join(f.Write), Input: rc.told.Input.Join(f.Input), Output: rc.told.Output.Join(f.Output),
	}
	rc.hydrated = rc.hydrated || rc.asOf.Before(rc.told.Output)
	for _, h := range rc.shards {
		h.downgrade(rc.told.Input)
	}
}

// updateWrite notes how far a collection is written by the fastest replica.
func (c *Controller) updateWrite(col *collection, write protocol.Frontier) {
	if !col.write.Before(write) {
		return
	}
	col.write = write
	c.cfg.Observer.Observe(FrontierAdvanced{col.desc.ID, write})
	if !col.dropped {
		col.implied.downgrade(col.desired())
	}
}

// done are the frontiers of a collection that a replica has no more of.
func done(id protocol.GlobalID) protocol.Frontiers {
	return protocol.Frontiers{ID: id, Write: persist.Empty(), Input: persist.Empty(), Output: persist.Empty()}
}
