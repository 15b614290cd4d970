package sim

// eventHeap is a binary min-heap of events by (at, key). Entries are 16 bytes without pointers:
// smaller entries win more than a wider heap does, and the collector has nothing to scan.
type eventHeap []entry

type entry struct {
	at  int64
	key uint64 // rank<<32 | slot: unique among live entries, so that the order is total
}

func (e entry) before(o entry) bool {
	return e.at < o.at || e.at == o.at && e.key < o.key
}

func (h *eventHeap) push(e entry) {
	q := append(*h, e)
	i := len(q) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(q[parent]) {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	q[i] = e
	*h = q
}

func (h *eventHeap) pop() entry {
	q := *h
	top := q[0]
	last := len(q) - 1
	e := q[last]
	q = q[:last]
	if last > 0 {
		q.siftDown(0, e)
	}
	*h = q
	return top
}

// isAlone tells whether nothing else is due at the time of the first entry.
func (h eventHeap) isAlone() bool {
	return (len(h) < 2 || h[1].at > h[0].at) && (len(h) < 3 || h[2].at > h[0].at)
}

// siftDown puts e at the place i or below, wherever it belongs.
func (h eventHeap) siftDown(i int, e entry) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if r := child + 1; r < len(h) && h[r].before(h[child]) {
			child = r
		}
		if !h[child].before(e) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = e
}

// filter keeps the entries for which keep is true.
func (h *eventHeap) filter(keep func(entry) bool) {
	q := *h
	n := 0
	for _, e := range q {
		if keep(e) {
			q[n] = e
			n++
		}
	}
	q = q[:n]
	for i := n/2 - 1; i >= 0; i-- {
		q.siftDown(i, q[i])
	}
	*h = q
}

// slot is what an event does: resume a task, or call a handler. Slots live in one slice and are
// reused; a serial tells a handle of an earlier use from the present one.
type slot struct {
	at     int64
	proc   *process // whose event it is: dead or paused processes' events don't happen
	task   *task
	fn     func()
	hnd    handler
	arg    uint64
	serial uint32
	state  slotState
}

type slotState uint8

const (
	slotFree slotState = iota
	slotLive
	slotCancelled // still in a heap, to be freed when it comes up
)

// handler is an event's action without a closure of its own.
type handler interface{ handle(arg uint64) }

// timer is a handle on a scheduled event. The zero timer is of no event.
type timer struct {
	slot   int32 // index+1
	serial uint32
}

// actor is someone whose events are ranked against those of others. Its key is stable: made of
// names and ordinals, never of addresses or of global counters.
type actor struct{ key, n uint64 }

const rankStream = 0x72616e6b // the stream of an actor's ranks, where the strategy has none of its own

func (w *World) rank(a *actor) uint32 {
	var r uint32
	if w.walk != nil {
		r = uint32(w.choice(w.walk.key^a.key, a.n) >> 32)
	} else {
		r = w.strategy.Rank(Candidate{Actor: a.key, Ordinal: a.n, Step: w.steps})
		if w.overrides != nil || w.decisions != nil {
			r = uint32(w.decided(derive(a.key, rankStream), a.n, uint64(r)<<32) >> 32)
		}
	}
	a.n++
	w.steps++
	return r
}

func (w *World) newSlot() (int32, *slot) {
	if n := len(w.freeSlots); n > 0 {
		i := w.freeSlots[n-1]
		w.freeSlots = w.freeSlots[:n-1]
		return i, &w.slots[i]
	}
	w.slots = append(w.slots, slot{})
	i := int32(len(w.slots) - 1)
	return i, &w.slots[i]
}

func (w *World) freeSlot(i int32) {
	s := &w.slots[i]
	// Field by field: most are nil already, and clearing a pointer that is not costs a barrier.
	if s.task != nil {
		s.task = nil
	} else {
		s.fn, s.hnd = nil, nil
	}
	s.proc, s.state = nil, slotFree
	s.serial++
	w.freeSlots = append(w.freeSlots, i)
}

// schedule makes an event due at the given time, which is not before now.
func (w *World) schedule(at int64, a *actor, proc *process) (int32, *slot) {
	i, s := w.newSlot()
	s.at, s.proc, s.state = at, proc, slotLive
	key := uint64(w.rank(a))<<32 | uint64(uint32(i))
	if at <= w.now {
		w.ready.push(entry{0, key})
	} else {
		w.events.push(entry{at, key})
	}
	return i, s
}

// callAt schedules a call of fn, in no task: fn must not block.
func (w *World) callAt(at int64, a *actor, proc *process, fn func()) timer {
	i, s := w.schedule(at, a, proc)
	s.fn = fn
	return timer{i + 1, s.serial}
}

// handleAt is callAt for a handler.
func (w *World) handleAt(at int64, a *actor, proc *process, h handler, arg uint64) timer {
	i, s := w.schedule(at, a, proc)
	s.hnd, s.arg = h, arg
	return timer{i + 1, s.serial}
}

// cancel takes back an event, and tells whether it was still to come. The entry stays in the
// heap until it comes up or until half of the heap is such entries.
func (w *World) cancel(t timer) bool {
	if t.slot == 0 {
		return false
	}
	s := &w.slots[t.slot-1]
	if s.serial != t.serial || s.state != slotLive {
		return false
	}
	s.state = slotCancelled
	s.task, s.fn, s.hnd = nil, nil, nil
	w.cancelled++
	if w.cancelled > 64 && w.cancelled > len(w.events)/2 {
		w.compact()
	}
	return true
}

// pending tells whether an event is still to come.
func (w *World) pending(t timer) bool {
	if t.slot == 0 {
		return false
	}
	s := &w.slots[t.slot-1]
	return s.serial == t.serial && s.state == slotLive
}

func (w *World) compact() {
	keep := func(e entry) bool {
		i := int32(uint32(e.key))
		if w.slots[i].state == slotCancelled {
			w.freeSlot(i)
			return false
		}
		return true
	}
	w.events.filter(keep)
	w.ready.filter(keep)
	w.cancelled = 0
}
