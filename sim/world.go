package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// Config is what a world is a function of, beside the program.
type Config struct {
	// Seed decides every random choice.
	Seed uint64
	// Strategy ranks what could happen next. Nil is Random().
	Strategy Strategy
	// Start is the wall-clock time at virtual time zero. The zero value is 2000-01-01 UTC.
	Start time.Time
	// Net is the network as it is without faults. Fields that are zero are those of DefaultNet.
	Net NetConfig
	// Disk is the disks' timing. Fields that are zero are those of DefaultDisk.
	Disk DiskConfig
	// Buggify lets host.Checks.Buggify say yes.
	Buggify bool
	// MaxTime ends a run with ErrLimit at this virtual time. Zero is no limit.
	MaxTime time.Duration
	// MaxEvents ends a run with ErrLimit after this many trace events. Zero is no limit.
	MaxEvents uint64
	// Context interrupts a run when it is done; it is looked at every few thousand events.
	// Nil never does.
	Context context.Context
	// Record keeps every event in memory, for World.Trace: about 10 bytes each.
	Record bool
	// RecordTo writes every event to the writer instead, in the form that ReadTrace reads. An
	// error of the writer ends the recording, and is World.RecordError.
	RecordTo io.Writer
	// Overrides replace single random choices.
	Overrides map[Decision]uint64
	// OnDecision is told every random choice that is made.
	OnDecision func(Decision, uint64)
	// ContinueOnFailure goes on after a violation instead of ending the run.
	ContinueOnFailure bool
	// StuckAfter is how long, in real time, one step may take before the world counts as stuck.
	// Zero is 30 s; negative never.
	StuckAfter time.Duration
	// OnStuck is called, on a goroutine of its own, when it is. Nil prints what blocks it and
	// exits the program with status 3.
	OnStuck func(Stuck)
}

// Failure is a violation that the run found.
type Failure struct {
	Oracle  string        // what objected
	Message string        // what is wrong; a function of Config and program
	At      time.Duration // virtual time
	Event   uint64        // number of the trace event
	Stack   string        // of the task that panicked; names places on this machine
}

func (f Failure) Error() string { return f.Oracle + ": " + f.Message }

// World is a simulated cluster. It is used from one goroutine, and from its own tasks.
type World struct {
	cfg       Config
	strategy  Strategy
	walk      *randomWalk // strategy, if that is what it is: asked for each event, without detour
	slack     int64
	epoch     int64 // Config.Start as Unix ns
	now       int64 // virtual time, ns since the start
	until     int64
	trace     trace
	overrides map[Decision]uint64
	decisions func(Decision, uint64)

	events    eventHeap // due later
	ready     eventHeap // can happen now, by rank
	slots     []slot
	freeSlots []int32
	cancelled int
	steps     uint64

	cur       *task
	dying     bool // cur's process is dead
	idle      []*coroutine
	watches   []*contextWatch // of tasks that have waited
	taskNames []taskName
	liveTasks int

	nodes  []*Node
	byName map[string]*Node
	self   *Node // the world's own process
	net    *network
	dirty  []*nodeClock

	whileTasks bool   // the run ends with the tasks of the world's own process
	look       uint64 // the number of events at which the loop has something to look after

	watchdog watchdog
	checks   checks
	failures []Failure
	stopped  bool
	running  bool
	closed   bool
}

