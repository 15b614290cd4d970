package host

import (
	"context"
	"time"
)

// Case is one alternative of a [Select]: made by Chan.OnRecv, Chan.OnSend, [OnDone] or
// [OnTime]. A case may be kept and used for Select after Select, by one task at a time,
// which saves its allocation.
type Case interface {
	// try completes the case if it is ready. The lock is held.
	try(rt Runtime) bool
	// arm makes op fire when the case becomes ready. The lock is held.
	arm(rt Runtime, op *selection, index int)
	// disarm undoes arm; fired tells that this case is the one that fired. The lock is
	// held. It returns false when a fired case turned out to have nothing to give.
	disarm(fired bool) bool
	// name is what the case waits on, for reports.
	name() string
}

// selection is one call of Select that waits.
type selection struct {
	parker Parker
	cases  []Case
	fired  int // index of the case that completed, -1 while none has
}

// fire completes the selection by a watched case, unless another was first. The lock is held.
func (op *selection) fire(index int) {
	if op.fired < 0 {
		op.fired = index
		op.parker.Unpark()
	}
}

func (op *selection) leave() {
	for _, c := range op.cases {
		c.disarm(false)
	}
}

// Select waits until one of the cases can go on, completes it and returns its index. Among
// several that are ready it picks one at random, as Go's select does. Cases on nil channels
// are never ready. Channels and timers are of the host h.
func Select(h Host, cases ...Case) int { return selectOn(h.Runtime(), false, false, cases...) }

// SelectFirst is Select that prefers, among several ready cases, the one that stands first.
func SelectFirst(h Host, cases ...Case) int { return selectOn(h.Runtime(), true, false, cases...) }

// TrySelect is Select that returns -1 when no case is ready: Go's select with a default.
func TrySelect(h Host, cases ...Case) int { return selectOn(h.Runtime(), false, true, cases...) }

func selectOn(rt Runtime, ordered, try bool, cases ...Case) int {
	if len(cases) == 0 {
		panic("host: Select without cases would block for ever")
	}
	return (&selection{cases: cases}).complete(rt, ordered, try)
}

// complete waits for a case and completes it. The selection can be used again afterwards.
func (op *selection) complete(rt Runtime, ordered, try bool) int {
	cases := op.cases
	for {
		start := 0
		if !ordered && len(cases) > 1 {
			start = rt.Choose(len(cases))
		}
		rt.Lock()
		for k := range cases {
			// A rotation, not a shuffle: with a random start each ready case has its
			// chance, at the price of one number.
			i := (start + k) % len(cases)
			if cases[i].try(rt) {
				rt.Unlock()
				return i
			}
		}
		if try {
			rt.Unlock()
			return -1
		}
		op.parker, op.fired = rt.Parker(), -1
		for i, c := range cases {
			c.arm(rt, op, i)
		}
		rt.Unlock()
		op.parker.Park(Wait{Op: "select", queued: op})
		rt.Lock()
		// The one that fired comes last: it panics when it is a send on a closed channel.
		for i, c := range cases {
			if i != op.fired {
				c.disarm(false)
			}
		}
		done := cases[op.fired].disarm(true)
		rt.Unlock()
		if done {
			return op.fired
		}
	}
}

func names(cases []Case) string {
	if len(cases) == 1 {
		return cases[0].name()
	}
	return caseNames(cases)
}

func caseNames(cases []Case) string {
	n := len(cases) - 1
	for _, c := range cases {
		n += len(c.name())
	}
	b := make([]byte, 0, n)
	for i, c := range cases {
		if i > 0 {
			b = append(b, '|')
		}
		b = append(b, c.name()...)
	}
	return string(b)
}

// OnRecv is the case of receiving from c: v and ok are set when it is chosen. Either may be nil.
func (c *Chan[T]) OnRecv(v *T, ok *bool) Case { return &recvCase[T]{c: c, v: v, ok: ok} }

// OnSend is the case of sending v to c.
func (c *Chan[T]) OnSend(v T) Case { return &sendCase[T]{c: c, v: v} }

type recvCase[T any] struct {
	c  *Chan[T]
	v  *T
	ok *bool
	w  waiter[T]
}

