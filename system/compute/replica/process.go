package replica

import (
	"context"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/host"
)

// process is what the workers of a replica have in common: the connection that counts, what it has asked for, and
// what has become of it. It decides, and has the workers do it: all commands reach all of them in one order. Its
// methods may be called by any task.
type process struct {
	s       *Server
	h       host.Host
	workers []*worker
	// pressure is what waits for the workers.
	pressure *pressure

	mu       *host.Mutex
	highest  protocol.Epoch // of all connections that were accepted
	conn     *connection    // the one that counts; nil when it has ended
	instance *protocol.CreateInstance
	params   protocol.Parameters
	// parts makes one of what the workers answer on the connection.
	parts *protocol.PartitionedState
	// peeks are those that were not answered.
	peeks map[protocol.PeekID]protocol.Peek
	// flows are the dataflows that run, in the order of their creation.
	flows []*flow
	// generation is that of the latest dataflow.
	generation uint64

	// life is until everything is forgotten.
	life context.Context
	end  context.CancelFunc
}

// flow is a dataflow that the workers run.
type flow struct {
	desc *protocol.Dataflow // with the AsOf that the present connection knows
	// generation tells dataflows of one id apart. It grows, so that workers know what they are still to be told of.
	generation uint64
	// allowed is how far it may be compacted.
	allowed protocol.Frontier
	// stuck: what it reads can't be read any more, as some worker has found.
	stuck bool
}

func newProcess(s *Server, workers int) *process {
	p := &process{s: s, h: s.h, mu: host.NewMutex(s.h, "compute process"), params: defaults, pressure: newPressure(s.h, s.cfg.InputBacklog)}
	p.life, p.end = host.WithCancel(s.h, s.life)
	for i := range workers {
		p.workers = append(p.workers, newWorker(p, i))
	}
	return p
}

// broadcast has all workers do something, each after what they are to do already. The lock is held.
func (p *process) broadcast(fn func(*worker)) {
	for _, w := range p.workers {
		p.post(w, "compute/a worker is told late", fn)
	}
}

// post has a worker do something. Others that were told may be ahead of it.
func (p *process) post(w *worker, late string, fn func(*worker)) {
	if w.number > 0 && p.h.Buggify(late) {
		p.h.Clock().Sleep(time.Duration(p.h.Rand().IntN(10)) * time.Millisecond)
	}
	w.post(fn)
}

// after does something later, unless everything is forgotten by then. The lock is held.
func (p *process) after(d time.Duration, fn func()) {
	life := p.life
	p.h.Go("compute timer", func() {
		p.h.Clock().Sleep(d)
		if life.Err() == nil {
			fn()
		}
	})
}

// admit makes a connection the one that counts, in place of the one before, if its epoch is higher than all so
// far. What it does not know of goes on meanwhile.
func (p *process) admit(c *connection, timely protocol.CreateTimely) *protocol.StaleEpoch {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.epoch.Compare(p.highest) <= 0 {
		p.s.cfg.Observer.Observe(Refused{c.epoch, p.highest})
		return &protocol.StaleEpoch{Epoch: c.epoch, Seen: p.highest}
	}
	p.drop()
	p.highest, p.conn = c.epoch, c
	p.s.cfg.Observer.Observe(Accepted{c.epoch})
	p.parts, p.peeks = protocol.NewPartitionedState(len(p.workers)), map[protocol.PeekID]protocol.Peek{}
	budget := defaultBudget
	if timely.Config.Budget > 0 {
		budget = timely.Config.Budget
	}
	p.broadcast(func(w *worker) { w.budget = budget })
	return nil
}

// drop ends the connection that counts, if there is one. The lock is held.
func (p *process) drop() {
	if p.conn != nil {
		p.conn.end()
	}
	p.conn = nil
}

// disconnect notices the end of a connection. Commands that were collected are of no use: what they
// would have said is not known.
func (p *process) disconnect(c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != c {
		return
	}
	p.h.Sometimes("compute: a connection ended in the middle of its initialisation", !c.initialized)
	p.conn = nil
	p.broadcast(func(w *worker) { w.disconnect(c) })
}

// command does what a controller asks for.
func (p *process) command(c *connection, cmd protocol.Command) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != c {
		p.h.Sometimes("compute: a replica ignored a command of an older connection", true)
		return
	}
	if c.initialized {
		p.execute(cmd)
		return
	}
	if _, ok := cmd.(protocol.InitializationComplete); !ok {
		c.collected = append(c.collected, cmd)
		return
	}
	c.initialized = true
	p.reconcile(c.collected)
	c.collected = nil
}

