package replica

import (
	"slices"

	"github.com/simrun-dev/simrun/system/compute/protocol"
)

// reconcile makes the replica's state what a new connection's commands ask for, as if it began with
// nothing and did what they say, except that dataflows which are asked for and are there go on. That is decided
// once for all workers, as they may know different things. The lock is held.
func (p *process) reconcile(commands []protocol.Command) {
	for _, cmd := range commands {
		if create, ok := cmd.(protocol.CreateInstance); ok && p.instance != nil && create != *p.instance {
			p.h.Sometimes("compute: a replica was asked to be another instance", true)
			p.forget("the controller asks for another instance")
			return
		}
	}
	p.params = defaults // those of the controller before are not this one's
	event := Reconciled{Epoch: p.conn.epoch}
	retained := p.retainable(commands)
	p.flows = slices.DeleteFunc(p.flows, func(f *flow) bool {
		id := f.desc.ID
		if retained[id] == nil {
			p.h.Sometimes("compute: a reconciliation dropped a dataflow", true)
			event.Dropped = append(event.Dropped, id)
			return true
		}
		p.h.Sometimes("compute: a reconciliation retained a dataflow", true)
		event.Retained = append(event.Retained, id)
		f.desc, f.allowed = retained[id], f.allowed.Join(retained[id].AsOf)
		p.rendered(f)
		return false
	})
	c := p.conn
	p.broadcast(func(w *worker) { w.reconcile(c, retained) })
	for _, cmd := range commands {
		if create, ok := cmd.(protocol.CreateDataflow); ok {
			if retained[create.Dataflow.ID] != nil {
				continue
			}
			event.Created = append(event.Created, create.Dataflow.ID)
		}
		p.execute(cmd)
	}
	p.s.cfg.Observer.Observe(event)
}

// retainable are the dataflows that are asked for and can go on, by id.
func (p *process) retainable(commands []protocol.Command) map[protocol.GlobalID]*protocol.Dataflow {
	retained := map[protocol.GlobalID]*protocol.Dataflow{}
	for _, cmd := range commands {
		create, ok := cmd.(protocol.CreateDataflow)
		if !ok {
			continue
		}
		d := create.Dataflow
		if f := p.find(d.ID); f != nil && f.serves(d) && importsAll(d, retained) {
			retained[d.ID] = d
		}
	}
	return retained
}

// serves tells whether the dataflow is what another asks for: the same, and readable from its AsOf on.
// A subscribe is not, since what it has sent is gone.
func (f *flow) serves(d *protocol.Dataflow) bool {
	return !f.stuck && f.desc.Sink.Kind != protocol.Subscribe && !d.AsOf.Before(f.allowed) && f.desc.SameAs(d)
}

// importsAll tells whether all the indexes that a dataflow reads are retained themselves.
func importsAll(d *protocol.Dataflow, retained map[protocol.GlobalID]*protocol.Dataflow) bool {
	return !slices.ContainsFunc(d.Indexes, func(i protocol.IndexImport) bool { return retained[i.ID] == nil })
}

// reconcile has a worker serve a new connection, and go on with those of its collections that are retained.
func (w *worker) reconcile(conn *connection, retained map[protocol.GlobalID]*protocol.Dataflow) {
	w.conn, w.params = conn, defaults
	for _, p := range w.peeks { // the controller asks again for what it still wants
		p.end()
	}
	w.h.Sometimes("compute: a reconciliation forgot peeks", len(w.peeks) > 0)
	w.peeks = nil
	for _, c := range slices.Clone(w.collections) {
		if retained[c.desc.ID] == nil {
			w.collections = slices.DeleteFunc(w.collections, func(o *collection) bool { return o == c })
			c.stop() // and nothing is told of it
		}
	}
	for _, c := range w.collections {
		c.resume(retained[c.desc.ID])
	}
	for _, c := range w.logs {
		c.told, c.toldAny = protocol.Frontiers{}, false
	}
}

func (w *worker) epoch() protocol.Epoch {
	if w.conn == nil {
		return protocol.Epoch{}
	}
	return w.conn.epoch
}
