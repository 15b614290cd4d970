package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/simrun-dev/simrun/system/host"
)

// Node is a machine. It has a process while it is up.
type Node struct {
	w      *World
	name   string
	number uint32
	boot   func(host.Host)
	lives  uint64
	proc   *process // the present or the last one; nil before the first start
	time   timekeeper
	disk   *disk
	links  map[uint32]*link // to the node of that number, once used

	paused  bool
	stash   []int32 // events that came due while it was paused
	onCrash []func()
}

// NewNode adds a machine and starts its process: boot is run as the process's first task, now and
// at every restart. Names are unique and have no colon. A process goes on when boot returns, as long as its node is
// up.
func (w *World) NewNode(name string, boot func(host.Host)) *Node {
	if name == "" || strings.Contains(name, ":") {
		panic(fmt.Sprintf("sim: %q is no name for a node, since nobody could dial it: it must be a name without a colon", name))
	}
	if w.byName[name] != nil {
		panic(fmt.Sprintf("sim: there is a node named %q already", name))
	}
	n := w.addNode(name, boot)
	n.start()
	return n
}

func (w *World) addNode(name string, boot func(host.Host)) *Node {
	n := &Node{w: w, name: name, number: uint32(len(w.nodes)), boot: boot}
	n.disk = newDisk(n)
	w.nodes = append(w.nodes, n)
	w.byName[name] = n
	return n
}

// Node returns the node of that name, or nil.
func (w *World) Node(name string) *Node { return w.byName[name] }

// Nodes returns the machines in order of creation, without the world's own.
func (w *World) Nodes() []*Node { return w.nodes[1:] }

// Name is the node's name and its address.
func (n *Node) Name() string { return n.name }

// Up tells whether the node has a process.
func (n *Node) Up() bool { return n.proc != nil && !n.proc.dead }

// Paused tells whether the node is paused.
func (n *Node) Paused() bool { return n.paused }

// Incarnation counts the node's lives, from 1.
func (n *Node) Incarnation() uint64 { return n.lives }

// Host is the node's present process, or the last one.
func (n *Node) Host() host.Host { return n.proc }

func (n *Node) start() {
	n.lives++
	w := n.w
	p := &process{node: n, w: w, incarnation: n.lives}
	p.key = derive(deriveName(w.cfg.Seed, n.name), n.lives)
	p.timers.key = derive(p.key, 1)
	p.clock = newNodeClock(p)
	p.random = rand.New(w.NewStream("node", n.name, fmt.Sprint(n.lives)))
	n.proc = p
	w.emit(EventStart, n.number, n.lives, 0)
	if n.boot != nil {
		outer := w.cur
		w.setCurrent(nil) // the first task is nobody's child
		w.spawn(p, "main", func() { n.boot(p) })
		w.setCurrent(outer)
	}
}

// Crash kills the node's process: what it held in memory is gone, its tasks are unwound without
// effect, and of what it wrote but did not sync each write is kept, lost or torn. Its
// connections are reset: the machine goes on and tells the peers. It does nothing when the node
// is down.
func (n *Node) Crash() { n.kill(false, true) }

// PowerOff is Crash of the whole machine: its peers hear nothing.
func (n *Node) PowerOff() { n.kill(true, true) }

// Kill is Crash of the process alone, as by SIGKILL: its machine goes on and keeps what was written,
// synced or not. What was not synced, a Crash later may still lose. A process that starts anew and
// takes what it reads for durable is wrong.
func (n *Node) Kill() { n.kill(false, false) }

func (n *Node) kill(silent, disk bool) {
	if !n.Up() {
		return
	}
	if n == n.w.self {
		panic("sim: the world's own process can't be crashed")
	}
	w := n.w
	w.emit(EventCrash, n.number, n.lives, 0)
	// Dead first, so that nothing the process still does reaches the world; and in no task, so
	// that what follows isn't taken for something that the process does.
	n.proc.dead = true
	running := w.cur
	w.setCurrent(nil)
	w.net.processDied(n.proc, silent)
	n.proc.die(running)
	w.setCurrent(running)
	if disk {
		n.disk.crash()
	}
	if n.paused {
		n.Resume()
	}
	for _, fn := range n.onCrash {
		fn()
	}
}

// OnCrash makes fn be called, in no task, each time the node's process dies: for recorders that
// must know when it happened.
func (n *Node) OnCrash(fn func()) { n.onCrash = append(n.onCrash, fn) }

// Restart starts the node's process anew. It does nothing when the node is up.
func (n *Node) Restart() {
	if !n.Up() {
		n.start()
	}
}

// Pause stops the node's process where it is, as a long collection of garbage or a suspended
// virtual machine does: its time goes on, and messages wait.
func (n *Node) Pause() {
	if !n.paused && n.Up() && n != n.w.self {
		n.paused = true
		n.w.emit(EventPause, n.number, 0, 0)
	}
}

