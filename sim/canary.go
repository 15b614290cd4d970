package sim

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"github.com/benbjohnson/clock"
)

// canary makes the timers and tickers of a process's clock. Package clock's Timer and Ticker are
// structs with private fields, so that only its Mock can make ones that are not the operating
// system's; but driving a Mock costs a millisecond of real sleep a tick. So the Mock's time never
// moves. Each timer that runs is parked in it at a deadline so far away, the canary, that it never
// comes; the true deadline is the kernel's. Before virtual time moves, the Mock's list of timers is
// compared with ours:
//
//   - a deadline that is not the canary's: Reset was called, with the difference to the Mock's time;
//   - a timer of ours that is gone from the list: Stop was called;
//   - one that we don't know: a stopped or fired one was Reset.
//
// The Mock keeps what Stop and Reset return right, since a timer that has fired is stopped in it, once
// its value was received (unreceived.go).
//
// This needs private fields of the package, which is finished and no longer changes; their places
// are checked when the program starts.
type canary struct {
	p       *process
	mock    *clock.Mock
	armed   []*armedTimer // in order of arming, for a stable order of what follows from it
	byPtr   map[unsafe.Pointer]*armedTimer
	scan    uint64
	watches map[<-chan time.Time][]*timeWatch

	unreceived []*armedTimer // that have fired, oldest first
}

type armedTimer struct {
	c       *canary
	ptr     unsafe.Pointer
	timer   *clock.Timer // one of timer and ticker
	ticker  *clock.Ticker
	due     timer
	at      int64 // when it is due, virtual time
	scanned uint64

	unowned bool // only its channel is known to anyone
	fired   bool // but its value was not received
}

type timeWatch struct{ wake func() }

// canaryDelay is odd: a Reset to just this duration would not be seen.
const canaryDelay = 100*365*24*time.Hour + 123_456_789

// layout is where the private fields are.
var layout = checkLayout()

type clockLayout struct {
	mockTimers                      uintptr
	timerChan, timerFn, timerNext   uintptr
	tickerChan, tickerNext, tickerD uintptr
	timerType, tickerType           reflect.Type
}

func checkLayout() clockLayout {
	field := func(t reflect.Type, name string, want reflect.Type) uintptr {
		f, ok := t.FieldByName(name)
		if !ok || want != nil && f.Type != want {
			panic(fmt.Sprintf("sim: %v of github.com/benbjohnson/clock has no field %q of type %v: use version 1.3.5", t, name, want))
		}
		return f.Offset
	}
	mock, timer, ticker := reflect.TypeFor[clock.Mock](), reflect.TypeFor[clock.Timer](), reflect.TypeFor[clock.Ticker]()
	c, at := reflect.TypeFor[chan time.Time](), reflect.TypeFor[time.Time]()
	l := clockLayout{
		mockTimers: field(mock, "timers", nil),
		timerChan:  field(timer, "c", c), timerNext: field(timer, "next", at), timerFn: field(timer, "fn", reflect.TypeFor[func()]()),
		tickerChan: field(ticker, "c", c), tickerNext: field(ticker, "next", at), tickerD: field(ticker, "d", reflect.TypeFor[time.Duration]()),
	}
	// The list holds interfaces of two private types that are Timer and Ticker under other names.
	m := clock.NewMock()
	m.Timer(time.Hour)
	m.Ticker(time.Hour)
	list := reflect.ValueOf(m).Elem().FieldByName("timers")
	if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Interface || list.Len() != 2 {
		panic("sim: clock.Mock of github.com/benbjohnson/clock keeps its timers in another way: use version 1.3.5")
	}
	l.timerType, l.tickerType = list.Index(0).Elem().Type(), list.Index(1).Elem().Type()
	for _, t := range []struct{ private, public reflect.Type }{{l.timerType, timer}, {l.tickerType, ticker}} {
		if t.private.Kind() != reflect.Pointer || !t.private.Elem().ConvertibleTo(t.public) {
			panic("sim: clock.Timer of github.com/benbjohnson/clock has another layout: use version 1.3.5")
		}
	}
	return l
}

func at[T any](base unsafe.Pointer, offset uintptr) *T { return (*T)(unsafe.Add(base, offset)) }

// mockTimer is the interface of the Mock's list.
type mockTimer interface {
	Next() time.Time
	Tick(time.Time)
}

func (k *canary) list() []mockTimer {
	return *at[[]mockTimer](unsafe.Pointer(k.mock), layout.mockTimers)
}

func (c *nodeClock) timers() *canary {
	if c.canary == nil {
		c.canary = &canary{
			p: c.p, mock: clock.NewMock(),
			byPtr:   map[unsafe.Pointer]*armedTimer{},
			watches: map[<-chan time.Time][]*timeWatch{},
		}
	}
	return c.canary
}

// touch makes the clock be looked at before time moves.
func (c *nodeClock) touch() {
	if c.canary != nil && !c.dirty {
		c.dirty = true
		c.p.w.dirty = append(c.p.w.dirty, c)
	}
}

func (c *nodeClock) Timer(d time.Duration) *clock.Timer {
	c.p.w.checkAlive()
	k := c.timers()
	t := k.mock.Timer(canaryDelay)
	k.arm(unsafe.Pointer(t), t, nil, d)
	return t
}

func (c *nodeClock) AfterFunc(d time.Duration, f func()) *clock.Timer {
	c.p.w.checkAlive()
	k := c.timers()
	t := k.mock.AfterFunc(canaryDelay, f)
	k.arm(unsafe.Pointer(t), t, nil, d)
	return t
}

