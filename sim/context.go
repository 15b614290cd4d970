package sim

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// simContext is a context whose waiters are woken by the kernel. It has the AfterFunc method by
// which package context's own children hook in without starting a goroutine.
type simContext struct {
	w           *World
	parent      context.Context
	deadline    time.Time
	hasDeadline bool

	err   error
	done  chan struct{} // made when asked for
	first *contextHook  // whom to tell, in order
	last  *contextHook
	above *simContext // the parent, or the one that it was made from
	hook  contextHook // in above
	timer timer
}

// contextHook is a place in the line of those to be told that a context is done.
type contextHook struct {
	w          host.Waker
	of         *simContext // nil when it is not in line
	prev, next *contextHook
}

type contextKey struct{}

// contextOf is the nearest simContext that ctx is, or was made from.
func contextOf(ctx context.Context) *simContext {
	c, _ := ctx.Value(contextKey{}).(*simContext)
	return c
}

func newContext(w *World, parent context.Context) *simContext {
	c := &simContext{w: w, parent: parent}
	p, direct := parent.(*simContext)
	if !direct {
		if parent.Done() == nil {
			return c
		}
		p = contextOf(parent)
	}
	if err := parent.Err(); err != nil {
		c.cancel(err)
		return c
	}
	if p == nil || !direct && p.Done() != parent.Done() {
		panic("sim: the parent was made by package context: use host.WithCancel, or the clock's WithTimeout")
	}
	c.hook.w, c.above = c, p
	p.push(&c.hook)
	return c
}

// Wake implements host.Waker: the context above is done.
func (c *simContext) Wake() { c.cancel(c.above.err) }

func (c *simContext) Deadline() (time.Time, bool) {
	if c.hasDeadline {
		return c.deadline, true
	}
	return c.parent.Deadline()
}

var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (c *simContext) Done() <-chan struct{} {
	if c.done == nil {
		if c.err != nil {
			c.done = closedChan
		} else {
			c.done = make(chan struct{})
		}
	}
	return c.done
}

func (c *simContext) Err() error { return c.err }

func (c *simContext) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.parent.Value(key)
}

// AfterFunc calls f when the context is done, unless stop is called first. Unlike package
// context's it calls f at once and not in a goroutine: f must not block.
func (c *simContext) AfterFunc(f func()) (stop func() bool) {
	h := &contextHook{w: wakeFunc(f)}
	c.notify(h)
	return func() bool {
		inLine := h.of != nil
		h.Stop()
		return inLine
	}
}

type wakeFunc func()

func (f wakeFunc) Wake() { f() }

// notify makes h.w be told when the context is done; at once, if it is.
func (c *simContext) notify(h *contextHook) {
	if c.err != nil {
		h.w.Wake()
		return
	}
	c.push(h)
}

// contextWatch is the place of a task that waits. With every message some task waits, so the places of
// those that have waited are used again.
type contextWatch struct {
	contextHook
	world *World
}

// watch is notify for a task.
func (c *simContext) watch(w host.Waker) host.Watch {
	var h *contextWatch
	if last := len(c.w.watches) - 1; last >= 0 {
		h, c.w.watches = c.w.watches[last], c.w.watches[:last]
	} else {
		h = &contextWatch{world: c.w}
	}
	h.w = w
	c.notify(&h.contextHook)
	return h
}

// Stop implements host.Watch.
func (h *contextWatch) Stop() {
	h.contextHook.Stop()
	h.w = nil
	h.world.watches = append(h.world.watches, h)
}

func (c *simContext) push(h *contextHook) {
	h.of, h.prev, h.next = c, c.last, nil
	if c.last == nil {
		c.first = h
	} else {
		c.last.next = h
	}
	c.last = h
}

// Stop leaves the line.
func (h *contextHook) Stop() {
	c := h.of
	if c == nil {
		return
	}
	if h.prev == nil {
		c.first = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next == nil {
		c.last = h.prev
	} else {
		h.next.prev = h.prev
	}
	h.of, h.prev, h.next = nil, nil, nil
}

// handle is the deadline.
func (c *simContext) handle(uint64) { c.cancel(context.DeadlineExceeded) }

func (c *simContext) cancel(err error) {
	if c.err != nil {
		return
	}
	c.w.checkAlive()
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	c.w.cancel(c.timer)
	c.hook.Stop()
	for h := c.first; h != nil; h = c.first {
		h.Stop()
		h.w.Wake()
	}
}
