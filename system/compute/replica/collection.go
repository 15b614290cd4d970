package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// collection is a worker's share of a dataflow, with its output.
type collection struct {
	w          *worker
	generation uint64
	desc       *protocol.Dataflow // with the AsOf that the present connection knows
	stages     []*stage
	// output puts together what workers have computed of this worker's share of the output.
	output *dataflow.Gather

	// One of them is set, by the kind of sink; the sink of a shard on the worker that writes it.
	index     *dataflow.Arrangement
	router    *dataflow.Router // of the index
	sink      *sink
	subscribe *subscribe

	// read is how far each shard was read, by name in the plan, of those that this worker reads.
	read map[dataflow.SourceID]protocol.Frontier
	// readings are those of this collection alone.
	readings []*reading
	// dependents are the dataflows that read the index.
	dependents []dependent

	// log is which log it is, of one that no dataflow computes, and logged the rows that it holds.
	log    protocol.Log
	logged []dataflow.Row

	scheduled, begun bool
	// allowed is how far it may be compacted.
	allowed protocol.Frontier
	// refused are what can't be read any more, as functions that try again.
	refused []func()

	life  context.Context
	end   context.CancelFunc
	tasks int // that have not ended

	told    protocol.Frontiers // what the present connection was told last
	toldAny bool
	// toldBy is the connection on which the collection was dropped, and that its end is told on.
	toldBy  *connection
	stopped bool
	ended   bool
}

type dependent struct {
	c    *collection
	name dataflow.SourceID
}

// render sets a dataflow up. It reads no shard before it is scheduled, but other indexes at once, so
// that they may be compacted.
func render(w *worker, generation uint64, d *protocol.Dataflow) *collection {
	c := &collection{
		w: w, generation: generation, desc: d, read: map[dataflow.SourceID]protocol.Frontier{}, allowed: d.AsOf,
	}
	c.life, c.end = host.WithCancel(w.h, w.life)
	c.partition()
	switch schema := c.last().Schema; d.Sink.Kind {
	case protocol.Index:
		var err error
		if c.index, err = dataflow.NewArrangement(schema, d.Sink.Key, timeOf(d.AsOf)); err != nil {
			panic(fmt.Sprintf("compute: index %v, which its controller has checked: %v", d.ID, err))
		}
		c.router = dataflow.NewRouter(schema, d.Sink.Key, len(w.p.workers))
	case protocol.Shard:
		if w.writesTo(d.ID) {
			c.sink = newSink(c)
		}
	case protocol.Subscribe:
		c.subscribe = &subscribe{c: c}
	}
	for _, s := range d.Shards {
		if w.reads(s.Shard) {
			c.read[s.Name] = protocol.Frontier{}
		}
	}
	for _, i := range d.Indexes {
		c.importIndex(i)
	}
	return c
}

// importIndex feeds the dataflow from an index of the replica.
func (c *collection) importIndex(i protocol.IndexImport) {
	from := c.w.find(i.ID)
	if from == nil || from.index == nil {
		panic(fmt.Sprintf("compute: dataflow %v reads index %v, which is not there", c.desc.ID, i.ID))
	}
	out, err := from.index.From(timeOf(c.desc.AsOf))
	var refused *dataflow.ReadError
	if errors.As(err, &refused) {
		c.refuse(i.ID.String(), refused.Since, func() { c.importIndex(i) })
		return
	}
	c.feed(i.Name, c.w.number, out)
	from.dependents = append(from.dependents, dependent{c, i.Name})
}

// refuse notes that something can't be read as of the dataflow's AsOf. Again is for a later one.
func (c *collection) refuse(from string, since protocol.Frontier, again func()) {
	c.refused = append(c.refused, again)
	c.w.p.refused(c.generation)
	asOf := timeOf(c.desc.AsOf)
	c.w.h.Logf("compute: dataflow %v stands still: cannot read %s as of %d, its since is %v", c.desc.ID, from, asOf, since)
	c.w.observe(ReadRefused{Epoch: c.w.epoch(), ID: c.desc.ID, From: from, AsOf: asOf, Since: since})
}

// schedule lets the dataflow run, and read.
func (c *collection) schedule() {
	c.scheduled = true
	c.begin()
}

// begin begins to read, once.
func (c *collection) begin() {
	if c.begun || !c.scheduled || len(c.refused) > 0 {
		return
	}
	c.begun = true
	for _, s := range c.desc.Shards {
		if c.w.reads(s.Shard) {
			c.follow(s)
		}
	}
	if c.sink != nil {
		c.start("compute follow sink "+string(c.sink.shard), c.sink.follow)
	}
}

// start starts a task of the collection, without which it has not ended.
func (c *collection) start(name string, fn func()) {
	c.tasks++
	c.w.h.Go(name, func() {
		fn()
		c.w.post(func(*worker) { c.finished() })
	})
}

// finished notes the end of a task.
func (c *collection) finished() {
	c.tasks--
	c.maybeEnded()
}

// post makes the worker do something for the collection, unless it was stopped by then.
func (c *collection) post(fn func()) {
	c.w.post(func(*worker) {
		if !c.stopped {
			fn()
		}
	})
}

// compact forgets history that nobody may ask for: pending peeks hold it back.
func (c *collection) compact() {
	if c.index == nil {
		return
	}
	to := c.allowed
	for _, p := range c.w.peeks {
		if p.target == c {
			to = to.Meet(persist.At(p.cmd.Timestamp))
		}
	}
	c.index.AllowCompaction(to)
}

// resume goes on with a dataflow as a new connection knows it, which has been told nothing of it.
func (c *collection) resume(d *protocol.Dataflow) {
	c.desc = d
	c.told, c.toldAny = protocol.Frontiers{}, false
	c.allowed = c.allowed.Join(d.AsOf)
	c.compact()
	// Something was refused just when it was decided that the dataflow goes on.
	again := c.refused
	c.refused = nil
	c.w.h.Sometimes("compute: a retained dataflow had to begin later", len(again) > 0)
	for _, try := range again {
		try()
	}
	c.begin()
}

// stop ends the collection's work and tasks.
func (c *collection) stop() {
	c.stopped = true
	c.end()
	for _, r := range c.readings {
		r.end()
	}
	for _, s := range c.desc.Shards {
		c.leave(s.Shard)
	}
	for _, o := range c.w.collections {
		o.dependents = slices.DeleteFunc(o.dependents, func(d dependent) bool { return d.c == c })
	}
	for _, p := range c.w.peeks {
		if p.target == c {
			p.orphaned = true
		}
	}
}

// maybeEnded tells the controller of the end of a dropped collection once its tasks have ended.
func (c *collection) maybeEnded() {
	if !c.stopped || c.ended || c.tasks > 0 {
		return
	}
	c.ended = true
	if c.toldBy == nil || c.toldBy != c.w.conn {
		return // who dropped it is gone, or reconciliation did
	}
	done := persist.Empty()
	switch {
	case c.subscribe != nil:
		if !c.subscribe.upper.IsEmpty() {
			c.w.send(protocol.SubscribeResponse{ID: c.desc.ID, DroppedAt: &c.subscribe.upper})
		}
	case !c.toldAny || c.told.Write != done || c.told.Input != done || c.told.Output != done:
		c.w.send(protocol.Frontiers{ID: c.desc.ID, Write: done, Input: done, Output: done})
	}
}