func (r *recvCase[T]) set(v T, ok bool) {
	if r.v != nil {
		*r.v = v
	}
	if r.ok != nil {
		*r.ok = ok
	}
}

func (r *recvCase[T]) try(Runtime) bool {
	if r.c == nil {
		return false
	}
	v, ok, ready := r.c.tryRecv()
	if ready {
		r.set(v, ok)
	}
	return ready
}

func (r *recvCase[T]) arm(_ Runtime, op *selection, index int) {
	if r.c != nil {
		r.w.mustBeIdle(r.c)
		r.w = waiter[T]{op: op, index: index}
		r.c.receivers.push(&r.w)
	}
}

func (r *recvCase[T]) disarm(fired bool) bool {
	if r.c == nil {
		return false
	}
	r.c.receivers.remove(&r.w)
	if fired {
		r.set(r.w.val, r.w.ok)
	}
	r.w = waiter[T]{}
	return true
}

func (r *recvCase[T]) name() string { return chanName(r.c) }

type sendCase[T any] struct {
	c *Chan[T]
	v T
	w waiter[T]
}

func (s *sendCase[T]) try(Runtime) bool { return s.c != nil && s.c.trySend(s.v) }

func (s *sendCase[T]) arm(_ Runtime, op *selection, index int) {
	if s.c != nil {
		s.w.mustBeIdle(s.c)
		s.w = waiter[T]{op: op, index: index, val: s.v}
		s.c.senders.push(&s.w)
	}
}

func (s *sendCase[T]) disarm(fired bool) bool {
	if s.c == nil {
		return false
	}
	s.c.senders.remove(&s.w)
	sent := s.w.ok
	s.w = waiter[T]{}
	if fired && !sent {
		s.c.rt.Unlock()
		panicSendOnClosed(s.c.name)
	}
	return true
}

func (s *sendCase[T]) name() string { return chanName(s.c) }

func chanName[T any](c *Chan[T]) string {
	if c == nil {
		return "nil channel"
	}
	return c.name
}

// OnDone is the case of ctx being done. Like a nil channel, a context that can't be done is
// never ready.
func OnDone(ctx context.Context) Case { return &doneCase{ctx: ctx} }

type doneCase struct {
	ctx   context.Context
	watch Watch

	op    *selection // that waits, while one does
	index int
}

// Wake implements [Waker]. If it comes late, the case may wait again by then, even for another
// context: disarm finds out.
func (d *doneCase) Wake() {
	if d.op != nil {
		d.op.fire(d.index)
	}
}

func (d *doneCase) try(Runtime) bool { return d.ctx.Err() != nil }

func (d *doneCase) arm(rt Runtime, op *selection, index int) {
	d.op, d.index = op, index
	d.watch = rt.WatchDone(d.ctx, d)
}

func (d *doneCase) disarm(bool) bool {
	if d.watch != nil {
		d.watch.Stop()
		d.watch = nil
	}
	d.op = nil
	return d.ctx.Err() != nil
}

func (d *doneCase) name() string { return "done" }

// OnTime is the case of receiving from a timer or ticker channel of the host's clock: v is set
// when it is chosen, and may be nil. What was sent and not received is gone once the timer is
// stopped or reset, and to Stop and Reset the timer has not expired then; so it is with package
// time since Go 1.23.
func OnTime(c <-chan time.Time, v *time.Time) Case { return &timeCase{c: c, v: v} }

type timeCase struct {
	c    <-chan time.Time
	v    *time.Time
	rt   Runtime
	stop func()
}

func (t *timeCase) try(rt Runtime) bool {
	v, ok := rt.PollTime(t.c)
	if ok && t.v != nil {
		*t.v = v
	}
	return ok
}

func (t *timeCase) arm(rt Runtime, op *selection, index int) {
	if t.c != nil {
		t.rt = rt
		t.stop = rt.WatchTime(t.c, func() {
			rt.Lock()
			op.fire(index)
			rt.Unlock()
		})
	}
}

func (t *timeCase) disarm(fired bool) bool {
	if t.stop != nil {
		t.stop()
		t.stop = nil
	}
	return fired && t.try(t.rt)
}

func (t *timeCase) name() string { return "timer" }
