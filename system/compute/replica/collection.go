package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// collection is a dataflow with its output.
type collection struct {
	w    *worker
	desc *protocol.Dataflow // with the AsOf that the present connection knows
	flow *dataflow.Dataflow

	// One of them is set, by the kind of sink.
	index     *dataflow.Arrangement
	sink      *sink
	subscribe *subscribe

	// read is how far each shard was read, by name in the plan.
	read map[dataflow.SourceID]protocol.Frontier
	// dependents are the dataflows that read the index.
	dependents []dependent

	scheduled bool
	// allowed is how far it may be compacted.
	allowed protocol.Frontier
	// stuck: what it reads can't be read any more.
	stuck bool

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
func render(w *worker, d *protocol.Dataflow) *collection {
	asOf := timeOf(d.AsOf)
	flow, err := dataflow.New(d.Plan, dataflow.Config{Sources: d.Catalog(), AsOf: asOf, Until: &d.Until})
	if err != nil {
		panic(fmt.Sprintf("compute: dataflow %v, which its controller has checked: %v", d.ID, err))
	}
	c := &collection{w: w, desc: d, flow: flow, read: map[dataflow.SourceID]protocol.Frontier{}, allowed: d.AsOf}
	c.life, c.end = host.WithCancel(w.h, w.life)
	switch d.Sink.Kind {
	case protocol.Index:
		if c.index, err = dataflow.NewArrangement(flow.Schema(), d.Sink.Key, asOf); err != nil {
			panic(fmt.Sprintf("compute: index %v, which its controller has checked: %v", d.ID, err))
		}
	case protocol.Shard:
		c.sink = newSink(c)
	case protocol.Subscribe:
		c.subscribe = &subscribe{c: c}
	}
	for _, s := range d.Shards {
		c.read[s.Name] = protocol.Frontier{}
	}
	for _, i := range d.Indexes {
		c.importIndex(i)
	}
	w.observe(Rendered{w.epoch(), d.ID, d.AsOf})
	return c
}

func timeOf(asOf protocol.Frontier) uint64 {
	t, ok := asOf.Time()
	if !ok {
		panic("compute: a dataflow as of []")
	}
	return t
}

func (w *worker) epoch() protocol.Epoch {
	if w.conn == nil {
		return protocol.Epoch{}
	}
	return w.conn.epoch
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
		c.refuse(i.ID.String(), refused.Since)
		return
	}
	c.feed(i.Name, out)
	from.dependents = append(from.dependents, dependent{c, i.Name})
}

// refuse notes that something can't be read as of the dataflow's AsOf.
func (c *collection) refuse(from string, since protocol.Frontier) {
	c.stuck = true
	asOf := timeOf(c.desc.AsOf)
	c.w.h.Logf("compute: dataflow %v stands still: cannot read %s as of %d, its since is %v", c.desc.ID, from, asOf, since)
	c.w.observe(ReadRefused{Epoch: c.w.epoch(), ID: c.desc.ID, From: from, AsOf: asOf, Since: since})
}

// feed pushes input into the dataflow.
func (c *collection) feed(name dataflow.SourceID, out dataflow.Output) {
	err := errors.Join(
		c.flow.Push(name, out.Updates),
		c.flow.PushErrors(name, out.Errors),
		c.flow.Advance(name, out.Upper),
	)
	if err != nil {
		panic(fmt.Sprintf("compute: dataflow %v: %v", c.desc.ID, err))
	}
}

// schedule lets the dataflow run, and read.
func (c *collection) schedule() {
	if c.scheduled {
		return
	}
	c.scheduled = true
	if c.stuck {
		return
	}
	for _, s := range c.desc.Shards {
		c.follow(s)
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
		c.w.post(func(*worker) {
			c.tasks--
			c.maybeEnded()
		})
	})
}

// post makes the worker do something for the collection, unless it was stopped by then.
func (c *collection) post(fn func()) {
	c.w.post(func(*worker) {
		if !c.stopped {
			fn()
		}
	})
}

// step works off some input. It tells whether there is more to do.
func (c *collection) step(budget int) (more bool) {
	if !c.scheduled || !c.flow.Pending() {
		return false
	}
	more = c.flow.Step(budget)
	c.w.h.Sometimes("compute: a dataflow's work took several turns", more)
	out := c.flow.Take()
	if out.Lower == out.Upper {
		return more
	}
	switch {
	case c.index != nil:
		if err := c.index.Apply(out); err != nil {
			panic("compute: " + err.Error())
		}
		for _, d := range c.dependents {
			d.c.feed(d.name, out)
		}
	case c.sink != nil:
		c.sink.desire(out)
	default:
		c.subscribe.emit(out)
	}
	return more
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

// stop ends the collection's work and tasks.
func (c *collection) stop() {
	c.stopped = true
	c.end()
	for _, o := range c.w.collections {
		o.forgetDependent(c)
	}
	for _, p := range c.w.peeks {
		if p.target == c {
			p.orphaned = true
		}
	}
}

func (c *collection) forgetDependent(of *collection) {
	for i := 0; i < len(c.dependents); i++ {
		if c.dependents[i].c == of {
			c.dependents = append(c.dependents[:i], c.dependents[i+1:]...)
			i--
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