func (c *nodeClock) Ticker(d time.Duration) *clock.Ticker {
	if d <= 0 {
		panic("non-positive interval for NewTicker") // as package time does
	}
	c.p.w.checkAlive()
	k := c.timers()
	t := k.mock.Ticker(d)
	k.park(t)
	k.arm(unsafe.Pointer(t), nil, t, d)
	return t
}

func (c *nodeClock) After(d time.Duration) <-chan time.Time {
	t := c.Timer(d)
	c.canary.byPtr[unsafe.Pointer(t)].unowned = true
	return t.C
}

func (c *nodeClock) Tick(d time.Duration) <-chan time.Time { return c.Ticker(d).C }

func (k *canary) epoch() time.Time { return time.Unix(0, 0) }

// park puts a ticker at the canary; its period stays in the Mock's ticker.
func (k *canary) park(t *clock.Ticker) {
	*at[time.Time](unsafe.Pointer(t), layout.tickerNext) = k.epoch().Add(canaryDelay)
}

func (k *canary) arm(ptr unsafe.Pointer, t *clock.Timer, tk *clock.Ticker, d time.Duration) {
	k.p.clock.touch()
	a := &armedTimer{c: k, ptr: ptr, timer: t, ticker: tk, scanned: k.scan}
	k.armed = append(k.armed, a)
	k.byPtr[ptr] = a
	a.schedule(d)
}

func (a *armedTimer) schedule(d time.Duration) {
	p := a.c.p
	p.w.cancel(a.due)
	a.at = later(p.w.now, p.node.time.span(max(d, 0)))
	a.due = p.w.handleAt(a.at, &p.timers, p, a, 0)
}

func (a *armedTimer) next() *time.Time {
	if a.timer != nil {
		return at[time.Time](a.ptr, layout.timerNext)
	}
	return at[time.Time](a.ptr, layout.tickerNext)
}

// reconcileClocks brings the timers of all clocks that may have been touched up to date.
func (w *World) reconcileClocks() {
	for len(w.dirty) > 0 {
		c := w.dirty[len(w.dirty)-1]
		w.dirty = w.dirty[:len(w.dirty)-1]
		c.dirty = false
		if !c.p.dead {
			c.canary.reconcile()
		}
	}
}

func (k *canary) reconcile() {
	k.scan++
	far := k.epoch().Add(canaryDelay)
	list := k.list()
	for _, m := range list {
		ptr := (*[2]unsafe.Pointer)(unsafe.Pointer(&m))[1]
		a := k.byPtr[ptr]
		if a == nil {
			a = k.adopt(m, ptr)
		}
		a.scanned = k.scan
		if next := a.next(); *next != far {
			if a.ticker != nil && *at[time.Duration](a.ptr, layout.tickerD) <= 0 {
				k.p.w.Fail("panic", "%s: non-positive interval for Ticker.Reset", k.p.node.name) // as package time does
			}
			k.drop(a)
			a.schedule(next.Sub(k.epoch()))
			*next = far
		}
	}
	if len(list) == len(k.armed) {
		return
	}
	kept := k.armed[:0]
	for _, a := range k.armed {
		if a.scanned == k.scan {
			kept = append(kept, a)
			continue
		}
		k.p.w.cancel(a.due)
		k.drop(a)
		delete(k.byPtr, a.ptr)
	}
	clear(k.armed[len(kept):])
	k.armed = kept
}

// adopt takes up a timer that was Reset after it had been stopped or had fired.
func (k *canary) adopt(m mockTimer, ptr unsafe.Pointer) *armedTimer {
	a := &armedTimer{c: k, ptr: ptr}
	if reflect.TypeOf(m) == layout.timerType {
		a.timer = (*clock.Timer)(ptr)
	} else {
		a.ticker = (*clock.Ticker)(ptr)
	}
	k.armed = append(k.armed, a)
	k.byPtr[ptr] = a
	return a
}

// handle is the timer's time come.
func (a *armedTimer) handle(uint64) {
	k := a.c
	w := k.p.w
	was := a.due
	k.reconcile()
	if k.byPtr[a.ptr] != a || a.due != was {
		return // stopped, or set to another time, in this same instant
	}
	w.emit(EventCall, k.p.node.number, uint64(a.at), 0)
	now := k.p.clock.Now()
	c := a.channel()
	if a.ticker != nil {
		period := *at[time.Duration](a.ptr, layout.tickerD)
		p := k.p
		// From when it was due, not from now: a ticker does not slip.
		span := max(p.node.time.span(period), 1)
		a.at = later(a.at, span)
		if a.at <= w.now { // ticks that were missed are dropped
			a.at += (w.now - a.at + span) / span * span
		}
		a.due = w.handleAt(a.at, &p.timers, p, a, 0)
	} else if fn := *at[func()](a.ptr, layout.timerFn); fn != nil {
		k.expire(a)
		w.spawn(k.p, "AfterFunc", fn)
		return
	} else if a.unowned {
		k.expire(a)
	} else {
		k.keep(a)
	}
	select {
	case c <- now:
	default:
	}
	for _, t := range k.watches[c] {
		t.wake()
	}
}

// watch makes wake be called when c is sent to.
func (c *nodeClock) watch(ch <-chan time.Time, wake func()) (stop func()) {
	k := c.timers()
	t := &timeWatch{wake}
	k.watches[ch] = append(k.watches[ch], t)
	return func() {
		all := k.watches[ch]
		for i, o := range all {
			if o == t {
				all = append(all[:i], all[i+1:]...)
				break
			}
		}
		if len(all) == 0 {
			delete(k.watches, ch)
		} else {
			k.watches[ch] = all
		}
	}
}
