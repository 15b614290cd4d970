package host

import "slices"

// Mutex is the counterpart of sync.Mutex for code that may wait while it holds the lock.
// Tasks get it first come, first served.
type Mutex struct {
	rt      Runtime
	name    string
	locked  bool
	waiting line
}

// line is tasks that wait, first come, first served.
type line []*inLine

type inLine struct {
	line   *line
	parker Parker
}

// enter adds the calling task. The lock is held.
func (l *line) enter(rt Runtime) *inLine {
	w := &inLine{l, rt.Parker()}
	*l = append(*l, w)
	return w
}

func (w *inLine) leave() {
	*w.line = slices.DeleteFunc(*w.line, func(o *inLine) bool { return o == w })
}

// NewMutex returns an unlocked mutex.
func NewMutex(h Host, name string) *Mutex { return &Mutex{rt: h.Runtime(), name: name} }

// Lock waits until the mutex is free and takes it.
func (m *Mutex) Lock() {
	m.rt.Lock()
	if !m.locked {
		m.locked = true
		m.rt.Unlock()
		return
	}
	w := m.waiting.enter(m.rt)
	m.rt.Unlock()
	w.parker.Park(Wait{Op: "lock", On: m.name, queued: w}) // Unlock hands the lock over
}

// TryLock takes the mutex if it is free, and tells whether it did.
func (m *Mutex) TryLock() bool {
	m.rt.Lock()
	defer m.rt.Unlock()
	if m.locked {
		return false
	}
	m.locked = true
	return true
}

// Unlock frees the mutex, or hands it to the task that has waited longest. It panics when the
// mutex is not locked.
func (m *Mutex) Unlock() {
	m.rt.Lock()
	if !m.locked {
		m.rt.Unlock()
		panic("host: unlock of unlocked mutex " + m.name)
	}
	if len(m.waiting) == 0 {
		m.locked = false
		m.rt.Unlock()
		return
	}
	next := m.waiting[0]
	m.waiting[0] = nil
	m.waiting = m.waiting[1:]
	m.rt.Unlock()
	next.parker.Unpark()
}

// WaitGroup is the counterpart of sync.WaitGroup.
type WaitGroup struct {
	rt      Runtime
	name    string
	count   int
	waiting line
}

// NewWaitGroup returns a group of no tasks.
func NewWaitGroup(h Host, name string) *WaitGroup { return &WaitGroup{rt: h.Runtime(), name: name} }

// Add adds delta, which may be negative, to the count. At zero all waiting tasks go on. It
// panics when the count goes below zero.
func (g *WaitGroup) Add(delta int) {
	g.rt.Lock()
	g.count += delta
	if g.count < 0 {
		g.rt.Unlock()
		panic("host: negative WaitGroup count " + g.name)
	}
	var wake line
	if g.count == 0 {
		wake, g.waiting = g.waiting, nil
	}
	g.rt.Unlock()
	for _, w := range wake {
		w.parker.Unpark()
	}
}

// Done takes one from the count.
func (g *WaitGroup) Done() { g.Add(-1) }

// Wait waits until the count is zero.
func (g *WaitGroup) Wait() {
	g.rt.Lock()
	if g.count == 0 {
		g.rt.Unlock()
		return
	}
	w := g.waiting.enter(g.rt)
	g.rt.Unlock()
	w.parker.Park(Wait{Op: "wait", On: g.name, queued: w})
}

// Go starts fn as a task of the group.
func (g *WaitGroup) Go(h Host, name string, fn func()) {
	g.Add(1)
	h.Go(name, func() {
		defer g.Done()
		fn()
	})
}
