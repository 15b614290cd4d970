package replica

import (
	"slices"

	"github.com/simrun-dev/simrun/system/compute/protocol"
)

// reconcile makes the replica's state what a new connection's commands ask for, as if it began with
// nothing and did what they say, except that dataflows which are asked for and are there go on.
func (w *worker) reconcile(commands []protocol.Command) {
	for _, cmd := range commands {
		if create, ok := cmd.(protocol.CreateInstance); ok && w.instance != nil && create != *w.instance {
			w.h.Sometimes("compute: a replica was asked to be another instance", true)
			w.halt("the controller asks for another instance")
			return
		}
	}
	for _, p := range w.peeks { // the controller asks again for what it still wants
		p.end()
	}
	w.h.Sometimes("compute: a reconciliation forgot peeks", len(w.peeks) > 0)
	w.peeks = nil

	event := Reconciled{Epoch: w.epoch()}
	retained := w.retainable(commands)
	for _, c := range slices.Clone(w.collections) {
		id := c.desc.ID
		if retained[id] == nil {
			w.h.Sometimes("compute: a reconciliation dropped a dataflow", true)
			event.Dropped = append(event.Dropped, id)
			w.collections = slices.DeleteFunc(w.collections, func(o *collection) bool { return o == c })
			c.stop() // and nothing is told of it
		} else {
			w.h.Sometimes("compute: a reconciliation retained a dataflow", true)
			event.Retained = append(event.Retained, id)
		}
	}
	for _, c := range w.collections {
		c.resume(retained[c.desc.ID])
	}
	for _, cmd := range commands {
		if create, ok := cmd.(protocol.CreateDataflow); ok {
			if retained[create.Dataflow.ID] != nil {
				continue
			}
			event.Created = append(event.Created, create.Dataflow.ID)
		}
		w.execute(cmd)
	}
	w.observe(event)
}

// retainable are the dataflows that are asked for and can go on, by id.
func (w *worker) retainable(commands []protocol.Command) map[protocol.GlobalID]*protocol.Dataflow {
	retained := map[protocol.GlobalID]*protocol.Dataflow{}
	for _, cmd := range commands {
		create, ok := cmd.(protocol.CreateDataflow)
		if !ok {
			continue
		}
		d := create.Dataflow
		if c := w.find(d.ID); c != nil && c.serves(d) && importsAll(d, retained) {
			retained[d.ID] = d
		}
	}
	return retained
}

// serves tells whether the collection is what a dataflow asks for: the same, and readable from its AsOf on.
// A subscribe is not, since what it has sent is gone.
func (c *collection) serves(d *protocol.Dataflow) bool {
	return !c.stuck && c.subscribe == nil && !d.AsOf.Before(c.allowed) && c.desc.SameAs(d)
}

// importsAll tells whether all the indexes that a dataflow reads are retained themselves.
func importsAll(d *protocol.Dataflow, retained map[protocol.GlobalID]*protocol.Dataflow) bool {
	return !slices.ContainsFunc(d.Indexes, func(i protocol.IndexImport) bool { return retained[i.ID] == nil })
}

// resume goes on with a dataflow as a new connection knows it, which has been told nothing of it.
func (c *collection) resume(d *protocol.Dataflow) {
	c.desc = d
	c.told, c.toldAny = protocol.Frontiers{}, false
	c.allowed = c.allowed.Join(d.AsOf)
	c.compact()
	c.w.observe(Rendered{c.w.epoch(), d.ID, d.AsOf})
}