// New returns a world without nodes at virtual time zero.
func New(cfg Config) *World {
	if cfg.Strategy == nil {
		cfg.Strategy = Random()
	}
	if cfg.Start.IsZero() {
		cfg.Start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	cfg.Net.setDefaults()
	cfg.Disk.setDefaults()
	w := &World{
		cfg:       cfg,
		strategy:  cfg.Strategy,
		epoch:     cfg.Start.UnixNano(),
		overrides: cfg.Overrides,
		decisions: cfg.OnDecision,
		byName:    map[string]*Node{},
		// Number 0 is no task.
		taskNames: []taskName{{}},
	}
	w.trace = newTrace(cfg.Seed)
	switch {
	case cfg.RecordTo != nil:
		w.trace.recorder = newRecorder(cfg.Seed, cfg.RecordTo)
	case cfg.Record:
		w.trace.recorder = newRecorder(cfg.Seed, nil)
	}
	w.strategy.Start(w.NewStream("strategy"))
	w.slack = int64(w.strategy.Slack())
	w.walk, _ = w.strategy.(*randomWalk)
	w.net = newNetwork(w)
	w.checks.init(w)
	w.self = w.addNode("simrun", nil)
	w.self.start()
	return w
}

// Host is the world's own process, for workloads, faults and checks. It is on a machine named
// "simrun" that never crashes.
func (w *World) Host() host.Host { return w.self.proc }

// Go starts a task of the world's own process. Run ends when all of these have ended.
func (w *World) Go(name string, fn func()) { w.spawn(w.self.proc, name, fn) }

// Now is the virtual time since the start.
func (w *World) Now() time.Duration { return time.Duration(w.now) }

// Seed is Config.Seed.
func (w *World) Seed() uint64 { return w.cfg.Seed }

// Sleep makes the calling task of the world's own process wait.
func (w *World) Sleep(d time.Duration) { w.self.proc.clock.Sleep(d) }

// Errors with which a run ends, beside a *Deadlock and a Failure.
var (
	// ErrLimit: the run reached Config.MaxTime or MaxEvents.
	ErrLimit = errors.New("sim: the run reached its limit")
	// ErrInterrupted: Config.Context is done.
	ErrInterrupted = errors.New("sim: the run was interrupted")
)

// Run runs until the tasks started by Go have ended, or a violation is found, or Stop is called.
// It returns nil, the first Failure, a *Deadlock, ErrLimit or ErrInterrupted.
func (w *World) Run() error {
	limit := int64(never)
	if w.cfg.MaxTime > 0 {
		limit = int64(w.cfg.MaxTime)
	}
	switch err := w.loop(limit, true); {
	case err != nil:
		return err
	case w.stopped || w.self.proc.tasks.first == nil:
		return nil
	case len(w.ready) > 0 || w.nextDue() != never:
		return fmt.Errorf("%w: %v of virtual time", ErrLimit, w.cfg.MaxTime)
	default:
		return w.deadlock()
	}
}

// RunFor runs for a duration of virtual time, whether or not tasks remain. It returns nil, the
// first Failure, ErrLimit or ErrInterrupted. A duration beyond all time, such as math.MaxInt64, is
// until nothing happens any more.
func (w *World) RunFor(d time.Duration) error {
	limit := later(w.now, max(int64(d), 0))
	if err := w.loop(limit, false); err != nil {
		return err
	}
	if !w.stopped && limit != never {
		w.now = max(w.now, limit)
	}
	return nil
}

// Stop ends the run after the present step.
func (w *World) Stop() { w.stopped = true }

// Fail reports a violation and, unless Config.ContinueOnFailure is set, ends the run.
func (w *World) Fail(oracle, format string, args ...any) {
	w.report(Failure{Oracle: oracle, Message: fmt.Sprintf(format, args...)})
}

func (w *World) report(f Failure) {
	w.emitText(EventFail, w.self.number, f.Oracle+": "+f.Message)
	f.At, f.Event = time.Duration(w.now), w.trace.events
	w.failures = append(w.failures, f)
	if !w.cfg.ContinueOnFailure {
		w.stopped = true
	}
}

// Failures are the violations found so far.
func (w *World) Failures() []Failure { return w.failures }

// Fault puts a fault's beginning or end into the trace, in words.
func (w *World) Fault(text string) { w.emitText(EventFault, w.self.number, text) }

// Op puts an operation's beginning or end into the trace, in words, as an event of the running
// task's node. It returns the event's number: its place in the total order of all that happens.
func (w *World) Op(text string) uint64 {
	who := w.self.number
	if w.cur != nil {
		who = w.cur.proc.node.number
	}
	w.emitText(EventOp, who, text)
	return w.trace.events
}

// Close unwinds all tasks and frees their coroutines. A world that is not closed leaks them. Its own
// tasks can't close it: they call Stop.
func (w *World) Close() {
	if w.closed {
		return
	}
	w.mustNotRun()
	w.closed = true
	defer w.watchdog.start(&w.cfg)() // a deferred call of a task may block
	w.setCurrent(nil)
	if w.trace.recorder != nil {
		w.trace.recorder.end()
	}
	for _, n := range w.nodes {
		if n.proc != nil && !n.proc.dead {
			n.proc.die(nil)
		}
	}
	for _, c := range w.idle {
		c.stop()
	}
	w.idle = nil
}

// mustNotRun refuses what a world's own tasks and callbacks can't do to it.
func (w *World) mustNotRun() {
	if w.running {
		panic("sim: a world can't be run or closed from inside of itself: to end the run, call Stop")
	}
}

// loop takes steps until the limit or the end of the run; with whileTasks only as long as the
// world's own process has any.
func (w *World) loop(limit int64, whileTasks bool) error {
	if w.closed {
		panic("sim: the world is closed")
	}
	w.mustNotRun()
	w.running = true
	defer func() { w.running = false }() // even if a task calls testing's FailNow
	w.until, w.whileTasks, w.look = limit, whileTasks, 0
	for _, n := range w.nodes {
		if n.Up() {
			n.proc.clock.touch() // whose timers may have been stopped and reset outside of the run
		}
	}
	defer w.watchdog.start(&w.cfg)()
	for !w.over() {
		if w.watchdog.asked.Load() {
			w.watchdog.asked.Store(false)
		}
		if w.trace.events >= w.look {
			if err := w.lookAfter(); err != nil {
				return err
			}
		}
		t, more := w.step()
		if t != nil {
			// Here, and not in a function of its own: after a switch the processor mispredicts the return
			// from each call that was open before it.
			w.enter(t)
			t.co.resume()
			w.leave(t)
		} else if !more {
			break
		}
	}
	if len(w.failures) > 0 && !w.cfg.ContinueOnFailure {
		return w.failures[0]
	}
	return nil
}

// first takes out of the queues what happens first. ok is false if nothing does before the limit.
func (w *World) first() (e entry, ok bool) {
	switch {
	case len(w.ready) == 0:
		due := w.nextDue()
		if due == never || due > w.until {
			return entry{}, false
		}
		if w.slack == 0 && w.events.isAlone() {
			return w.events.pop(), true // there is nothing to choose
		}
		w.admit(due)
	case w.slack > 0:
		w.admit(w.earliest())
	}
	return w.ready.pop(), true
}

// over tells whether the run has ended, with no regard to what else could happen.
func (w *World) over() bool {
	return w.stopped || w.whileTasks && w.self.proc.tasks.first == nil
}

// lookAfter ends the run if it was interrupted or has reached its limit of events.
func (w *World) lookAfter() error {
	if w.cfg.Context != nil && w.cfg.Context.Err() != nil {
		return ErrInterrupted
	}
	w.look = w.trace.events + 4096
	if w.cfg.MaxEvents > 0 {
		if w.trace.events >= w.cfg.MaxEvents {
			return fmt.Errorf("%w: %d events", ErrLimit, w.cfg.MaxEvents)
		}
		w.look = min(w.look, w.cfg.MaxEvents)
	}
	return nil
}

// step makes the next thing happen, or returns the task that goes on next. more is false when nothing
// can happen before the limit.
func (w *World) step() (next *task, more bool) {
	for {
		if len(w.ready) == 0 {
			w.reconcileClocks() // which may find a timer that is due now
		}
		top, ok := w.first()
		if !ok {
			return nil, false
		}
		i := int32(uint32(top.key))
		s := &w.slots[i]
		if s.at > w.now && len(w.dirty) > 0 {
			// Time is about to move: what tasks did to their timers comes first.
			w.ready.push(entry{0, top.key})
			w.reconcileClocks()
			continue
		}
		if !w.alive(s) {
			w.drop(i, s)
			continue
		}
		if n := s.proc.node; n.paused {
			n.stash = append(n.stash, i)
			continue
		}
		if s.at > w.now {
			w.now = s.at
		}
		// The slots may move while the event happens.
		task, hnd, arg, fn := s.task, s.hnd, s.arg, s.fn
		w.freeSlot(i)
		switch {
		case task != nil:
			return task, true
		case hnd != nil:
			hnd.handle(arg)
		default:
			fn()
		}
		return nil, true
	}
}

// goesOn takes the next step if it is to resume the running task, which has just put itself to sleep:
// what the loop and step would do, without switching to them and back. Where they have anything else
// to do it leaves that to them, and returns false.
func (w *World) goesOn(t *task) bool {
	if w.slack > 0 || t.proc.dead || w.over() || w.trace.events >= w.look || w.watchdog.asked.Load() {
		return false
	}
	t.proc.clock.touch()
	if len(w.ready) == 0 {
		w.reconcileClocks()
		if w.stopped {
			return false
		}
	}
	from := &w.ready
	if len(w.ready) == 0 {
		if due := w.nextDue(); due == never || due > w.until || !w.events.isAlone() {
			return false
		}
		from = &w.events
	}
	i := int32(uint32((*from)[0].key))
	s := &w.slots[i]
	if s.task != t || t.proc.node.paused || s.at > w.now && len(w.dirty) > 0 {
		return false
	}
	from.pop()
	w.now = max(w.now, s.at)
	w.freeSlot(i)
	w.emitCaused(EventRun, t.id, 0, 0, t.cause)
	return true
}

// alive tells whether an event will still happen.
func (w *World) alive(s *slot) bool { return s.state == slotLive && !s.proc.dead }

func (w *World) drop(i int32, s *slot) {
	if s.state == slotCancelled {
		w.cancelled--
	}
	w.freeSlot(i)
}

// nextDue is when the next event is due, passing over those that won't happen, or never.
func (w *World) nextDue() int64 {
	for len(w.events) > 0 {
		i := int32(uint32(w.events[0].key))
		if s := &w.slots[i]; !w.alive(s) {
			w.events.pop()
			w.drop(i, s)
			continue
		}
		return w.events[0].at
	}
	return never
}

// earliest is when the first of the events that can happen now was due: no other may be put before
// it for longer than the slack.
func (w *World) earliest() int64 {
	at := int64(never)
	for _, e := range w.ready {
		at = min(at, w.slots[uint32(e.key)].at)
	}
	return at
}

// admit moves the events that are due within slack of the given time to those that can happen now. Near
// the limit there is no slack.
func (w *World) admit(at int64) {
	if at > w.until {
		return
	}
	horizon := at
	if w.slack < w.until-at {
		horizon += w.slack
	}
	for len(w.events) > 0 && w.events[0].at <= horizon {
		w.ready.push(entry{0, w.events.pop().key})
	}
}

// Deadlock is the error of a run in which no task can ever go on.
type Deadlock struct {
	At      time.Duration
	Waiting []WaitingTask
}

// WaitingTask is a task that waits.
type WaitingTask struct {
	Node, Task string
	Wait       host.Wait
	Since      time.Duration
}

func (w *World) deadlock() *Deadlock { return &Deadlock{time.Duration(w.now), w.Waiting()} }

// Waiting lists the tasks that wait for each other or for nothing, by node and order of start.
func (w *World) Waiting() []WaitingTask {
	var all []WaitingTask
	for _, n := range w.nodes {
		if n.proc == nil {
			continue
		}
		for t := n.proc.tasks.first; t != nil; t = t.next {
			if t.parked {
				all = append(all, WaitingTask{n.name, t.name, t.why, time.Duration(t.since)})
			}
		}
	}
	return all
}

func (d *Deadlock) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "deadlock at %v: no task can go on", d.At)
	for i, t := range d.Waiting {
		if i == 20 {
			fmt.Fprintf(&b, "; and %d more", len(d.Waiting)-i)
			break
		}
		fmt.Fprintf(&b, "; %s/%s waits to %v since %v", t.Node, t.Task, t.Wait, t.Since)
	}
	return b.String()
}
