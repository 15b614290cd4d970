package host

import (
	"context"
	"errors"
	"fmt"
)

// ErrClosed is returned by operations on something that its owner has closed.
var ErrClosed = errors.New("host: closed")

// Unbounded is the capacity of a [Chan] whose senders never wait.
const Unbounded = -1

// Chan is the counterpart of a Go channel, with the same semantics: capacity, closing, and a nil
// one that is never ready in a Select. Where a plain operation on a nil channel would block for ever
// it panics instead. Waiting tasks are woken first come, first served.
type Chan[T any] struct {
	rt       Runtime
	name     string
	capacity int

	buf    []T // ring
	head   int
	count  int
	closed bool

	receivers waitList[T]
	senders   waitList[T]
	free      *waiter[T]
	spare     *contextWait[T]
}

// NewChan returns a channel that holds up to capacity values: 0 for a rendezvous,
// [Unbounded] for a mailbox. It panics on another negative capacity. The name shows in traces and in
// reports of deadlocks.
func NewChan[T any](h Host, name string, capacity int) *Chan[T] {
	return NewRuntimeChan[T](h.Runtime(), name, capacity)
}

// NewRuntimeChan is [NewChan] for code that has a Runtime and no Host.
func NewRuntimeChan[T any](rt Runtime, name string, capacity int) *Chan[T] {
	if capacity < Unbounded {
		panic(fmt.Sprintf("host: channel %s of capacity %d", name, capacity))
	}
	return &Chan[T]{rt: rt, name: name, capacity: capacity}
}

// Name is the name given to NewChan.
func (c *Chan[T]) Name() string { return c.name }

// Len is the number of values buffered. It is 0 for a nil *Chan.
func (c *Chan[T]) Len() int {
	if c == nil {
		return 0
	}
	c.rt.Lock()
	defer c.rt.Unlock()
	return c.count
}

// Send delivers v, waiting until a receiver or buffer space takes it. It panics on a
// closed channel, and on a nil one, where Go would block for ever.
func (c *Chan[T]) Send(v T) {
	if c == nil {
		blockForever("send")
	}
	c.rt.Lock()
	if c.trySend(v) {
		c.rt.Unlock()
		return
	}
	w := c.newWaiter()
	w.val = v
	w.parker = c.rt.Parker()
	c.senders.push(w)
	p := w.parker
	c.rt.Unlock()
	p.Park(Wait{Op: "send", On: c.name, queued: w})
	c.rt.Lock()
	closed := !w.ok
	c.release(w)
	c.rt.Unlock()
	if closed {
		panicSendOnClosed(c.name)
	}
}

// Recv takes the next value, waiting for one. ok is false when the channel is closed and
// drained. It panics on a nil channel, where Go would block for ever.
func (c *Chan[T]) Recv() (v T, ok bool) {
	if c == nil {
		blockForever("receive")
	}
	c.rt.Lock()
	v, ok, ready := c.tryRecv()
	if ready {
		c.rt.Unlock()
		return v, ok
	}
	w := c.newWaiter()
	w.parker = c.rt.Parker()
	c.receivers.push(w)
	p := w.parker
	c.rt.Unlock()
	p.Park(Wait{Op: "receive", On: c.name, queued: w})
	c.rt.Lock()
	v, ok = w.val, w.ok
	c.release(w)
	c.rt.Unlock()
	return v, ok
}

// RecvContext is Recv, given up with ctx's error when ctx is done first.
func (c *Chan[T]) RecvContext(ctx context.Context) (v T, ok bool, err error) {
	if v, ok, ready := c.TryRecv(); ready {
		return v, ok, nil
	}
	rt := c.runtime("receive")
	rt.Lock()
	w := c.spare
	if w == nil {
		w = newContextWait(c)
	}
	c.spare, w.next = w.next, nil
	rt.Unlock()
	w.done.ctx = ctx
	if w.op.complete(rt, true, false) == 0 {
		v, ok = w.val, w.ok
	} else {
		err = ctx.Err()
	}
	var zero T
	w.val, w.done.ctx = zero, nil
	rt.Lock()
	w.next, c.spare = c.spare, w
	rt.Unlock()
	return v, ok, err
}

