package replica

import (
	"context"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// worker does its share of the replica's work, in one task. What it has no other task touches.
type worker struct {
	p      *process
	number int
	h      host.Host
	inbox  *host.Chan[func(*worker)]

	// conn is the connection that has asked for what there is; nil when it has ended.
	conn   *connection
	budget int
	params protocol.Parameters
	writes bool // allowed

	// collections are those that were not dropped, in the order of their creation.
	collections []*collection
	logs        []*collection
	peeks       []*peek // not answered, in the order of their arrival
	// shared are the readings that several collections may be fed from.
	shared map[persist.ShardID]*reading
	// generation is that of the latest dataflow that was rendered. What other workers send for later ones waits.
	generation uint64
	early      map[uint64][]exchanged

	// taken is how many bytes of what was handed to the worker are not worked off yet.
	taken int64

	// life is until everything is forgotten.
	life      context.Context
	reporting bool // a report is due
}

// exchanged is a part of a dataflow's work that comes from a worker: for an input of a stage.
type exchanged struct {
	stage, input int
	from         int
	out          dataflow.Output
}

func newWorker(p *process, number int) *worker {
	w := &worker{
		p: p, number: number, h: p.h, inbox: host.NewChan[func(*worker)](p.h, "compute inbox", host.Unbounded),
		early: map[uint64][]exchanged{},
	}
	w.forget(p.life)
	return w
}

// post makes the worker do something.
func (w *worker) post(fn func(*worker)) { w.inbox.Send(fn) }

// hand makes the worker take something in, of so many bytes, that it has to work off.
func (w *worker) hand(bytes int64, fn func(*worker)) {
	w.p.pressure.add(bytes)
	w.post(func(w *worker) {
		w.taken += bytes
		fn(w)
	})
}

// after makes it do something later, unless it has forgotten everything by then.
func (w *worker) after(d time.Duration, fn func(*worker)) {
	life := w.life
	w.h.Go("compute timer", func() {
		w.h.Clock().Sleep(d)
		w.post(func(w *worker) {
			if w.life == life {
				fn(w)
			}
		})
	})
}

func (w *worker) observe(e Event) { w.p.s.cfg.Observer.Observe(e) }

// run does what is in the inbox and a bit of each dataflow's work, by turns.
func (w *worker) run() {
	for {
		for {
			fn, _, ready := w.inbox.TryRecv()
			if !ready {
				break
			}
			fn(w)
		}
		busy := w.step()
		if !busy && w.taken > 0 {
			w.p.pressure.sub(w.taken)
			w.taken = 0
		}
		w.answerPeeks()
		w.reportSoon()
		switch {
		case w.p.s.life.Err() != nil:
			return
		case busy && w.h.Buggify("compute/slow worker"):
			w.h.Clock().Sleep(time.Duration(w.h.Rand().IntN(2000)) * time.Microsecond)
		case !busy:
			fn, _, err := w.inbox.RecvContext(w.p.s.life)
			if err != nil {
				return
			}
			fn(w)
		}
	}
}

// step lets every dataflow do some work. It tells whether there is more.
func (w *worker) step() (busy bool) {
	for _, c := range w.collections {
		busy = c.step(w.budget) || busy
	}
	return busy
}

// render begins with a dataflow, and takes in what other workers have sent for it already.
func (w *worker) render(generation uint64, d *protocol.Dataflow) {
	w.generation = generation
	c := render(w, generation, d)
	w.collections = append(w.collections, c)
	early := w.early[generation]
	delete(w.early, generation)
	w.h.Sometimes("compute: a worker was sent rows of a dataflow that it did not know yet", len(early) > 0)
	for _, e := range early {
		c.receive(e)
	}
}

// exchange takes what another worker has sent.
func (w *worker) exchange(generation uint64, e exchanged) {
	if generation > w.generation {
		w.early[generation] = append(w.early[generation], e)
		return
	}
	for _, c := range w.collections {
		if c.generation == generation {
			c.receive(e)
		}
	}
}

// reads tells whether it is this worker that reads a shard.
func (w *worker) reads(shard persist.ShardID) bool {
	return xxh3.HashString(string(shard))%uint64(len(w.p.workers)) == uint64(w.number)
}

// writesTo tells whether it is this worker that writes a dataflow's shard.
func (w *worker) writesTo(id protocol.GlobalID) bool {
	return uint64(id)%uint64(len(w.p.workers)) == uint64(w.number)
}

func (w *worker) disconnect(c *connection) {
	if w.conn == c {
		w.conn = nil
	}
}

func (w *worker) schedule(id protocol.GlobalID) {
	if c := w.find(id); c != nil {
		c.schedule()
	}
}

func (w *worker) allowWrites() {
	w.writes = true
	for _, c := range w.collections {
		if c.sink != nil {
			c.sink.write()
		}
	}
}

func (w *worker) allowCompaction(id protocol.GlobalID, to protocol.Frontier) {
	c := w.find(id)
	switch {
	case c == nil:
	case to.IsEmpty():
		w.drop(c)
	default:
		c.allowed = c.allowed.Join(to)
		c.compact()
	}
}

func (w *worker) find(id protocol.GlobalID) *collection {
	for _, all := range [][]*collection{w.collections, w.logs} {
		for _, c := range all {
			if c.desc.ID == id {
				return c
			}
		}
	}
	return nil
}

// drop ends a collection. That it has ended is told once it surely reads nothing more.
func (w *worker) drop(c *collection) {
	w.collections = slices.DeleteFunc(w.collections, func(o *collection) bool { return o == c })
	c.toldBy = w.conn
	c.stop()
	c.maybeEnded()
}

// send answers the controller, if it listens.
func (w *worker) send(r protocol.Response) { w.p.answer(w.number, w.conn, r) }

// forget forgets everything.
func (w *worker) forget(life context.Context) {
	for _, c := range w.collections {
		c.stop()
	}
	for _, p := range w.peeks {
		p.end()
	}
	w.life = life
	w.conn, w.writes, w.params, w.budget = nil, false, defaults, defaultBudget
	w.collections, w.logs, w.peeks, w.shared = nil, nil, nil, map[persist.ShardID]*reading{}
}
