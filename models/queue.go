package models

import (
	"errors"
	"reflect"
	"strings"
)

// OracleQueue is the name of the oracle of queues.
const OracleQueue = "queue/linearizable"

// Kinds of operation on a queue.
const (
	KindEnqueue = "enqueue" // input [Enqueue]
	KindDequeue = "dequeue" // input [Dequeue]; ok: [Item] or [EmptyQueue]
)

// Enqueue puts a value at the end of a queue, which is empty at first.
type Enqueue struct {
	Queue string `json:"queue,omitempty"`
	Value Value  `json:"value"`
}

func (e Enqueue) String() string { return keyArguments(e.Queue, e.Value) }

// Dequeue takes the value at the head of a queue.
type Dequeue struct {
	Queue string `json:"queue,omitempty"`
}

func (d Dequeue) String() string { return keyArguments(d.Queue) }

// Item is the answer to [Dequeue]: what was taken.
type Item struct {
	Value Value `json:"value"`
}

func (i Item) String() string { return i.Value.String() }

// EmptyQueue is the answer to [Dequeue] that there was nothing. A failed [Dequeue] says nothing.
type EmptyQueue struct{}

func (EmptyQueue) String() string { return "empty" }

// Queues is the oracle of first-in-first-out queues.
//
// Where no value is enqueued twice it looks for the four ways in which such a queue can go wrong
// (queue_patterns.go), in near-linear time. That is exact, but for open dequeues beside answers
// that the queue was empty; those, and values that come twice, are searched.
func Queues(h *History) Oracle {
	return Sequential[backlog]{Spec: queueSpec(), History: h}
}

// backlog is the state of a queue: its values' texts from the head on, each with a line feed
// behind it, which no JSON text contains.
type backlog string

func (b backlog) String() string {
	return "[" + strings.ReplaceAll(strings.TrimSuffix(string(b), "\n"), "\n", " ") + "]"
}
func (b backlog) size() int { return len(b) }

func queueSpec() Spec[backlog] {
	return Spec[backlog]{
		Oracle: OracleQueue,
		Object: func(op *Op) string {
			switch in := op.Input.(type) {
			case Enqueue:
				return in.Queue
			case Dequeue:
				return in.Queue
			}
			return ""
		},
		Step: func(b backlog, op *Op) (backlog, bool) {
			if in, ok := op.Input.(Enqueue); ok {
				return b + backlog(in.Value.member()), true
			}
			switch out := op.Output.(type) {
			case EmptyQueue:
				return b, b == ""
			case Item:
				rest, ok := strings.CutPrefix(string(b), out.Value.member())
				return backlog(rest), ok
			}
			_, rest, ok := strings.Cut(string(b), "\n")
			return backlog(rest), ok
		},
		ReadOnly: func(op *Op) bool {
			_, empty := op.Output.(EmptyQueue)
			return empty
		},
		Alike:   func(op *Op) any { return op.Input },
		Check:   checkQueue,
		prepare: prepareQueue,
	}
}

var queueInputs = map[string]reflect.Type{
	KindEnqueue: reflect.TypeFor[Enqueue](), KindDequeue: reflect.TypeFor[Dequeue](),
}

func checkQueue(op *Op) error {
	if err := checkInput(op, queueInputs); err != nil {
		return err
	}
	_, item := op.Output.(Item)
	_, empty := op.Output.(EmptyQueue)
	told := item || empty
	if op.Output != nil && !told || told != (op.Kind == KindDequeue && op.Outcome == Ok) {
		return errOutput(op)
	}
	return nil
}

func queueModel() Model {
	return Model{
		Name: "queue",
		Doc:  "first-in-first-out queues; give each value once",
		Schema: Schema{
			Inputs: queueInputs,
			Outputs: map[string]reflect.Type{
				"item": reflect.TypeFor[Item](), "empty": reflect.TypeFor[EmptyQueue](),
			},
		},
		Check:   checkQueue,
		Jepsen:  queueFromJepsen,
		Oracles: func(h *History) []Oracle { return []Oracle{Queues(h)} },
	}
}

// queueFromJepsen takes :enqueue v and :dequeue. A dequeue that was answered with nil found the
// queue empty; one that failed says nothing.
func queueFromJepsen(e Entry) (kind string, input, output any, err error) {
	key, value, keyed := e.keyed(e.Value)
	switch e.F {
	case KindEnqueue:
		return e.F, Enqueue{key, value}, nil, nil
	case KindDequeue:
		if e.Outcome == Ok {
			answer := e.Answer
			if keyed && e.Key == "" {
				if _, inner, ok := e.pair(answer); ok {
					answer = inner
				}
			}
			output = Item{answer}
			if answer == "" {
				output = EmptyQueue{}
			}
		}
		return e.F, Dequeue{key}, output, nil
	}
	if e.F == "drain" {
		return "", nil, nil, errors.New("a :drain is not a dequeue of one value: record a :dequeue for each")
	}
	return "", nil, nil, errFunction(e.F)
}
