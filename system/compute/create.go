package compute

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// Description is a dataflow to be created.
type Description struct {
	// ID is the collection's, never used before.
	ID   protocol.GlobalID
	Plan dataflow.Plan
	// Shards and Indexes are what the plan reads.
	Shards  []protocol.ShardImport
	Indexes map[dataflow.SourceID]protocol.GlobalID
	// Sink is where the output goes.
	Sink protocol.Sink
	// AsOf, if not nil, is the first time of the output. Nil leaves it to the controller: as late as
	// inputs are complete, so that it is there at once, but no later than a sink's shard is written to.
	AsOf *uint64
	// Until, if not nil, ends the output.
	Until *uint64
	// Policy is how an index is compacted. Nil is [StepBack].
	Policy ReadPolicy
	// Transient dataflows are short-lived: they do not wait for others to hydrate.
	Transient bool
}

// dataflow is the description as replicas are told it, but for the schemas of indexes.
func (d *Description) dataflow() *protocol.Dataflow {
	flow := &protocol.Dataflow{
		ID: d.ID, Plan: d.Plan, Sink: d.Sink, Transient: d.Transient,
		Until: persist.Empty(), Shards: slices.Clone(d.Shards),
	}
	slices.SortFunc(flow.Shards, func(a, b protocol.ShardImport) int { return strings.Compare(string(a.Name), string(b.Name)) })
	if d.Until != nil {
		flow.Until = persist.At(*d.Until)
	}
	return flow
}

// CreateDataflow creates a dataflow on all replicas, and returns its AsOf. It waits until the controller holds
// the shards. It fails with [ErrCollectionExists], [ErrUnknownCollection], [*SinceError], [*SinkError],
// dataflow's *PlanError, host.ErrTooLong, [ErrFenced], [ErrClosed], or as persist does.
func (c *Controller) CreateDataflow(ctx context.Context, d Description) (asOf uint64, err error) {
	if d.Sink.Kind == protocol.Subscribe {
		return 0, fmt.Errorf("%w, and create it with Subscribe: %v", ErrNotReadable, d.ID)
	}
	return c.create(ctx, d, nil)
}

func (c *Controller) create(ctx context.Context, d Description, s *Subscription) (asOf uint64, err error) {
	flow := d.dataflow()
	for _, s := range flow.Shards {
		if err := c.openShard(ctx, s.Shard); err != nil {
			return 0, err
		}
	}
	if flow.Sink.Kind == protocol.Shard {
		if err := c.openShard(ctx, flow.Sink.Shard); err != nil {
			return 0, err
		}
		if err := c.refreshUpper(ctx, flow.Sink.Shard); err != nil {
			return 0, err
		}
	}
	asOf, begun, err := c.tryCreate(d, flow, s)
	if err != nil || begun {
		return asOf, err
	}
	// The shard of the sink is new: what it holds before the dataflow begins means nothing.
	if err := c.beginShard(ctx, flow.Sink.Shard, asOf); err != nil {
		return 0, err
	}
	d.AsOf = &asOf
	asOf, _, err = c.tryCreate(d, flow, s)
	return asOf, err
}

// tryCreate creates a dataflow, unless the shard of its sink has to be made to begin at its AsOf first.
func (c *Controller) tryCreate(d Description, flow *protocol.Dataflow, s *Subscription) (asOf uint64, created bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	col, err := c.check(&d, flow)
	if err != nil {
		return 0, false, err
	}
	if asOf, err = c.chooseAsOf(&d, flow); err != nil {
		return 0, false, err
	}
	flow.AsOf = persist.At(asOf)
	if flow.Sink.Kind == protocol.Shard {
		if sh := c.shards[flow.Sink.Shard]; sh.isNew() && sh.since.Before(flow.AsOf) {
			return asOf, false, nil
		}
	}
	col.subscription = s
	c.add(col)
	return asOf, true, nil
}

