package compute

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// Controller controls a compute instance. Its methods may be called by any task.
type Controller struct {
	h    host.Host
	cfg  Config
	life context.Context
	end  context.CancelFunc

	mu *host.Mutex
	// reason is why the controller has ended; nil while it has not.
	reason error

	history     protocol.History
	initialized bool
	readOnly    bool

	collections map[protocol.GlobalID]*collection
	// order are their ids, each after those that its dataflow reads.
	order  []protocol.GlobalID
	shards map[persist.ShardID]*shard

	replicas map[protocol.ReplicaID]*replica
	// connections counts how many tasks were started for a replica, whether or not it is still there.
	connections map[protocol.ReplicaID]uint64
	responses   *host.Chan[taggedResponse]

	peeks     map[protocol.PeekID]*Peek
	peekCount uint64
}

// responseQueue is how many responses may wait for the controller. Then no connection is read on, and replicas keep what
// they have to say.
const responseQueue = 16

// NewController starts a controller of an instance without replicas and collections, which is read-only.
func NewController(h host.Host, cfg Config) (*Controller, error) {
	if cfg.Incarnation <= 0 {
		return nil, fmt.Errorf("compute: incarnation %d of a controller; draw one with NextIncarnation", cfg.Incarnation)
	}
	c := &Controller{
		h: h, cfg: cfg.withDefaults(), mu: host.NewMutex(h, "compute controller"), readOnly: true,
		collections: map[protocol.GlobalID]*collection{}, shards: map[persist.ShardID]*shard{},
		replicas: map[protocol.ReplicaID]*replica{}, connections: map[protocol.ReplicaID]uint64{},
		responses: host.NewChan[taggedResponse](h, "compute responses", responseQueue),
		peeks:     map[protocol.PeekID]*Peek{},
	}
	c.life, c.end = host.WithCancel(h, context.Background())
	c.send(protocol.CreateTimely{}) // each task fills in its own
	c.send(protocol.CreateInstance{})
	h.Go("compute controller", c.run)
	return c, nil
}

// Close ends the controller: peeks and subscriptions fail with [ErrClosed]. Replicas go on with what they do
// until another controller tells them otherwise.
func (c *Controller) Close() { c.shutDown(ErrClosed) }

// Err is why the controller has ended: [ErrClosed], [ErrFenced], or nil while it has not.
func (c *Controller) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// Done is the case, for a Select, of the controller having ended.
func (c *Controller) Done() host.Case { return host.OnDone(c.life) }

func (c *Controller) shutDown(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason != nil {
		return
	}
	c.reason = reason
	for _, id := range slices.Sorted(maps.Keys(c.peeks)) {
		c.peeks[id].finish(nil, reason)
	}
	clear(c.peeks)
	for _, id := range c.order {
		if s := c.collections[id].subscription; s != nil {
			s.finish(reason)
		}
	}
	c.end()
}

// run takes in responses, and looks after everything now and then.
func (c *Controller) run() {
	ticker := c.h.Clock().Ticker(c.cfg.MaintainInterval)
	defer ticker.Stop()
	var r taggedResponse
	cases := []host.Case{host.OnDone(c.life), c.responses.OnRecv(&r, nil), host.OnTime(ticker.C, nil)}
	for {
		switch host.Select(c.h, cases...) {
		case 0:
			return
		case 1:
			c.handleResponse(r)
		case 2:
			c.maintain()
		}
	}
}

// send adds a command to the history and sends it to all replicas, in this order: a replica that is
// started in between is given it with the history. The lock is held.
func (c *Controller) send(cmd protocol.Command) {
	c.history.Push(cmd)
	c.cfg.Observer.Observe(Commanded{cmd})
	for _, id := range slices.Sorted(maps.Keys(c.replicas)) {
		c.replicas[id].client.send(cmd)
	}
}

// InitializationComplete says that all dataflows of before were created again, if there were any. Until
// then replicas leave what they have as it is.
func (c *Controller) InitializationComplete() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.initialized || c.reason != nil {
		return
	}
	c.initialized = true
	c.send(protocol.InitializationComplete{})
	if !c.readOnly {
		c.send(protocol.AllowWrites{})
	}
}

// AllowWrites lets replicas write to shards, for good. Before it they only compute.
func (c *Controller) AllowWrites() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.readOnly || c.reason != nil {
		return
	}
	c.readOnly = false
	if c.initialized {
		c.send(protocol.AllowWrites{})
	}
}

// UpdateConfiguration changes parameters of the replicas.
func (c *Controller) UpdateConfiguration(p protocol.Parameters) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason == nil {
		c.send(protocol.UpdateConfiguration{Parameters: p})
	}
}

// find is a collection that was not dropped. The lock is held.
func (c *Controller) find(id protocol.GlobalID) (*collection, error) {
	if c.reason != nil {
		return nil, c.reason
	}
	col := c.collections[id]
	if col == nil || col.dropped {
		return nil, fmt.Errorf("%w: %v", ErrUnknownCollection, id)
	}
	return col, nil
}

// Frontiers are from where on a collection can be read, and how far it is written. The error is
// [ErrUnknownCollection].
func (c *Controller) Frontiers(id protocol.GlobalID) (since, write protocol.Frontier, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	col, err := c.find(id)
	if err != nil {
		return since, write, err
	}
	return col.since, col.write, nil
}

// SetReadPolicy sets how an index is compacted. The error is [ErrUnknownCollection] or [ErrPolicy].
func (c *Controller) SetReadPolicy(id protocol.GlobalID, policy ReadPolicy) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	col, err := c.find(id)
	if err != nil {
		return err
	}
	if col.desc.WriteOnly() {
		return fmt.Errorf("%w: %v", ErrPolicy, id)
	}
	col.policy = policy
	col.implied.downgrade(col.desired())
	return nil
}
