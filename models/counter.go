package models

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
)

// OracleCounter is the name of the oracle of counters.
const OracleCounter = "counter/linearizable"

// Kinds of operation on a counter, beside [KindRead] with input [ReadCounter], answered with
// [Count].
const KindAdd = "add" // input [Add]; ok: nil, or [Count] if it is told what it added up to

// Add adds to a counter, which is 0 at first.
type Add struct {
	Counter string `json:"counter,omitempty"`
	Delta   int64  `json:"delta"`
}

func (a Add) String() string {
	return fmt.Sprintf("(%s)", withName(a.Counter, fmt.Sprintf("%+d", a.Delta)))
}

// ReadCounter asks for what a counter stands at.
type ReadCounter struct {
	Counter string `json:"counter,omitempty"`
}

func (r ReadCounter) String() string { return keyArguments(r.Counter) }

// Count is what a counter stands at: the answer to [ReadCounter], and to an [Add] just after it.
type Count struct {
	Value int64 `json:"value"`
}

func (c Count) String() string { return fmt.Sprint(c.Value) }

// withName puts an object's name before an argument, if it has one.
func withName(name, argument string) string {
	if name == "" {
		return argument
	}
	return name + ", " + argument
}

// Counters is the oracle of counters. Where all additions to a counter are of the same amount it
// is exact in near-linear time, whatever the number of unknown outcomes (counter_slots.go);
// otherwise each read is held against the least and the most that the counter can have stood at,
// and then orders are searched.
func Counters(h *History) Oracle {
	return Sequential[int64]{Spec: counterSpec(), History: h}
}

func counterSpec() Spec[int64] {
	return Spec[int64]{
		Oracle: OracleCounter,
		Object: func(op *Op) string {
			switch in := op.Input.(type) {
			case Add:
				return in.Counter
			case ReadCounter:
				return in.Counter
			}
			return ""
		},
		Step: func(n int64, op *Op) (int64, bool) {
			if in, ok := op.Input.(Add); ok {
				n += in.Delta
			}
			out, ok := op.Output.(Count)
			return n, !ok || out.Value == n
		},
		ReadOnly: func(op *Op) bool { return op.Kind == KindRead },
		Alike:    func(op *Op) any { return op.Input },
		Check:    checkCounter,
		prepare:  prepareCounter,
	}
}

var counterInputs = map[string]reflect.Type{
	KindAdd: reflect.TypeFor[Add](), KindRead: reflect.TypeFor[ReadCounter](),
}

func checkCounter(op *Op) error {
	if err := checkInput(op, counterInputs); err != nil {
		return err
	}
	_, count := op.Output.(Count)
	if op.Output != nil && !(count && op.Outcome == Ok) || op.Kind == KindRead && op.Outcome == Ok && !count {
		return errOutput(op)
	}
	return nil
}

func prepareCounter(ops []*Op, _ *Spec[int64]) prepared[int64] {
	var last uint64
	for _, op := range ops {
		if op.Output != nil {
			last = max(last, op.Return)
		}
	}
	// An open addition that was called after the last answer was given can't show.
	kept := slices.DeleteFunc(slices.Clone(ops), func(op *Op) bool {
		in, add := op.Input.(Add)
		return add && (in.Delta == 0 && op.Output == nil || op.Outcome == Unknown && op.Call > last)
	})
	p := prepared[int64]{ops: kept}
	if unit, ok := commonDelta(kept); ok {
		p.found, p.exact = judgeSlots(kept, unit), true
		return p
	}
	p.found = countsOutOfRange(kept)
	return p
}

// commonDelta is the amount that every addition adds; ok is false if they differ.
func commonDelta(ops []*Op) (delta int64, ok bool) {
	for _, op := range ops {
		if in, add := op.Input.(Add); add {
			if in.Delta == 0 || delta != 0 && delta != in.Delta {
				return 0, false
			}
			delta = in.Delta
		}
	}
	return delta, true
}

// countsOutOfRange finds answers that are below or above all that the counter can have stood at:
// what was surely added before, with or without whatever may have been.
func countsOutOfRange(ops []*Op) []objection {
	var calls, ends []*Op
	for _, op := range ops {
		if in, add := op.Input.(Add); add && in.Delta != 0 {
			calls = append(calls, op) // in the order of calls already
			ends = append(ends, op)
		}
	}
	slices.SortFunc(ends, func(a, b *Op) int {
		switch {
		case a.Return < b.Return:
			return -1
		case a.Return > b.Return:
			return 1
		}
		return a.ID - b.ID
	})
	// Sums of what was begun and of what was ended, positive and negative apart.
	begun, ended := runningSums(calls), runningSums(ends)
	var found []objection
	for _, op := range ops {
		out, ok := op.Output.(Count)
		if !ok {
			continue
		}
		began := sort.Search(len(calls), func(i int) bool { return calls[i].Call > op.Return })
		done := sort.Search(len(ends), func(i int) bool { return ends[i].Return >= op.Call })
		low := ended[done].up + begun[began].down
		high := begun[began].up + ended[done].down
		if out.Value < low || out.Value > high {
			found = append(found, objection{op: op, why: fmt.Sprintf(
				"the counter can only have stood between %d and %d then: additions that had returned, and those that may have happened",
				low, high)})
		}
	}
	return found
}

type signedSum struct{ up, down int64 }

// runningSums are the sums of the first n additions, for each n.
func runningSums(adds []*Op) []signedSum {
	sums := make([]signedSum, 1, len(adds)+1)
	for _, op := range adds {
		s := sums[len(sums)-1]
		if delta := op.Input.(Add).Delta; delta > 0 {
			s.up += delta
		} else {
			s.down += delta
		}
		sums = append(sums, s)
	}
	return sums
}

func counterModel() Model {
	return Model{
		Name: "counter",
		Doc:  "counters that are added to and read",
		Schema: Schema{
			Inputs:  counterInputs,
			Outputs: map[string]reflect.Type{"count": reflect.TypeFor[Count]()},
		},
		Check:   checkCounter,
		Jepsen:  counterFromJepsen,
		Oracles: func(h *History) []Oracle { return []Oracle{Counters(h)} },
	}
}

// counterFromJepsen takes :add n, :inc, :dec and :read.
func counterFromJepsen(e Entry) (kind string, input, output any, err error) {
	number := func(v Value, missing int64) (n int64, err error) {
		if v == "" {
			return missing, nil
		}
		if err := json.Unmarshal([]byte(v), &n); err != nil {
			return 0, fmt.Errorf(":%s has the value %v; want a whole number", e.F, v)
		}
		return n, nil
	}
	key, value, _ := e.keyed(e.Value)
	switch e.F {
	case KindAdd, "inc", "increment", "dec", "decrement":
		n, err := number(value, 1)
		if e.F == "dec" || e.F == "decrement" {
			n = -n
		}
		return KindAdd, Add{key, n}, nil, err
	case KindRead:
		if e.Outcome == Ok {
			_, answer, _ := e.keyed(e.Answer)
			n, err := number(answer, math.MinInt64)
			if err == nil && n == math.MinInt64 {
				err = fmt.Errorf(":read was answered without a value")
			}
			if err != nil {
				return "", nil, nil, err
			}
			output = Count{n}
		}
		return KindRead, ReadCounter{key}, output, nil
	}
	return "", nil, nil, errFunction(e.F)
}