// check looks whether the description makes sense, and completes the dataflow.
func (c *Controller) check(d *Description, flow *protocol.Dataflow) (*collection, error) {
	if c.reason != nil {
		return nil, c.reason
	}
	if d.ID == 0 || d.ID.IsLog() {
		return nil, fmt.Errorf("%w: %d is not for dataflows", ErrCollectionExists, uint64(d.ID))
	}
	if c.collections[d.ID] != nil {
		return nil, fmt.Errorf("%w: %v", ErrCollectionExists, d.ID)
	}
	flow.Indexes = nil
	for _, name := range slices.Sorted(maps.Keys(d.Indexes)) {
		id := d.Indexes[name]
		index, err := c.find(id)
		if err != nil {
			return nil, err
		}
		if index.desc.Sink.Kind != protocol.Index {
			return nil, fmt.Errorf("%w: %v is no index, import its shard", ErrUnknownCollection, id)
		}
		flow.Indexes = append(flow.Indexes, protocol.IndexImport{Name: name, ID: id, Schema: index.schema})
	}
	schema, err := flow.Plan.Schema(flow.Catalog())
	if err != nil {
		return nil, err
	}
	if flow.Sink.Kind == protocol.Index {
		if _, err := dataflow.NewArrangement(schema, flow.Sink.Key, 0); err != nil {
			return nil, err
		}
	}
	if err := protocol.Fits(protocol.CreateDataflow{Dataflow: flow}); err != nil {
		return nil, err
	}
	policy := d.Policy
	if policy == nil {
		policy = StepBack()
	}
	return &collection{desc: flow, schema: schema, holders: newHolders(), policy: policy}, nil
}

// add makes a collection one of the instance's.
func (c *Controller) add(col *collection) {
	d := col.desc
	col.since, col.write = d.AsOf, d.AsOf
	col.implied, col.warmup = col.holders.take(d.AsOf), col.holders.take(d.AsOf)
	// A replica may get round to the dataflow only after it has read, under an older controller's
	// command, what is readable now. For it the shards are held from there on.
	var early []protocol.Frontier
	for _, s := range d.Shards {
		sh := c.shards[s.Shard]
		early = append(early, sh.since)
		col.shards = append(col.shards, sh.holders.take(d.AsOf))
	}
	for _, i := range d.Indexes {
		col.indexes = append(col.indexes, c.collections[i.ID].holders.take(d.AsOf))
	}
	c.collections[d.ID] = col
	c.order = append(c.order, d.ID)
	for _, id := range slices.Sorted(maps.Keys(c.replicas)) {
		c.addTo(c.replicas[id], col, early)
	}
	c.cfg.Observer.Observe(CollectionCreated{d})
	c.send(protocol.CreateDataflow{Dataflow: d})
	c.maybeSchedule(col)
}

// maybeSchedule lets a dataflow run once its inputs are complete at the time at which it begins. To hydrate
// before would take one of the few places that there are, and wait.
func (c *Controller) maybeSchedule(col *collection) {
	if col.scheduled || col.since.IsEmpty() {
		return
	}
	ready := col.desc.Transient
	if !ready {
		ready = true
		for _, s := range col.desc.Shards {
			ready = ready && col.since.Before(c.shards[s.Shard].upper)
		}
		for _, i := range col.desc.Indexes {
			ready = ready && col.since.Before(c.collections[i.ID].write)
		}
	}
	if ready {
		col.scheduled = true
		c.send(protocol.Schedule{ID: col.desc.ID})
	}
}

// DropCollections drops collections: what they can be read from on is up to those who still hold them, and when
// nobody does they are dropped by the replicas as well. A subscribe ends with [ErrDropped]. The error is
// [ErrUnknownCollection]; the others are dropped all the same.
func (c *Controller) DropCollections(ids ...protocol.GlobalID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var failed error
	for _, id := range ids {
		col, err := c.find(id)
		if err != nil {
			failed = err
			continue
		}
		c.drop(col, ErrDropped)
	}
	return failed
}

// drop drops a collection, whose subscription ends for a reason. The lock is held.
func (c *Controller) drop(col *collection, reason error) {
	col.dropped = true
	col.implied.release()
	col.warmup.release()
	if col.subscription != nil {
		col.subscription.finish(reason)
	}
	c.cfg.Observer.Observe(CollectionDropped{col.desc.ID})
}
