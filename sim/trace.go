package sim

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/simrun-dev/simrun/sim/internal/knob"
)

// EventKind says what happened.
type EventKind uint8

// The kinds of trace events. A and B are the event's operands.
const (
	EventSpawn   EventKind = iota + 1 // task started; A: the starting task
	EventRun                          // task runs
	EventExit                         // task ended
	EventKill                         // task unwound
	EventCall                         // timer or callback ran; A: due at
	EventSend                         // message sent; A: link, B: contents
	EventDeliver                      // message delivered; A: link, B: contents
	EventDrop                         // message lost; A: link, B: contents
	EventConn                         // connection changed state; A: link, B: state
	EventStart                        // process started; A: incarnation
	EventCrash                        // process died; A: incarnation
	EventPause                        // node paused
	EventResume                       // node resumed
	EventClock                        // node's clock set; A: offset, B: drift
	EventDisk                         // disk operation; A: operation and size, B: contents
	EventLog                          // line logged; A: text
	EventNote                         // state noted; A: key, B: value
	EventCheck                        // assertion or Buggify that fired; A: name
	EventFault                        // fault began or ended; A: text
	EventOp                           // operation began or ended; A: text
	EventFail                         // violation; A: text
)

var eventNames = [...]string{
	EventSpawn: "spawn", EventRun: "run", EventExit: "exit", EventKill: "kill", EventCall: "call",
	EventSend: "send", EventDeliver: "deliver", EventDrop: "drop", EventConn: "conn",
	EventStart: "start", EventCrash: "crash", EventPause: "pause", EventResume: "resume",
	EventClock: "clock", EventDisk: "disk", EventLog: "log", EventNote: "note",
	EventCheck: "check", EventFault: "fault", EventOp: "op", EventFail: "FAIL",
}

func (k EventKind) String() string {
	if int(k) < len(eventNames) && eventNames[k] != "" {
		return eventNames[k]
	}
	return fmt.Sprintf("kind-%d", uint8(k))
}

// Event is one entry of a recorded trace.
type Event struct {
	Number uint64 // from 1
	At     int64  // virtual time, ns since the start
	Kind   EventKind
	Node   string // name of the node
	Task   string // name of the task that it is about, or that was running; "" outside tasks
	From   string // of a message or connection: the sending node's name
	To     string // and the receiving node's
	A, B   uint64
	Text   string // what happened in words, of the kinds that have any
	Hash   uint64 // of the trace up to and with this event
	// Cause is the number of the event without which this one would not have happened: of the
	// send for a delivery or a loss, of what woke the task for a run. 0 is none, or unknown.
	Cause uint64
}

func (e Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8d %14v %-8s", e.Number, time.Duration(e.At), e.Kind)
	if e.Node != "" {
		fmt.Fprintf(&b, " %s", e.Node)
	}
	if e.Task != "" {
		fmt.Fprintf(&b, "/%s", e.Task)
	}
	if detail := e.detail(); detail != "" {
		fmt.Fprintf(&b, " %s", detail)
	}
	return b.String()
}

func (e *Event) detail() string {
	switch e.Kind {
	case EventSend, EventDeliver, EventDrop:
		return e.From + " -> " + e.To
	case EventConn:
		return e.From + " -> " + e.To + " " + connStateNames[e.B]
	case EventStart, EventCrash:
		return fmt.Sprintf("life %d", e.A)
	case EventClock:
		return fmt.Sprintf("offset %v drift %d ppm", time.Duration(e.A), int64(e.B))
	case EventDisk:
		return fmt.Sprintf("%s %d", diskOpNames[e.A>>48], e.A&(1<<48-1))
	}
	return e.Text
}

// Checkpoint is the hash of a trace at an event on its way.
type Checkpoint struct{ Event, Hash uint64 }

// maxCheckpoints bounds a trace's checkpoints. When they are full every other one is dropped and
// the distance doubles: any run has between half as many and this many.
const maxCheckpoints = 1024

type trace struct {
	hash        uint64
	events      uint64
	stride      uint64
	checkpoints []Checkpoint
	off         bool      // only to measure what hashing costs
	recorder    *recorder // nil when nothing is recorded
}