// contextWait is RecvContext's selection and all that belongs to it: one allocation, and none when the
// channel has one to spare, for what tasks do most.
type contextWait[T any] struct {
	op    selection
	cases [2]Case
	recv  recvCase[T]
	done  doneCase
	val   T
	ok    bool
	next  *contextWait[T]
}

func newContextWait[T any](c *Chan[T]) *contextWait[T] {
	w := &contextWait[T]{}
	w.recv = recvCase[T]{c: c, v: &w.val, ok: &w.ok}
	w.cases = [2]Case{&w.recv, &w.done}
	w.op.cases = w.cases[:]
	return w
}

// SendContext is Send, given up with ctx's error when ctx is done first.
func (c *Chan[T]) SendContext(ctx context.Context, v T) error {
	if c.TrySend(v) {
		return nil
	}
	rt := c.runtime("send")
	if i := selectOn(rt, true, false, c.OnSend(v), OnDone(ctx)); i == 1 {
		return ctx.Err()
	}
	return nil
}

// TryRecv takes the next value if there is one. ready is false when Recv would wait; ok is
// false when the channel is closed and drained.
func (c *Chan[T]) TryRecv() (v T, ok, ready bool) {
	if c == nil {
		return v, false, false
	}
	c.rt.Lock()
	defer c.rt.Unlock()
	return c.tryRecv()
}

// RecvGroup waits as Recv does, and takes what else is there by then too, up to most values in all: what
// whoever makes many changes durable with one sync needs. It returns nil when the channel is closed and drained.
func (c *Chan[T]) RecvGroup(most int) []T {
	v, ok := c.Recv()
	if !ok {
		return nil
	}
	group := []T{v}
	for len(group) < most {
		v, ok, ready := c.TryRecv()
		if !ready || !ok {
			break
		}
		group = append(group, v)
	}
	return group
}

// TrySend delivers v if that needs no waiting, and tells whether it did. It panics on a
// closed channel.
func (c *Chan[T]) TrySend(v T) bool {
	if c == nil {
		return false
	}
	c.rt.Lock()
	if c.closed {
		c.rt.Unlock()
		panicSendOnClosed(c.name)
	}
	defer c.rt.Unlock()
	return c.trySend(v)
}

// Offer is TrySend that answers false on a closed channel instead of panicking, for senders
// that do not own the channel.
func (c *Chan[T]) Offer(v T) bool {
	if c == nil {
		return false
	}
	c.rt.Lock()
	defer c.rt.Unlock()
	return !c.closed && c.trySend(v)
}

// Close ends the channel: buffered values can still be received, waiting receivers are woken
// with ok false, waiting senders panic. Closing a closed or nil channel panics.
func (c *Chan[T]) Close() {
	if c == nil {
		panic("host: close of nil channel")
	}
	c.rt.Lock()
	if c.closed {
		c.rt.Unlock()
		panic("host: close of closed channel " + c.name)
	}
	c.closed = true
	for w := c.receivers.pop(); w != nil; w = c.receivers.pop() {
		var zero T
		w.complete(zero, false)
	}
	for w := c.senders.pop(); w != nil; w = c.senders.pop() {
		w.complete(w.val, false)
	}
	c.rt.Unlock()
}

// Closed tells whether Close has been called.
func (c *Chan[T]) Closed() bool {
	if c == nil {
		return false
	}
	c.rt.Lock()
	defer c.rt.Unlock()
	return c.closed
}

