package sim

import (
	"context"
	"fmt"
	"io"
	"math"
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
	taskNames []taskName
	liveTasks int

	nodes  []*Node
	byName map[string]*Node
	self   *Node // the world's own process
	net    *network
	dirty  []*nodeClock

	watchdog watchdog
	checks   checks
	failures []Failure
	stopped  bool
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
	ErrLimit = fmt.Errorf("sim: the run reached its limit")
	// ErrInterrupted: Config.Context is done.
	ErrInterrupted = fmt.Errorf("sim: the run was interrupted")
)

// Run runs until the tasks started by Go have ended, or a violation is found, or Stop is called.
// It returns nil, the first Failure, a *Deadlock, ErrLimit or ErrInterrupted.
func (w *World) Run() error {
	limit := int64(math.MaxInt64)
	if w.cfg.MaxTime > 0 {
		limit = int64(w.cfg.MaxTime)
	}
	switch err := w.loop(limit, true); {
	case err != nil:
		return err
	case w.stopped || w.self.proc.tasks.first == nil:
		return nil
	case len(w.ready) > 0 || len(w.events) > 0:
		return fmt.Errorf("%w: %v of virtual time", ErrLimit, w.cfg.MaxTime)
	default:
		return w.deadlock()
	}
}

// RunFor runs for a duration of virtual time, whether or not tasks remain. It returns nil, the
// first Failure, ErrLimit or ErrInterrupted.
func (w *World) RunFor(d time.Duration) error {
	limit := w.now + int64(d)
	if err := w.loop(limit, false); err != nil {
		return err
	}
	if !w.stopped {
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

// Close unwinds all tasks and frees their coroutines. A world that is not closed leaks them.
func (w *World) Close() {
	if w.closed {
		return
	}
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

// loop takes steps until the limit or the end of the run; with whileTasks only as long as the
// world's own process has any.
func (w *World) loop(limit int64, whileTasks bool) error {
	if w.closed {
		panic("sim: the world is closed")
	}
	w.until = limit
	defer w.watchdog.start(&w.cfg)()
	check := uint64(0)
	for !w.stopped && !(whileTasks && w.self.proc.tasks.first == nil) {
		if w.watchdog.asked.Load() {
			w.watchdog.asked.Store(false)
		}
		if w.trace.events >= check {
			check = w.trace.events + 4096
			if w.cfg.Context != nil && w.cfg.Context.Err() != nil {
				return ErrInterrupted
			}
		}
		if w.cfg.MaxEvents > 0 && w.trace.events >= w.cfg.MaxEvents {
			return fmt.Errorf("%w: %d events", ErrLimit, w.cfg.MaxEvents)
		}
		if !w.step() {
			break
		}
	}
	if len(w.failures) > 0 && !w.cfg.ContinueOnFailure {
		return w.failures[0]
	}
	return nil
}

// step makes the next thing happen. It returns false when nothing can before the limit.
func (w *World) step() bool {
	slack := w.slack
	for {
		if len(w.ready) == 0 {
			w.reconcileClocks()
			if !w.admit(w.nextDue(), slack) && len(w.ready) == 0 {
				return false
			}
		} else if slack > 0 {
			w.admit(w.earliest(), slack)
		}
		top := w.ready.pop()
		i := int32(uint32(top.key))
		s := &w.slots[i]
		if s.at > w.now && len(w.dirty) > 0 {
			// Time is about to move: what tasks did to their timers comes first.
			w.ready.push(top)
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
			w.run(task)
		case hnd != nil:
			hnd.handle(arg)
		default:
			fn()
		}
		return true
	}
}

// alive tells whether an event will still happen.
func (w *World) alive(s *slot) bool { return s.state == slotLive && !s.proc.dead }

func (w *World) drop(i int32, s *slot) {
	if s.state == slotCancelled {
		w.cancelled--
	}
	w.freeSlot(i)
}

// nextDue is when the next event is due, passing over those that won't happen, or a time past
// the limit when there is none.
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
	return math.MaxInt64
}

// earliest is when the first of the events that can happen now was due: no other may be put before
// it for longer than the slack.
func (w *World) earliest() int64 {
	at := int64(math.MaxInt64)
	for _, e := range w.ready {
		at = min(at, w.slots[uint32(e.key)].at)
	}
	return at
}

// admit moves the events that are due within slack of the given time to those that can happen
// now, and tells whether there were any.
func (w *World) admit(at, slack int64) bool {
	if at == math.MaxInt64 || at > w.until {
		return false
	}
	horizon := at
	if slack < w.until-at {
		horizon += slack
	}
	any := false
	for len(w.events) > 0 && w.events[0].at <= horizon {
		e := w.events.pop()
		w.ready.push(entry{0, e.key})
		any = true
	}
	return any
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
		fmt.Fprintf(&b, "; %s/%s waits to %s %s since %v", t.Node, t.Task, t.Wait.Op, t.Wait.On, t.Since)
	}
	return b.String()
}
