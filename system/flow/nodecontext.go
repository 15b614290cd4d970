package flow

import (
	"context"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/host"
)

// nodeContext knows which flows there are, and what they read and write. Its methods do not wait.
type nodeContext struct {
	mu      *host.Mutex
	sources map[catalog.TableID]*source
	sinks   map[catalog.Name]*sinkQueue
	flows   map[catalog.FlowID]*registration
	// dropped has the revision at which a flow was dropped, so that a request from before does not bring
	// it back: a number for each flow dropped in this life of the node.
	dropped map[catalog.FlowID]uint64
}

// registration is a flow as the node context knows it.
type registration struct {
	args    CreateFlowArgs
	query   *planner.Query
	worker  *WorkerHandle
	sub     *subscription
	errs    *errCollector
	landing *landing
	refill  *RefillTask // the latest; guarded by the context's lock
	// life ends when the flow is removed, replaced or begun anew.
	life context.Context
	end  context.CancelFunc
}

// source is the table that the flow reads.
func (r *registration) source() catalog.TableID { return r.query.Table.ID }

func newNodeContext(h host.Host) *nodeContext {
	return &nodeContext{
		mu: host.NewMutex(h, "node context"), sources: map[catalog.TableID]*source{}, sinks: map[catalog.Name]*sinkQueue{},
		flows: map[catalog.FlowID]*registration{}, dropped: map[catalog.FlowID]uint64{},
	}
}

func (c *nodeContext) source(id catalog.TableID) *source {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sources[id]
}

func (c *nodeContext) flow(id catalog.FlowID) *registration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flows[id]
}

// addSource adds a source, unless it is there, and returns the one that is.
func (c *nodeContext) addSource(s *source) *source {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there := c.sources[s.table.ID]; there != nil {
		return there
	}
	c.sources[s.table.ID] = s
	return s
}

// sink is the queue of a sink, made if there is none.
func (c *nodeContext) sink(h host.Host, name catalog.Name) *sinkQueue {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sinks[name] == nil {
		c.sinks[name] = newSinkQueue(h, name)
	}
	return c.sinks[name]
}

func (c *nodeContext) register(r *registration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flows[r.args.ID] = r
}

// remove forgets a flow.
func (c *nodeContext) remove(id catalog.FlowID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.flows[id]; r != nil {
		if s := c.sources[r.source()]; s != nil {
			s.unsubscribe(r.sub)
		}
	}
	delete(c.flows, id)
}

// tidy forgets sources that nobody reads any more, and sinks that nobody writes. Whoever calls it holds ddl: so
// no flow is about to use one.
func (c *nodeContext) tidy() {
	c.mu.Lock()
	defer c.mu.Unlock()
	read, written := map[catalog.TableID]bool{}, map[catalog.Name]bool{}
	for _, r := range c.flows {
		read[r.source()], written[r.args.Sink] = true, true
	}
	maps.DeleteFunc(c.sources, func(id catalog.TableID, _ *source) bool { return !read[id] })
	maps.DeleteFunc(c.sinks, func(name catalog.Name, q *sinkQueue) bool { return !written[name] && q.empty() })
}

// setRefill notes the task that gives a flow what its table holds.
func (c *nodeContext) setRefill(r *registration, t *RefillTask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.refill = t
}

// refill is the flow's latest refill, nil before there is one.
func (c *nodeContext) refill(r *registration) *RefillTask {
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.refill
}

// drop notes that a flow was dropped.
func (c *nodeContext) drop(id catalog.FlowID, revision uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped[id] = max(c.dropped[id], revision)
}

// dropRevision is the revision at which a flow was dropped, if it was.
func (c *nodeContext) dropRevision(id catalog.FlowID) (uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.dropped[id]
	return r, ok
}

// allSources are the sources, sorted by table.
func (c *nodeContext) allSources() []*source {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sortedValues(c.sources)
}

// allFlows are the flows, sorted by id.
func (c *nodeContext) allFlows() []*registration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sortedValues(c.flows)
}

// allSinks are the sinks, sorted by name.
func (c *nodeContext) allSinks() []*sinkQueue {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*sinkQueue
	for _, name := range slices.SortedFunc(maps.Keys(c.sinks), catalog.Name.Compare) {
		all = append(all, c.sinks[name])
	}
	return all
}

func sortedValues[K ~uint32 | ~uint64, V any](m map[K]V) []V {
	all := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[k])
	}
	return all
}

// sharedSink tells whether another flow of the node than id writes into the sink.
func (c *nodeContext) sharedSink(id catalog.FlowID, sink catalog.Name) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.flows {
		if r.args.ID != id && r.args.Sink == sink {
			return true
		}
	}
	return false
}