// execute has the workers do a command. The lock is held.
func (p *process) execute(cmd protocol.Command) {
	switch cmd := cmd.(type) {
	case protocol.CreateInstance:
		p.create(cmd)
	case protocol.UpdateConfiguration:
		p.params = p.params.Merge(cmd.Parameters)
		params := p.params
		p.broadcast(func(w *worker) { w.params = params })
	case protocol.AllowWrites:
		p.broadcast(func(w *worker) { w.allowWrites() })
	case protocol.CreateDataflow:
		p.generation++
		f := &flow{desc: cmd.Dataflow, generation: p.generation, allowed: cmd.Dataflow.AsOf}
		p.flows = append(p.flows, f)
		p.rendered(f)
		generation, desc := f.generation, f.desc
		for _, w := range p.workers {
			p.post(w, "compute/a worker learns of a dataflow late", func(w *worker) { w.render(generation, desc) })
		}
	case protocol.Schedule:
		if f := p.find(cmd.ID); f != nil {
			p.s.cfg.Observer.Observe(Scheduled{p.conn.epoch, cmd.ID, f.desc.Transient})
			p.broadcast(func(w *worker) { w.schedule(cmd.ID) })
		}
	case protocol.AllowCompaction:
		p.allowCompaction(cmd.ID, cmd.Frontier)
	case protocol.Peek:
		p.peeks[cmd.ID] = cmd
		p.split(cmd, func(w *worker) { w.peek(cmd) })
	case protocol.CancelPeek:
		_, waits := p.peeks[cmd.ID]
		p.h.Sometimes("compute: a peek was cancelled after it was answered", !waits)
		p.split(cmd, func(w *worker) { w.cancelPeek(cmd.ID) })
	default:
		p.h.Logf("compute: the controller sends %T out of turn, and is heard no more", cmd)
		p.conn.end()
	}
}

// split has those workers do something that have a part in a command.
func (p *process) split(cmd protocol.Command, fn func(*worker)) {
	for i, part := range p.parts.Split(cmd) {
		if part != nil {
			p.post(p.workers[i], "compute/a worker is asked late", fn)
		}
	}
}

// create sets up what the connection wants to be told, and the end of the replica's life.
func (p *process) create(cmd protocol.CreateInstance) {
	if p.instance == nil && cmd.Expiration > 0 {
		life := p.life
		p.after(cmd.Expiration, func() {
			p.h.Sometimes("compute: a replica has come to its expiration", true)
			p.halt(life, "its expiration has come")
		})
	}
	first := p.instance == nil
	p.instance = &cmd
	if cmd.Logging.Interval > 0 {
		if first {
			p.broadcast(func(w *worker) { w.startLogs(cmd.Logging.Interval) })
		}
		c := p.conn
		p.broadcast(func(w *worker) { w.logStatus(c, cmd.Logging.Interval) })
	}
}

func (p *process) rendered(f *flow) {
	p.s.cfg.Observer.Observe(Rendered{p.conn.epoch, f.desc.ID, f.desc.AsOf})
}

func (p *process) find(id protocol.GlobalID) *flow {
	for _, f := range p.flows {
		if f.desc.ID == id {
			return f
		}
	}
	return nil
}

func (p *process) allowCompaction(id protocol.GlobalID, to protocol.Frontier) {
	f := p.find(id)
	if f == nil {
		return
	}
	f.allowed = f.allowed.Join(to)
	if to.IsEmpty() {
		p.s.cfg.Observer.Observe(Discarded{p.conn.epoch, id})
		p.flows = slices.DeleteFunc(p.flows, func(o *flow) bool { return o == f })
	}
	p.broadcast(func(w *worker) { w.allowCompaction(id, to) })
}

// refused notes that a dataflow stands still on some worker.
func (p *process) refused(generation uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.flows {
		f.stuck = f.stuck || f.generation == generation
	}
}

// answer takes what a worker answers on a connection, and tells the controller once all have.
func (p *process) answer(part int, c *connection, r protocol.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c == nil || p.conn != c || c.givenUp {
		return
	}
	whole, err := p.parts.Absorb(part, r)
	p.h.Always("compute: workers answer what they were asked", err == nil, "%v", err)
	if whole == nil {
		return
	}
	switch r := whole.(type) {
	case protocol.PeekResponse:
		cmd := p.peeks[r.ID]
		delete(p.peeks, r.ID)
		whole = finish(cmd, r, p.params.MaxResultSize)
	case protocol.SubscribeResponse:
		r, wanted := c.subscribed(r, p.params.MaxBatchSize)
		if !wanted {
			return
		}
		whole = r
	}
	if c.admits(p.h, whole) {
		p.s.cfg.Observer.Observe(Sent{c.epoch, whole})
		c.send(whole)
	}
}

// relieved has the workers look whether peeks can be answered.
func (p *process) relieved() {
	for _, w := range p.workers {
		w.post(func(*worker) {})
	}
}

// halt forgets everything, as if the process had been started anew, and makes the controller come back. It
// does nothing if that has been done since life began.
func (p *process) halt(life context.Context, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life == life {
		p.forget(reason)
	}
}

// forget is halt with the lock held.
func (p *process) forget(reason string) {
	p.h.Logf("compute: the replica starts from nothing: %s", reason)
	p.s.cfg.Observer.Observe(Halted{reason})
	p.end()
	p.life, p.end = host.WithCancel(p.h, p.s.life)
	p.instance, p.params, p.flows, p.peeks = nil, defaults, nil, nil
	life := p.life
	p.broadcast(func(w *worker) { w.forget(life) })
	p.drop()
}
