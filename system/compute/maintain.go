package compute

import (
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// maintain does what need not be done at once.
func (c *Controller) maintain() {
	if c.isReplaced() {
		c.fenced()
		return
	}
	if c.h.Buggify("compute/maintenance left out") {
		return
	}
	if c.h.Buggify("compute/maintenance takes long") {
		c.h.Clock().Sleep(time.Duration(c.h.Rand().IntN(500)) * time.Millisecond)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rehydrateFailed()
	c.downgradeWarmup()
	c.advanceSinces()
	for _, id := range c.order {
		c.maybeSchedule(c.collections[id])
	}
	c.cleanUp()
}

// downgradeWarmup lets go of times that a replica which begins anew would have to wait for.
func (c *Controller) downgradeWarmup() {
	for _, id := range c.order {
		col := c.collections[id]
		if col.since.IsEmpty() {
			continue // its inputs may be gone
		}
		if col.desc.WriteOnly() && col.write.IsEmpty() {
			col.warmup.release()
			continue
		}
		ready := persist.Empty()
		for _, s := range col.desc.Shards {
			ready = ready.Meet(stepBack(c.shards[s.Shard].upper))
		}
		for _, i := range col.desc.Indexes {
			ready = ready.Meet(stepBack(c.collections[i.ID].write))
		}
		col.warmup.downgrade(ready)
	}
}

// advanceSinces moves every since to the least of its holders, dependents first, since they let go of what
// they depend on, and tells the replicas. Shards follow.
func (c *Controller) advanceSinces() {
	advanced := map[protocol.GlobalID]bool{}
	for _, id := range slices.Backward(c.order) {
		col := c.collections[id]
		since := col.holders.least()
		c.h.Always("compute: a since never goes back", !since.Before(col.since), "%v: from %v to %v", id, col.since, since)
		if !col.since.Before(since) {
			continue
		}
		advanced[id] = true
		col.since = since
		for _, h := range slices.Concat(col.shards, col.indexes) {
			h.downgrade(since)
		}
		c.cfg.Observer.Observe(SinceAdvanced{id, since})
	}
	for _, id := range c.order {
		if advanced[id] {
			c.send(protocol.AllowCompaction{ID: id, Frontier: c.collections[id].since})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.shards)) {
		c.advanceShard(c.shards[id])
	}
}

// advanceShard moves the since of a shard. Before all dataflows are there again, which may need more than
// those that are there, it stays.
func (c *Controller) advanceShard(s *shard) {
	if !c.initialized {
		return
	}
	keep := LagBy(c.cfg.Retention+1, 1)
	if !s.upper.IsEmpty() {
		s.implied.downgrade(keep(s.upper))
	}
	since := s.holders.least()
	c.h.Always("compute: a shard's since never goes back", !since.Before(s.since), "%s: from %v to %v", s.id, s.since, since)
	if !s.since.Before(since) {
		return
	}
	s.since = since
	c.cfg.Observer.Observe(ShardSinceAdvanced{s.id, since})
	s.moved.TrySend(struct{}{})
}

// cleanUp forgets dropped collections that no replica has any more.
func (c *Controller) cleanUp() {
	c.order = slices.DeleteFunc(c.order, func(id protocol.GlobalID) bool {
		col := c.collections[id]
		if !col.dropped || !col.since.IsEmpty() {
			return false
		}
		for _, r := range c.replicas {
			if rc := r.collections[id]; rc != nil && !rc.done() {
				return false
			}
		}
		for _, r := range c.replicas {
			delete(r.collections, id)
		}
		delete(c.collections, id)
		c.cfg.Observer.Observe(CollectionRemoved{id})
		return true
	})
}

// Schema is what a collection's rows look like. The error is [ErrUnknownCollection].
func (c *Controller) Schema(id protocol.GlobalID) (dataflow.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	col, err := c.find(id)
	if err != nil {
		return dataflow.Schema{}, err
	}
	return col.schema, nil
}
