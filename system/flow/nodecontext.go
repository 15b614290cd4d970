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
	// it back.
	dropped map[catalog.FlowID]uint64
}

// registration is a flow as the node context knows it.
type registration struct {
	args   CreateFlowArgs
	query  *planner.Query
	worker *WorkerHandle
	sub    *subscription
	errs   *errCollector
	refill []*RefillTask // guarded by the context's lock
	// life ends when the flow is removed, replaced or begun anew.
	life context.Context
	end  context.CancelFunc
}

// unsubscribe ends the flow's subscriptions.
func (r *registration) unsubscribe(sources map[catalog.TableID]*source) {
	for _, table := range r.args.Sources {
		if s := sources[table]; s != nil {
			s.unsubscribe(r.sub)
		}
	}
}

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

// remove forgets a flow, and the sources that nobody reads any more.
func (c *nodeContext) remove(id catalog.FlowID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.flows[id]; r != nil {
		r.unsubscribe(c.sources)
	}
	delete(c.flows, id)
	c.tidy()
}

// tidy forgets sources without readers.
func (c *nodeContext) tidy() {
	for id := range c.sources {
		if !c.reads(id) {
			delete(c.sources, id)
		}
	}
}

func (c *nodeContext) reads(table catalog.TableID) bool {
	for _, r := range c.flows {
		if slices.Contains(r.args.Sources, table) {
			return true
		}
	}
	return false
}

// setRefill notes the tasks that give a flow what its tables hold.
func (c *nodeContext) setRefill(r *registration, tasks []*RefillTask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.refill = tasks
}

func (c *nodeContext) refills(r *registration) []*RefillTask {
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

// release forgets sources without readers, after a flow was not created.
func (c *nodeContext) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tidy()
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

// sharedSink tells whether another flow than id writes into the sink.
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
