package host

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/benbjohnson/clock"
)

// Host is one life of a process on one machine. A process that crashes and is
// started again gets a new Host with the next Incarnation; what it held in
// memory is gone, what it synced to its Disk is there.
//
// All methods may be called from any task of the process. After the process has
// died they have no effect.
type Host interface {
	// Name is the machine's name and its address on the network.
	Name() string
	// Incarnation counts the lives of the process on this machine, from 1.
	Incarnation() uint64
	// Clock tells this machine's time, which may be off and may drift. A task
	// waits for one of its timer channels with [OnTime], never with a bare
	// receive.
	Clock() clock.Clock
	// Rand is this process's source of randomness.
	Rand() *rand.Rand
	// Go starts a task. The name says what it does and shows in traces and in
	// reports of deadlocks; it need not be unique.
	Go(name string, fn func())
	// Net is this machine's network.
	Net() Net
	// Disk is this machine's file system.
	Disk() Disk
	// Logf writes a line to the process's log.
	Logf(format string, args ...any)
	// Note records that a named piece of state now has this value, so that traces
	// show it and faults can be aimed at it: Note("persist.upper", "17").
	Note(key, value string)
	// Runtime is what the package's own primitives wait with.
	Runtime() Runtime

	Checks
}

// Checks are the assertions that stay in production code. Names are constants,
// unique in the program: results are added up by name over a whole campaign.
type Checks interface {
	// Always states that ok holds each time the call is reached. A false one is a
	// failure of the run.
	Always(name string, ok bool, format string, args ...any)
	// Sometimes states that ok ought to hold at least once in a campaign.
	Sometimes(name string, ok bool)
	// Reachable states that the call ought to be reached at least once in a campaign.
	Reachable(name string)
	// Unreachable states that the call is never reached.
	Unreachable(name string, format string, args ...any)
	// Buggify tells whether to take the rare path at this site. A site is switched
	// on or off for a whole run; a site that is on fires now and then.
	Buggify(site string) bool
}

// Runtime is how tasks wait. Everything in this package that blocks is built on it;
// other code has no use for it.
type Runtime interface {
	// Lock and Unlock guard the package's data structures. They are held for a few
	// instructions, never while waiting. Where only one task runs at a time they do
	// nothing.
	Lock()
	Unlock()
	// Parker returns a handle with which the calling task can wait once. The lock is held,
	// from here until what is to wake the task has been arranged.
	Parker() Parker
	// Choose returns a number in [0, n), n > 0: which of n ready cases goes first.
	Choose(n int) int
	// WithCancel is [WithCancel].
	WithCancel(parent context.Context) (context.Context, context.CancelFunc)
	// WatchDone calls w.Wake once ctx is done, unless the watch is stopped before. It returns
	// nil for a context that can never be done. The lock is held, for Stop too; a Wake that
	// waits for the lock just then still comes.
	WatchDone(ctx context.Context, w Waker) Watch
	// WatchTime calls wake when a value may be waiting in c, a timer channel of this
	// host's clock, unless stop is called before. Wake takes the lock, and does not wait.
	// It is called by the task that asked for a Parker last and will park with it. The
	// lock is held, for stop too.
	WatchTime(c <-chan time.Time, wake func()) (stop func())
	// PollTime takes the value waiting in c, if any. C may be nil. The lock is held.
	PollTime(c <-chan time.Time) (time.Time, bool)
}

// Waker is told that what it waits for has come. The lock is held, and Wake does not wait.
type Waker interface{ Wake() }

// Watch is a Waker's place in line. It is stopped once, whether or not the Waker was told, and is not
// used afterwards.
type Watch interface{ Stop() }

// Parker blocks one task, once.
type Parker interface {
	// Park blocks the calling task until Unpark is called. An Unpark that came
	// first makes Park return at once.
	Park(why Wait)
	// Unpark wakes the task, from any task or from a kernel callback. It is called once at
	// most.
	Unpark()
}

// Wait says what a parked task waits for: an operation ("receive") and the thing
// operated on ("commands"), which String adds for a Select: putting its cases' names together each
// time a task waits would cost more than the waiting. It is shown in reports of deadlocks.
type Wait struct {
	Op, On string
	queued queued // where the task stands in line, if anywhere
}

// queued is a place in a line of waiting tasks.
type queued interface{ leave() }

// String is the operation and what it is on.
func (w Wait) String() string {
	if op, ok := w.queued.(*selection); ok {
		return w.Op + " " + names(op.cases)
	}
	return w.Op + " " + w.On
}

// Abandon takes the task out of whatever line it waits in. A runtime calls it when the task was
// killed, before anything else can happen, so that nothing is handed to the dead.
func (w Wait) Abandon() {
	if w.queued != nil {
		w.queued.leave()
	}
}

// WithCancel returns a copy of parent with a new Done channel, closed when cancel is
// called or parent is done. It replaces context.WithCancel, whose waiting children
// need goroutines.
func WithCancel(h Host, parent context.Context) (context.Context, context.CancelFunc) {
	return h.Runtime().WithCancel(parent)
}
