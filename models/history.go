package models

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Outcome is what the caller of an operation knows of its effect.
type Outcome string

const (
	// Ok: the operation took effect, or was answered as asked.
	Ok Outcome = "ok"
	// Fail: the operation surely had no effect and never will. Output says why, where the
	// system told: an upper mismatch, a since error.
	Fail Outcome = "fail"
	// Unknown: the operation may have taken effect, may yet do so, or never will.
	Unknown Outcome = "unknown"
)

// Open is the Return of an operation that has no known end: it may take effect at any later
// time, or never.
const Open uint64 = math.MaxUint64

// Op is one operation of a client against the system under test.
type Op struct {
	// ID numbers the operations of a history from 1, in the order of their calls.
	ID int
	// Client is the client as the workload numbers it.
	Client int
	// Process is the single thread of control that ran the operation. A client that does not
	// know how an operation ended goes on under a fresh process, because the old one is, as far
	// as anybody can tell, still busy with it.
	Process int
	// Kind, Input and Output belong to the model that judges the history. They must not be
	// changed once recorded. Output is nil when there is nothing to tell.
	Kind    string
	Input   any
	Output  any
	Outcome Outcome
	// Call and Return are positions in one total order of events. An operation whose Return
	// equals another's Call counts as concurrent with it. Return is Open if Outcome is Unknown.
	Call, Return uint64
	// CallNS and ReturnNS are virtual times, in ns since the start of the run, for messages
	// only. With outcome Unknown ReturnNS is when the client gave up; it is math.MaxInt64 if it
	// never did.
	CallNS, ReturnNS int64
}

// String names the operation as messages do: number, client, what was asked and answered, when.
func (o *Op) String() string {
	answer := string(o.Outcome)
	if o.Output != nil {
		answer = fmt.Sprintf("%s %v", answer, o.Output)
	}
	end := "never returned"
	if o.ReturnNS != math.MaxInt64 {
		end = "to " + time.Duration(o.ReturnNS).String()
	}
	return fmt.Sprintf("#%d client %d %s%v = %s, from %v %s",
		o.ID, o.Client, o.Kind, o.Input, answer, time.Duration(o.CallNS), end)
}

// History records the operations of a workload. It is for one thread of control: a simulated
// world, or a real client's recorder under the client's own lock.
type History struct {
	ops []*Op
	// process is the current process of each client, busy the operation it is at.
	process map[int]int
	busy    map[int]*Op
	next    int
	last    uint64
}

// Token stands for an operation that has begun.
type Token struct{ op *Op }

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{process: map[int]int{}, busy: map[int]*Op{}}
}

// Begin records that a client calls an operation, at position at of the total order of events
// and at virtual time atNS. An operation that is never ended is Unknown. A client may begin an
// operation before its last one has ended; the two count as concurrent.
func (h *History) Begin(client int, kind string, input any, at uint64, atNS int64) Token {
	h.advance(at)
	if before, ok := h.busy[client]; !ok || before.Outcome == Unknown {
		h.next++
		h.process[client] = h.next
	}
	op := &Op{
		ID: len(h.ops) + 1, Client: client, Process: h.process[client],
		Kind: kind, Input: input, Outcome: Unknown,
		Call: at, Return: Open, CallNS: atNS, ReturnNS: math.MaxInt64,
	}
	h.ops = append(h.ops, op)
	h.busy[client] = op
	return Token{op}
}

// End records how an operation ended. With Unknown the operation stays open: it may take effect
// long after the client gave up. Ending an operation twice is a bug in the workload and panics.
func (h *History) End(t Token, outcome Outcome, output any, at uint64, atNS int64) {
	h.advance(at)
	op := t.op
	if op.ReturnNS != math.MaxInt64 {
		panic(fmt.Sprintf("models: operation ended twice: %v; record the first answer only", op))
	}
	switch outcome {
	case Ok, Fail:
		op.Return = at
	case Unknown:
	default:
		panic(fmt.Sprintf("models: outcome %q of operation #%d; want ok, fail or unknown", outcome, op.ID))
	}
	op.Outcome, op.Output, op.ReturnNS = outcome, output, atNS
}

// advance keeps the recorded positions in order: a workload that passes something else than the
// event number would have every real-time constraint wrong, silently.
func (h *History) advance(at uint64) {
	if at < h.last || at >= maxPosition {
		panic(fmt.Sprintf("models: position %d recorded after %d; positions must not go back and must stay below 2^62",
			at, h.last))
	}
	h.last = at
}

// maxPosition leaves room above every real position for the end of the history.
const maxPosition = 1 << 62

// Len is the number of operations begun.
func (h *History) Len() int { return len(h.ops) }

// Ops lists the operations in the order of their calls. They must not be changed.
func (h *History) Ops() []*Op { return h.ops }

// Count is how many operations of the kind ended so, those still open counting as Unknown. A
// scenario uses it to tell a run in which nothing succeeded, which proves nothing.
func (h *History) Count(kind string, outcome Outcome) int {
	n := 0
	for _, op := range h.ops {
		if op.Kind == kind && op.Outcome == outcome {
			n++
		}
	}
	return n
}

// Kinds lists the kinds of operation that occur, sorted.
func (h *History) Kinds() []string {
	var kinds []string
	for _, op := range h.ops {
		if at, found := slices.BinarySearch(kinds, op.Kind); !found {
			kinds = slices.Insert(kinds, at, op.Kind)
		}
	}
	return kinds
}

// until is the history as it stood just after event at: later calls are gone, and operations
// that had not returned are open. Every safety property holds of a prefix if it holds of the
// whole, so the shortest prefix that fails names the answer that broke it.
func (h *History) until(at uint64) *History {
	cut := NewHistory()
	for _, op := range h.ops {
		if op.Call > at {
			continue
		}
		if op.Return > at {
			pending := *op
			pending.Outcome, pending.Output, pending.Return = Unknown, nil, Open
			op = &pending
		}
		cut.ops = append(cut.ops, op)
	}
	return cut
}