// trySend delivers v without waiting, or tells that it can't. The caller holds the lock. On a
// closed channel it panics after giving the lock back.
func (c *Chan[T]) trySend(v T) bool {
	if c.closed {
		c.rt.Unlock()
		panicSendOnClosed(c.name)
	}
	if w := c.receivers.pop(); w != nil {
		w.complete(v, true)
		return true
	}
	if c.capacity != Unbounded && c.count >= c.capacity {
		return false
	}
	c.push(v)
	return true
}

// tryRecv takes a value without waiting, or tells that it can't. The caller holds the lock.
func (c *Chan[T]) tryRecv() (v T, ok, ready bool) {
	if c.count > 0 {
		v = c.shift()
		if w := c.senders.pop(); w != nil {
			c.push(w.val)
			w.complete(w.val, true)
		}
		return v, true, true
	}
	if w := c.senders.pop(); w != nil {
		v = w.val
		w.complete(v, true)
		return v, true, true
	}
	return v, false, c.closed
}

func (c *Chan[T]) push(v T) {
	if c.count == len(c.buf) {
		grown := make([]T, max(4, 2*len(c.buf)))
		n := copy(grown, c.buf[c.head:])
		copy(grown[n:], c.buf[:c.head])
		c.buf, c.head = grown, 0
	}
	c.buf[(c.head+c.count)%len(c.buf)] = v
	c.count++
}

func (c *Chan[T]) shift() T {
	var zero T
	v := c.buf[c.head]
	c.buf[c.head] = zero
	c.head = (c.head + 1) % len(c.buf)
	c.count--
	return v
}

func (c *Chan[T]) newWaiter() *waiter[T] {
	w := c.free
	if w == nil {
		return &waiter[T]{}
	}
	c.free, w.next = w.next, nil
	return w
}

func (c *Chan[T]) release(w *waiter[T]) {
	*w = waiter[T]{next: c.free}
	c.free = w
}

func (c *Chan[T]) runtime(op string) Runtime {
	if c == nil {
		blockForever(op)
	}
	return c.rt
}

func panicSendOnClosed(name string) { panic("host: send on closed channel " + name) }

// blockForever cannot park: a nil channel has no runtime. Unlike Go, where such a task sleeps
// until the program ends, it says what is wrong.
func blockForever(op string) {
	panic("host: " + op + " on nil channel would block for ever; in a Select a nil channel is never ready")
}

// waiter is one task waiting at one channel, alone or as a case of a Select.
type waiter[T any] struct {
	parker Parker
	op     *selection // nil when it waits alone
	index  int
	val    T
	ok     bool

	list       *waitList[T] // the list it is in, if any
	prev, next *waiter[T]
}

// complete hands the waiter its result and wakes it. The caller holds the lock and has taken
// the waiter out of its list.
func (w *waiter[T]) complete(v T, ok bool) {
	w.val, w.ok = v, ok
	if w.op != nil {
		w.op.fired = w.index
		w.op.parker.Unpark()
		return
	}
	w.parker.Unpark()
}

// mustBeIdle refuses a case that waits already. The lock is held.
func (w *waiter[T]) mustBeIdle(c *Chan[T]) {
	if w.list != nil {
		c.rt.Unlock()
		panic("host: a case of channel " + c.name + " is in use: twice in one Select, or by two tasks; make one for each")
	}
}

func (w *waiter[T]) leave() {
	if w.list != nil {
		w.list.remove(w)
	}
}

type waitList[T any] struct{ first, last *waiter[T] }

func (l *waitList[T]) push(w *waiter[T]) {
	w.list, w.prev, w.next = l, l.last, nil
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
}

func (l *waitList[T]) remove(w *waiter[T]) {
	if w.list != l {
		return
	}
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.list, w.prev, w.next = nil, nil, nil
}

// pop takes the first waiter that still waits: one whose Select has already fired another
// case, and has not run since to leave the list, is passed over.
func (l *waitList[T]) pop() *waiter[T] {
	for w := l.first; w != nil; w = l.first {
		l.remove(w)
		if w.op == nil || w.op.fired < 0 {
			return w
		}
	}
	return nil
}