// Resume ends a pause: all that came due meanwhile happens now.
func (n *Node) Resume() {
	if !n.paused {
		return
	}
	n.paused = false
	n.w.emit(EventResume, n.number, 0, 0)
	for _, i := range n.stash {
		s := &n.w.slots[i]
		// Ranked again: whether an event was stashed must not depend on its old rank.
		n.w.ready.push(entry{0, uint64(n.w.rank(&n.proc.timers))<<32 | uint64(uint32(i))})
		s.at = n.w.now
	}
	n.stash = n.stash[:0]
}

// process is one life of a node's process: a host.Host.
type process struct {
	actor
	w           *World
	node        *Node
	incarnation uint64
	dead        bool
	timers      actor
	started     uint64 // tasks started by nobody
	tasks       struct{ first, last *task }
	clock       *nodeClock
	random      *rand.Rand
	listeners   map[string]*listener
	sockets     map[string]*socket
	conns       []*connEnd
}

func (p *process) link(t *task) {
	t.prev = p.tasks.last
	if t.prev == nil {
		p.tasks.first = t
	} else {
		t.prev.next = t
	}
	p.tasks.last = t
}

func (p *process) unlink(t *task) {
	if t.prev == nil {
		p.tasks.first = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		p.tasks.last = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
}

// die unwinds the process's tasks, but for the one that is running: that one is unwound when it
// next asks something of the world.
func (p *process) die(running *task) {
	p.dead = true
	for t := p.tasks.first; t != nil; {
		next := t.next
		if t != running {
			p.w.kill(t)
		}
		t = next
	}
}

func (p *process) Name() string        { return p.node.name }
func (p *process) Incarnation() uint64 { return p.incarnation }
func (p *process) Clock() clock.Clock  { return p.clock }
func (p *process) Rand() *rand.Rand    { return p.random }
func (p *process) Net() host.Net       { return (*nodeNet)(p) }
func (p *process) Disk() host.Disk     { return (*processDisk)(p) }

func (p *process) Go(name string, fn func()) {
	if p.ask() {
		p.w.spawn(p, name, fn)
	}
}

// ask is called first by everything that a process asks of the world. It is false when the
// process is dead and the call must do nothing.
func (p *process) ask() bool {
	p.w.checkAlive()
	return !p.dead
}

func (p *process) Logf(format string, args ...any) {
	if p.ask() {
		p.w.emitText(EventLog, p.node.number, fmt.Sprintf(format, args...))
	}
}

func (p *process) Note(key, value string) {
	if !p.ask() {
		return
	}
	p.w.emitNote(p.node.number, key, value)
}

func (p *process) Runtime() host.Runtime { return (*runtimeOf)(p.w) }

// runtimeOf is the world as what host's primitives wait with. It is the same for all processes:
// who waits is the running task.
type runtimeOf World

func (r *runtimeOf) Lock()   { (*World)(r).checkAlive() }
func (r *runtimeOf) Unlock() {}

func (r *runtimeOf) Parker() host.Parker {
	t := r.cur
	if t == nil {
		panic("sim: code outside tasks can't wait: start a task with Go")
	}
	t.token = false
	return t
}

const chooseStream = 0x63686f6f // the stream of a task's choices among ready cases

func (r *runtimeOf) Choose(n int) int {
	if r.cur == nil {
		return 0
	}
	t := r.cur
	t.chosen++
	return int(scale((*World)(r).choice(derive(t.key, chooseStream), t.chosen), uint64(n)))
}

func (r *runtimeOf) WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	c := newContext((*World)(r), parent)
	return c, func() { c.cancel(context.Canceled) }
}

func (r *runtimeOf) WatchDone(ctx context.Context, w host.Waker) host.Watch {
	c, direct := ctx.(*simContext)
	if !direct {
		if ctx.Done() == nil {
			return nil
		}
		c = contextOf(ctx)
	}
	if c == nil || !direct && c.Done() != ctx.Done() {
		panic(fmt.Sprintf("sim: a task can't wait for a context made by package context (%v): use host.WithCancel, or the clock's WithTimeout", ctx))
	}
	return c.watch(w)
}

func (r *runtimeOf) WatchTime(c <-chan time.Time, wake func()) (stop func()) {
	if r.cur == nil {
		panic("sim: code outside tasks can't wait: start a task with Go")
	}
	return r.cur.proc.clock.watch(c, wake)
}

func (r *runtimeOf) PollTime(c <-chan time.Time) (time.Time, bool) {
	if len(c) == 0 || r.cur == nil {
		return time.Time{}, false
	}
	return r.cur.proc.clock.receive(c)
}
