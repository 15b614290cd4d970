package compute

import (
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
)

// collection is what the controller knows of a collection.
type collection struct {
	desc   *protocol.Dataflow
	schema dataflow.Schema

	holders *holders
	// since is from where on it can be read: the least of the holders as it was when it was last looked at.
	since protocol.Frontier
	// write is how far any replica has written it.
	write protocol.Frontier

	policy ReadPolicy
	// implied is held by the policy; warmup so that a replica that begins anew finds its inputs complete
	// at the time at which it begins.
	implied, warmup *hold
	// shards and indexes are held for the sake of this collection; each is that of the dataflow's import at
	// the same place.
	shards, indexes []*hold

	scheduled    bool
	dropped      bool
	subscription *Subscription
}

// desired is how far the since could go for all the policy minds.
func (c *collection) desired() protocol.Frontier {
	if c.desc.WriteOnly() {
		// One step behind: a subscribe that begins anew must see what changes at its frontier, and
		// the contents before that, to be told apart.
		return stepBack(c.write)
	}
	return c.policy(c.write)
}

// replica is what the controller knows of one.
type replica struct {
	id          protocol.ReplicaID
	config      ReplicaConfig
	client      *replicaClient
	epoch       protocol.Epoch
	metrics     *ReplicaMetrics
	collections map[protocol.GlobalID]*replicaCollection
	// logs are how far its logs are, as told on the present connection.
	logs map[protocol.GlobalID]protocol.Frontier
}

// replicaCollection is how far a collection is on a replica.
type replicaCollection struct {
	asOf     protocol.Frontier
	told     protocol.Frontiers
	hydrated bool
	// shards are held for the replica, which may be slow.
	shards []*hold
}

// done tells whether the replica has nothing of the collection any more.
func (c *replicaCollection) done() bool {
	return c.told.Write.IsEmpty() && c.told.Input.IsEmpty() && c.told.Output.IsEmpty()
}

func (c *replicaCollection) release() {
	for _, h := range c.shards {
		h.release()
	}
}
