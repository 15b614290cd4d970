package compute

import (
	"fmt"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/compute/protocol"
)

// AddReplica adds a replica, which may be down. The error is [ErrReplicaExists], or why the controller has
// ended.
func (c *Controller) AddReplica(id protocol.ReplicaID, config ReplicaConfig) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason != nil {
		return c.reason
	}
	if c.replicas[id] != nil {
		return fmt.Errorf("%w: %s", ErrReplicaExists, id)
	}
	c.addReplica(id, config, &ReplicaMetrics{})
	return nil
}

// DropReplica drops a replica: nothing is heard of it any more, and nothing waits for it. What it runs it
// goes on with until its process is ended. The error is [ErrUnknownReplica].
func (c *Controller) DropReplica(id protocol.ReplicaID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replicas[id] == nil {
		return fmt.Errorf("%w: %s", ErrUnknownReplica, id)
	}
	c.removeReplica(id)
	return nil
}

// addReplica starts a task for a replica, with a new epoch and all commands so far. The lock is held.
func (c *Controller) addReplica(id protocol.ReplicaID, config ReplicaConfig, metrics *ReplicaMetrics) {
	c.connections[id]++
	r := &replica{
		id: id, config: config, metrics: metrics,
		epoch:       protocol.Epoch{Controller: c.cfg.Incarnation, Replica: c.connections[id]},
		collections: map[protocol.GlobalID]*replicaCollection{}, logs: map[protocol.GlobalID]protocol.Frontier{},
	}
	c.history.Reduce()
	commands := c.history.Commands()
	r.client = spawnReplicaTask(&ReplicaTask{
		h: c.h, replicaID: id, config: config, buildInfo: c.cfg.Build, responseTx: c.responses, epoch: r.epoch,
		metrics: metrics, dyncfg: c.cfg.Dynamic, observer: c.cfg.Observer,
	}, c.life, len(commands)+c.cfg.CommandBacklog)
	c.cfg.Observer.Observe(ReplicaSpawned{id, r.epoch})
	for _, cmd := range commands {
		r.client.send(cmd)
	}
	for _, id := range c.order {
		col := c.collections[id]
		since := make([]protocol.Frontier, len(col.shards))
		for i, h := range col.shards {
			since[i] = h.since
		}
		c.addTo(r, col, since)
	}
	c.replicas[id] = r
}

// addTo notes that a collection is to be on a replica, and holds its shards for it.
func (c *Controller) addTo(r *replica, col *collection, since []protocol.Frontier) {
	rc := &replicaCollection{asOf: col.since, hydrated: col.since.IsEmpty()}
	rc.told = protocol.Frontiers{ID: col.desc.ID, Write: col.since, Input: col.since, Output: col.since}
	for i, s := range col.desc.Shards {
		rc.shards = append(rc.shards, c.shards[s.Shard].holders.take(since[i]))
	}
	r.collections[col.desc.ID] = rc
}

// removeReplica forgets a replica. The lock is held.
func (c *Controller) removeReplica(id protocol.ReplicaID) {
	r := c.replicas[id]
	delete(c.replicas, id)
	r.client.end()
	for _, rc := range r.collections {
		rc.release()
	}
	for _, peek := range slices.Sorted(maps.Keys(c.peeks)) {
		if c.peeks[peek].replica == id {
			c.finishPeek(peek, nil, ErrReplicaLost)
		}
	}
	c.cfg.Observer.Observe(ReplicaRemoved{id, r.epoch})
}

// isReplaced tells whether a replica has refused this controller because it knows a later one.
func (c *Controller) isReplaced() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.replicas {
		if r.client.refused() {
			return true
		}
	}
	return false
}

// rehydrateFailed starts new tasks for replicas whose task has ended.
func (c *Controller) rehydrateFailed() {
	for _, id := range slices.Sorted(maps.Keys(c.replicas)) {
		r := c.replicas[id]
		if !r.client.failed() {
			continue
		}
		c.h.Sometimes("compute: responses of an ended connection are waiting", c.responses.Len() > 0)
		c.removeReplica(id)
		c.addReplica(id, r.config, r.metrics)
	}
}

// ReplicaStatus is how a replica is doing.
type ReplicaStatus struct {
	Epoch     protocol.Epoch
	Connected bool
	// Hydrated: every collection is computed beyond the time at which it began.
	Hydrated bool
	// Frontiers are how far its collections are, sorted by id.
	Frontiers []protocol.Frontiers
	Metrics   *ReplicaMetrics
}

// Replica tells how a replica is doing. The error is [ErrUnknownReplica].
func (c *Controller) Replica(id protocol.ReplicaID) (ReplicaStatus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.replicas[id]
	if r == nil {
		return ReplicaStatus{}, fmt.Errorf("%w: %s", ErrUnknownReplica, id)
	}
	s := ReplicaStatus{Epoch: r.epoch, Connected: r.client.connected(), Hydrated: true, Metrics: r.metrics}
	for _, id := range slices.Sorted(maps.Keys(r.collections)) {
		s.Hydrated = s.Hydrated && r.collections[id].hydrated
		s.Frontiers = append(s.Frontiers, r.collections[id].told)
	}
	return s, nil
}

// Replicas are the ids of the instance's replicas, sorted.
func (c *Controller) Replicas() []protocol.ReplicaID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.replicas))
}
