package sim

import (
	"context"
	"runtime"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// nodeClock is a process's clock.Clock. Now, Since, Until, Sleep and the contexts are the
// kernel's own; timers and tickers are those of canary.go.
//
// What the calls cost (BenchmarkClock, on a machine where a task switch takes 200 ns): Now 4 ns; a
// context with a deadline 240; a timer made, waited for and fired 1,500, and 50 more for each other
// timer that is armed; a Reset 110, and 10 more for each; a tick 860. Code that waits with a deadline
// is therefore cheaper with a context than with a timer.
type nodeClock struct {
	p      *process
	canary *canary // nil until the first timer or ticker
	dirty  bool
}

func newNodeClock(p *process) *nodeClock { return &nodeClock{p: p} }

func (c *nodeClock) Now() time.Time {
	w := c.p.w
	return time.Unix(0, w.epoch+c.p.node.time.local(w.now)).UTC()
}

func (c *nodeClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *nodeClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

func (c *nodeClock) Sleep(d time.Duration) {
	w := c.p.w
	w.checkAlive()
	if w.cur == nil {
		panic("sim: code outside tasks can't sleep: start a task with Go")
	}
	// Like a real one, a sleep of no time lets others go first.
	if t := w.cur; w.sleep(t, c.p.node.time.span(max(d, 0))) && !t.co.yield(struct{}{}) {
		runtime.Goexit()
	}
}

// sleep makes the running task go on after a span of true time. It tells whether the task is to yield
// until then, and to exit if that tells it that it was killed.
func (w *World) sleep(t *task, span int64) (yields bool) {
	at := later(w.now, span)
	if at == never {
		t.parked, t.why, t.since = true, host.Wait{Op: "sleep", On: "for ever"}, w.now
		return true
	}
	_, s := w.schedule(at, &t.actor, t.proc)
	s.task = t
	t.cause = w.trace.events
	return !w.goesOn(t)
}

func (c *nodeClock) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return c.WithDeadline(parent, c.Now().Add(d))
}

func (c *nodeClock) WithDeadline(parent context.Context, at time.Time) (context.Context, context.CancelFunc) {
	w := c.p.w
	ctx := newContext(w, parent)
	cancel := func() { ctx.cancel(context.Canceled) }
	if cur, ok := parent.Deadline(); ok && cur.Before(at) {
		return ctx, cancel
	}
	ctx.deadline, ctx.hasDeadline = at, true
	left := c.Until(at)
	switch {
	case ctx.err != nil:
	case left <= 0:
		ctx.cancel(context.DeadlineExceeded)
	default:
		ctx.timer = w.handleAt(later(w.now, c.p.node.time.span(left)), &c.p.timers, c.p, ctx, 0)
	}
	return ctx, cancel
}
