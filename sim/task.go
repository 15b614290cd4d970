package sim

import (
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/simrun-dev/simrun/system/host"
)

// task is blocking-style code run as a coroutine.
type task struct {
	actor
	w    *World
	proc *process
	id   uint32
	name string
	fn   func()
	co   *coroutine

	parked   bool
	token    bool // Unpark came before Park
	why      host.Wait
	since    int64
	cause    uint64 // the event that woke it
	chosen   uint64 // choices among ready cases so far
	children uint64

	prev, next *task // in the process's list, in order of start
}

// coroutine runs tasks, one after another. Switching to one by iter.Pull takes a quarter of the
// time of a hand-off between goroutines.
type coroutine struct {
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	task   *task
	done   bool // the task has ended
	killed bool
}

// unwound is what a killed coroutine's outermost deferred call panics with. It turns the
// Goexit, which unwinds the task and can't be recovered, into a panic, which the killer can:
// otherwise iter.Pull would make the killer exit as well.
type unwound struct{}

func (w *World) newCoroutine() *coroutine {
	c := &coroutine{}
	c.resume, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		growStack(0)
		defer func() {
			if c.killed {
				panic(unwound{})
			}
		}()
		for {
			w.runTask(c)
			c.task, c.done = nil, true
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return c
}

// stackRoom is how much stack, in bytes, tasks of a real system come to need, but for what the runtime adds
// to come to a power of two.
const stackRoom = 12 << 10

// growStack gives a new coroutine that much at once, while there is nothing on its stack to copy. Otherwise it
// would get there by doubling it again and again, with all that is on it: that was 7 % of a run.
//
//go:noinline
func growStack(i int) byte {
	var room [stackRoom]byte
	return room[i]
}

func (w *World) runTask(c *coroutine) {
	t := c.task
	finished := false
	defer func() {
		if finished || c.killed {
			return
		}
		if r := recover(); r != nil {
			w.taskPanicked(t, r, debug.Stack())
		}
		// Without a panic it is runtime.Goexit, called by testing's FailNow: let it reach Run.
	}()
	t.fn()
	finished = true
}

// spawn makes a task of the process, to run now.
func (w *World) spawn(p *process, name string, fn func()) *task {
	t := &task{w: w, proc: p, name: name, fn: fn, id: uint32(len(w.taskNames))}
	parent := uint64(0)
	if w.cur != nil {
		t.key = derive(deriveName(w.cur.key, name), w.cur.children)
		w.cur.children++
		parent = uint64(w.cur.id)
	} else {
		t.key = derive(deriveName(p.key, name), p.started)
		p.started++
	}
	w.taskNames = append(w.taskNames, taskName{name, p.node.number})
	p.link(t)
	w.liveTasks++
	w.emit(EventSpawn, t.id, parent, 0)
	w.wake(t)
	return t
}

// wake makes the task run, after what is ranked before it.
func (w *World) wake(t *task) {
	_, s := w.schedule(w.now, &t.actor, t.proc)
	s.task = t
	t.cause = w.trace.events
}

// enter is what happens before the task is switched to.
func (w *World) enter(t *task) {
	w.emitCaused(EventRun, t.id, 0, 0, t.cause)
	if t.co == nil {
		if n := len(w.idle); n > 0 {
			t.co, w.idle = w.idle[n-1], w.idle[:n-1]
		} else {
			t.co = w.newCoroutine()
		}
		t.co.task, t.co.done = t, false
	}
	w.cur = t // alive, or it would not be run
}

// leave is what happens when the task has parked or ended.
func (w *World) leave(t *task) {
	w.setCurrent(nil)
	t.proc.clock.touch()
	if t.proc.dead && !t.co.done {
		w.kill(t) // it crashed its own node
		return
	}
	if t.co.done {
		w.idle = append(w.idle, t.co)
		t.co = nil
		w.ended(t)
		w.emit(EventExit, t.id, 0, 0)
	}
}

func (w *World) ended(t *task) {
	t.fn = nil // where it waited last may still refer to the task, but not to what it did
	t.proc.unlink(t)
	w.liveTasks--
}

// Park implements host.Parker: a task waits as itself.
func (t *task) Park(why host.Wait) {
	w := t.w
	if w.cur != t {
		panic(fmt.Sprintf("sim: task %q parked by code outside it", t.name))
	}
	w.checkAlive()
	if t.token {
		t.token = false
		return
	}
	t.parked, t.why, t.since = true, why, w.now
	// The kernel has control until it resumes the task, or kills it.
	if !t.co.yield(struct{}{}) {
		runtime.Goexit()
	}
}

// Unpark implements host.Parker.
func (t *task) Unpark() {
	if t.proc.dead {
		return
	}
	if !t.parked {
		t.token = true
		return
	}
	t.parked = false
	t.w.wake(t)
}

// kill unwinds the task. Its process is dead already, so that its deferred calls do nothing.
func (w *World) kill(t *task) {
	w.ended(t)
	w.emit(EventKill, t.id, 0, 0)
	c := t.co
	if c == nil {
		return // it never ran
	}
	if t.parked {
		t.why.Abandon()
	}
	c.killed = true
	outer := w.cur
	w.setCurrent(t)
	defer func() {
		w.setCurrent(outer)
		if r := recover(); r != nil {
			if _, ok := r.(unwound); !ok {
				panic(r)
			}
		}
	}()
	c.stop()
}

// checkAlive ends the running task if its process has died: a deferred call of a task being
// unwound asks something of the world, or a task has crashed its own node and runs on.
func (w *World) checkAlive() {
	if w.dying {
		w.endRunning()
	}
}

func (w *World) endRunning() {
	if t := w.cur; !t.co.killed {
		t.co.yield(struct{}{}) // for leave to kill it
	}
	runtime.Goexit()
}

// setCurrent says which task runs, if any.
func (w *World) setCurrent(t *task) {
	w.cur = t
	w.dying = t != nil && t.proc.dead
}

func (w *World) taskPanicked(t *task, r any, stack []byte) {
	msg := fmt.Sprintf("task %s/%s panicked: %v (at %s)", t.proc.node.name, t.name, r, PanicSite())
	w.report(Failure{Oracle: "panic", Message: msg, Stack: string(stack)})
}

// PanicSite is where the program panicked, as function, file and line, without the folders of the
// machine it was built on. It is for deferred functions that recover.
func PanicSite() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	seen := false
	for {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			seen = seen || strings.HasSuffix(f.Function, "panic") || strings.HasSuffix(f.Function, "panicmem")
		case seen:
			return fmt.Sprintf("%s %s:%d", f.Function, filepath.Base(f.File), f.Line)
		}
		if !more {
			return "unknown place"
		}
	}
}
