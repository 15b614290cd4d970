package replica

import (
	"context"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/host"
)

// worker has the replica's state and does its work, in one task.
type worker struct {
	s     *Server
	h     host.Host
	inbox *host.Chan[func(*worker)]

	conn     *connection // the one that counts; nil when it has ended
	instance *protocol.CreateInstance
	budget   int
	params   protocol.Parameters
	writes   bool // allowed

	// collections are those that were not dropped, in the order of their creation.
	collections []*collection
	peeks       []*peek // not answered, in the order of their arrival

	// life is until everything is forgotten.
	life      context.Context
	end       context.CancelFunc
	reporting bool // a report is due
}

func newWorker(s *Server) *worker {
	w := &worker{s: s, h: s.h, inbox: host.NewChan[func(*worker)](s.h, "compute inbox", host.Unbounded)}
	w.forget()
	return w
}

// post makes the worker do something.
func (w *worker) post(fn func(*worker)) { w.inbox.Send(fn) }

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

func (w *worker) observe(e Event) { w.s.cfg.Observer.Observe(e) }

// run does what is in the inbox and a bit of each dataflow's work, by turns.
func (w *worker) run() {
	defer func() { w.end() }()
	for {
		for {
			fn, _, ready := w.inbox.TryRecv()
			if !ready {
				break
			}
			fn(w)
		}
		busy := w.step()
		w.answerPeeks()
		w.reportSoon()
		switch {
		case w.s.life.Err() != nil:
			return
		case busy && w.h.Buggify("compute/slow worker"):
			w.h.Clock().Sleep(time.Duration(w.h.Rand().IntN(2000)) * time.Microsecond)
		case !busy:
			fn, _, err := w.inbox.RecvContext(w.s.life)
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

// connect makes a connection the one that counts. What it does not know of goes on meanwhile.
func (w *worker) connect(c *connection, timely protocol.CreateTimely) {
	w.conn = c
	w.budget = defaultBudget
	if timely.Config.Budget > 0 {
		w.budget = timely.Config.Budget
	}
}

// disconnect notices the end of a connection. Commands that were collected are of no use: what they
// would have said is not known.
func (w *worker) disconnect(c *connection) {
	if w.conn != c {
		return
	}
	w.h.Sometimes("compute: a connection ended in the middle of its initialisation", !c.initialized)
	w.conn = nil
}

// command does what a controller asks for.
func (w *worker) command(c *connection, cmd protocol.Command) {
	if w.conn != c {
		w.h.Sometimes("compute: a replica ignored a command of an older connection", true)
		return
	}
	if c.initialized {
		w.execute(cmd)
		return
	}
	if _, ok := cmd.(protocol.InitializationComplete); !ok {
		c.collected = append(c.collected, cmd)
		return
	}
	c.initialized = true
	w.reconcile(c.collected)
	c.collected = nil
}

func (w *worker) execute(cmd protocol.Command) {
	switch cmd := cmd.(type) {
	case protocol.CreateInstance:
		w.create(cmd)
	case protocol.UpdateConfiguration:
		w.params = w.params.Merge(cmd.Parameters)
	case protocol.AllowWrites:
		w.allowWrites()
	case protocol.CreateDataflow:
		w.collections = append(w.collections, render(w, cmd.Dataflow))
	case protocol.Schedule:
		if c := w.find(cmd.ID); c != nil {
			c.schedule()
		}
	case protocol.AllowCompaction:
		w.allowCompaction(cmd.ID, cmd.Frontier)
	case protocol.Peek:
		w.peek(cmd)
	case protocol.CancelPeek:
		w.cancelPeek(cmd.ID)
	default:
		w.h.Logf("compute: the controller sends %T out of turn, and is heard no more", cmd)
		w.s.disconnect()
	}
}

// create sets up what the connection wants to be told, and the end of the replica's life.
func (w *worker) create(cmd protocol.CreateInstance) {
	if w.instance == nil && cmd.Expiration > 0 {
		w.after(cmd.Expiration, func(w *worker) {
			w.h.Sometimes("compute: a replica has come to its expiration", true)
			w.halt("its expiration has come")
		})
	}
	w.instance = &cmd
	if cmd.Logging.Interval > 0 {
		w.logStatus(w.conn, cmd.Logging.Interval)
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
	for _, c := range w.collections {
		if c.desc.ID == id {
			return c
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

// send tells the controller something, if it listens.
func (w *worker) send(r protocol.Response) {
	if w.conn == nil || !w.conn.initialized {
		return
	}
	w.observe(Sent{w.conn.epoch, r})
	w.conn.responses.Send(r)
}

// halt forgets everything, as if the process had been started anew, and makes the controller come back.
func (w *worker) halt(reason string) {
	w.h.Logf("compute: the replica starts from nothing: %s", reason)
	w.observe(Halted{reason})
	w.forget()
	w.s.disconnect()
}

func (w *worker) forget() {
	for _, c := range w.collections {
		c.stop()
	}
	for _, p := range w.peeks {
		p.end()
	}
	if w.end != nil {
		w.end()
	}
	w.life, w.end = host.WithCancel(w.h, w.s.life)
	w.conn, w.instance, w.writes, w.params, w.budget = nil, nil, false, defaults, defaultBudget
	w.collections, w.peeks = nil, nil
}
