package replica

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// reading is a task that reads a shard: its contents as of a time, and then what changes. It begins for one
// dataflow. Once it has caught up with what is there, dataflows that read the same shard share one, since it is the
// waiting and fetching that costs.
type reading struct {
	w     *worker
	shard persist.ShardID
	// life is longer than that of a collection: others may share it.
	life context.Context
	end  context.CancelFunc
	// c is the collection that counts the task among its own; nil of one that is shared.
	c *collection

	// upper is how far the members of a shared one are fed.
	upper   protocol.Frontier
	members []*member
}

// member is a dataflow that is fed from a shared reading.
type member struct {
	c    *collection
	name dataflow.SourceID
	// upper is how far it was fed, perhaps farther than the reading has come.
	upper protocol.Frontier
}

// follow reads a shard for the dataflow.
func (c *collection) follow(s protocol.ShardImport) {
	r := &reading{w: c.w, shard: s.Shard, c: c}
	r.life, r.end = host.WithCancel(c.w.h, c.w.life)
	c.readings = append(c.readings, r)
	c.tasks++
	asOf := timeOf(c.desc.AsOf)
	c.w.h.Go("compute read "+string(s.Shard), func() {
		late := c.w.h.Buggify("compute/slow hydration")
		c.w.h.Sometimes("compute: a dataflow begins to read late", late)
		if late {
			c.w.h.Clock().Sleep(time.Duration(c.w.h.Rand().IntN(3000)) * time.Millisecond)
		}
		err := listen(r.life, c.w, s.Shard, func(persist.Frontier) (uint64, bool) { return asOf, true }, func(e persist.Event) {
			if c.w.p.pressure.wait(r.life) == nil { // else there is nothing more to come
				c.w.hand(bytesRead(e), func(*worker) { r.take(s.Name, e) })
			}
		})
		c.w.post(func(*worker) { r.ended(s, asOf, err) })
	})
}

// take hands on what was read.
func (r *reading) take(name dataflow.SourceID, e persist.Event) {
	switch {
	case r.life.Err() != nil:
	case r.c != nil:
		r.c.input(name, e)
		if !e.Snapshot { // of the contents' own time there is nothing more to come
			r.share(name, e.Progress)
		}
	default:
		r.upper = e.Progress
		for _, m := range r.members {
			m.feed(e)
		}
	}
}

// share lets the collection be fed from the shared reading, if it is no farther than that; if there is none, its
// own becomes the shared one.
func (r *reading) share(name dataflow.SourceID, upper protocol.Frontier) {
	shared := r.w.shared[r.shard]
	if shared != nil && upper.Before(shared.upper) {
		return // there is more to be read up to where the others are
	}
	c := r.c
	c.readings = slices.DeleteFunc(c.readings, func(o *reading) bool { return o == r })
	m := &member{c, name, upper}
	if shared != nil {
		r.w.h.Sometimes("compute: a dataflow came to share the reading of a shard", true)
		shared.members = append(shared.members, m)
		r.end() // the task ends, and then c is told so
		return
	}
	r.c, r.upper, r.members = nil, upper, []*member{m}
	r.w.shared[r.shard] = r
	c.tasks--
}

// feed feeds a member what it does not have yet.
func (m *member) feed(e persist.Event) {
	if !m.upper.Before(e.Progress) {
		return
	}
	e.Updates = slices.DeleteFunc(slices.Clone(e.Updates), func(u persist.Update) bool { return !m.upper.LessEqual(u.Time) })
	m.upper = e.Progress
	m.c.input(m.name, e)
}

// leave ends what a collection has of the shared reading of a shard. Nobody's goes on no longer.
func (c *collection) leave(shard persist.ShardID) {
	r := c.w.shared[shard]
	if r == nil || !slices.ContainsFunc(r.members, func(m *member) bool { return m.c == c }) {
		return
	}
	r.members = slices.DeleteFunc(r.members, func(m *member) bool { return m.c == c })
	if len(r.members) == 0 {
		delete(c.w.shared, shard)
		r.c = c
		c.tasks++
		r.end()
	}
}

// ended is the end of a reading.
func (r *reading) ended(s protocol.ShardImport, asOf uint64, err error) {
	var since *persist.SinceError
	switch {
	case r.life.Err() != nil:
	case r.c != nil && errors.As(err, &since):
		r.c.tooLate(s, asOf, since.Since)
	case err != nil:
		r.w.lost(r.life, r.shard, err)
	case r.c == nil:
		delete(r.w.shared, r.shard) // the shard is closed, and all of it was read
	}
	if r.c != nil {
		r.c.readings = slices.DeleteFunc(r.c.readings, func(o *reading) bool { return o == r })
		r.c.finished()
	}
}

// tooLate is called when a shard could not be read as of a time any more. If a new connection asks for a
// later AsOf meanwhile, reading begins there: what the dataflow computes of earlier times nobody sees.
func (c *collection) tooLate(s protocol.ShardImport, asOf uint64, since protocol.Frontier) {
	if asOf < timeOf(c.desc.AsOf) {
		c.w.h.Sometimes("compute: a retained dataflow had to begin later", true)
		c.follow(s)
		return
	}
	c.refuse(string(s.Shard), since, func() { c.follow(s) })
}

// listen subscribes to a shard as of the time that from tells, given the since, and hands on what it emits,
// until the shard is closed or an error comes. If from tells none there is nothing to listen to.
func listen(ctx context.Context, w *worker, shard persist.ShardID, from func(since persist.Frontier) (uint64, bool), emit func(persist.Event)) error {
	reader, err := w.p.s.cfg.Persist.OpenReader(ctx, shard)
	if err != nil {
		return err
	}
	asOf, ok := from(reader.Since())
	if !ok {
		reader.Close()
		return nil
	}
	listener, err := reader.Subscribe(ctx, asOf)
	if err != nil {
		reader.Close()
		return err
	}
	defer listener.Close()
	for {
		e, err := listener.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		emit(e)
	}
}

// lost is called when a shard can't be followed any more for a reason that does not lie in its history: a
// lease that ran out while the process stood still, or damage. Starting from nothing mends the first, and a
// controller that sees the replica come back again and again knows of the second.
func (w *worker) lost(life context.Context, shard persist.ShardID, err error) {
	w.h.Logf("compute: shard %s can't be read on: %v", shard, err)
	w.after(retry, func(w *worker) {
		if life.Err() == nil {
			w.p.halt(w.life, "shard "+string(shard)+" can't be read on")
		}
	})
}

// input takes what a shard has emitted.
func (c *collection) input(name dataflow.SourceID, e persist.Event) {
	rows, errs := dataflow.FromShard(e.Updates)
	c.feed(name, 0, dataflow.Output{Updates: rows, Errors: errs, Upper: e.Progress})
	c.read[name] = e.Progress
}