func newTrace(seed uint64) trace {
	return trace{hash: mix(seed ^ 0x73696d72756e), stride: 64, off: knob.NoHash}
}

// fold adds four words to the hash by multiplying 64 by 64 to 128 bits, as wyhash does: three
// times cheaper than serialising them for a byte-oriented hash.
func (t *trace) fold(a, b, c, d uint64) {
	t.events++
	if t.off {
		return
	}
	h1, l1 := bits.Mul64(t.hash^a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	h2, l2 := bits.Mul64(t.hash^c^0x8ebc6af09c88c6e3, d^0x589965cc75374cc3)
	t.hash = bits.RotateLeft64(t.hash, 23)*golden ^ h1 ^ l1 ^ bits.RotateLeft64(h2^l2, 32)
	if t.events%t.stride == 0 {
		t.checkpoint()
	}
}

func (t *trace) checkpoint() {
	if len(t.checkpoints) == maxCheckpoints {
		half := t.checkpoints[:0]
		for i := 1; i < maxCheckpoints; i += 2 {
			half = append(half, t.checkpoints[i])
		}
		t.checkpoints = half
		t.stride *= 2
		if t.events%t.stride != 0 {
			return
		}
	}
	t.checkpoints = append(t.checkpoints, Checkpoint{t.events, t.hash})
}

// emit folds an event into the trace. who is a node's or a task's number.
func (w *World) emit(kind EventKind, who uint32, a, b uint64) { w.emitCaused(kind, who, a, b, 0) }

// emitCaused is emit with the number of the event that this one follows from. It is not folded: it
// is a function of what is.
func (w *World) emitCaused(kind EventKind, who uint32, a, b, cause uint64) {
	w.trace.fold(uint64(w.now), uint64(kind)<<32|uint64(who), a, b)
	if w.trace.recorder != nil {
		w.trace.recorder.event(w, kind, who, a, b, cause)
	}
}

// emitText is emit for an event that is words: its operand is the text's hash.
func (w *World) emitText(kind EventKind, who uint32, text string) {
	w.trace.fold(uint64(w.now), uint64(kind)<<32|uint64(who), xxh3.HashString(text), 0)
	if w.trace.recorder != nil {
		w.trace.recorder.text(w, kind, who, text, "")
	}
}

// emitNote is emit for a key and its value.
func (w *World) emitNote(who uint32, key, value string) {
	w.trace.fold(uint64(w.now), uint64(EventNote)<<32|uint64(who), xxh3.HashString(key), xxh3.HashString(value))
	if w.trace.recorder != nil {
		w.trace.recorder.text(w, EventNote, who, key, value)
	}
}

type taskName struct {
	name string
	node uint32 // its number
}

// Hash is the hash of all events so far.
func (w *World) Hash() uint64 { return w.trace.hash }

// Events is the number of events so far. It is a total order of all that happened: recorders of
// operations use it as their clock.
func (w *World) Events() uint64 { return w.trace.events }

// Checkpoints are hashes on the way, at growing distances: two runs of the same configuration
// first differ after the last checkpoint on which they agree.
func (w *World) Checkpoints() []Checkpoint { return w.trace.checkpoints }

// FirstDifference compares the checkpoints of two runs by bisection: the first differing event
// lies in (after, upTo]. same is true when all common checkpoints agree.
func FirstDifference(a, b []Checkpoint) (after, upTo uint64, same bool) {
	at := make(map[uint64]uint64, len(b))
	for _, c := range b {
		at[c.Event] = c.Hash
	}
	common := make([]Checkpoint, 0, len(a))
	for _, c := range a {
		if _, ok := at[c.Event]; ok {
			common = append(common, c)
		}
	}
	// Hashes that have parted stay apart, so agreement is monotone.
	lo, hi := 0, len(common)
	for lo < hi {
		mid := (lo + hi) / 2
		if at[common[mid].Event] == common[mid].Hash {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 {
		after = common[lo-1].Event
	}
	if lo == len(common) {
		return after, 0, true
	}
	return after, common[lo].Event, false
}
