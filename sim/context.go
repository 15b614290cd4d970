package sim

import (
	"context"
	"time"
)

// simContext is a context whose waiters are woken by the kernel. It has the AfterFunc method by
// which package context's own children hook in without starting a goroutine.
type simContext struct {
	w           *World
	parent      context.Context
	deadline    time.Time
	hasDeadline bool

	err    error
	done   chan struct{} // made when asked for
	hooks  []*contextHook
	unhook func() bool // from the parent
	timer  timer
}

type contextHook struct {
	call func()
	done bool
}

type contextKey struct{}

// contextOf is the nearest simContext that ctx is, or was made from.
func contextOf(ctx context.Context) *simContext {
	c, _ := ctx.Value(contextKey{}).(*simContext)
	return c
}

func newContext(w *World, parent context.Context) *simContext {
	c := &simContext{w: w, parent: parent}
	if parent.Done() == nil {
		return c
	}
	if err := parent.Err(); err != nil {
		c.cancel(err)
		return c
	}
	p := contextOf(parent)
	if p == nil || p.Done() != parent.Done() {
		panic("sim: the parent was made by package context: use host.WithCancel, or the clock's WithTimeout")
	}
	c.unhook = p.AfterFunc(func() { c.cancel(p.err) })
	return c
}

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
	if c.err != nil {
		f()
		return func() bool { return false }
	}
	h := &contextHook{call: f}
	c.hooks = append(c.hooks, h)
	return func() bool {
		if h.done {
			return false
		}
		h.done = true
		for i, o := range c.hooks {
			if o == h {
				c.hooks = append(c.hooks[:i], c.hooks[i+1:]...)
				break
			}
		}
		return true
	}
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
	if c.unhook != nil {
		c.unhook()
	}
	hooks := c.hooks
	c.hooks = nil
	for _, h := range hooks {
		if !h.done {
			h.done = true
			h.call()
		}
	}
}
