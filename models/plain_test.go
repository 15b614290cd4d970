package models

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// machine is a system once more, as plainly as can be: what the models are measured against on
// histories small enough to try every order. States are maps from names to texts.
type machine struct {
	model string
	// invent makes up an operation; fresh numbers operations.
	invent func(choose chooser, fresh int) (kind string, input any)
	// apply carries one out on the state, which it changes.
	apply func(state map[string]string, input any) (output any, outcome Outcome)
	// garble makes up an answer, perhaps a wrong one.
	garble func(choose chooser, op *Op) any
}

var machines = []machine{
	{model: "register", invent: inventCell(KindRead, KindWrite), apply: applyCell, garble: garbleFound},
	{model: "cas-register", invent: inventCell(KindRead, KindWrite, KindCAS), apply: applyCell, garble: garbleFound},
	{model: "kv", invent: inventCell(KindGet, KindPut, KindCAS, KindAppend, KindDelete), apply: applyCell, garble: garbleFound},
	{model: "kv", invent: inventCell(KindGet, KindGet, KindAppend), apply: applyCell, garble: garbleFound},
	{model: "kv", invent: inventCell(KindGet, KindCAS, KindDelete), apply: applyCell, garble: garbleFound},
	{model: "set", invent: inventSet(KindAdd, KindRead), apply: applySet, garble: garbleSet},
	{model: "set", invent: inventSet(KindAdd, KindRemove, KindRead), apply: applySet, garble: garbleSet},
	{model: "set", invent: inventSet(KindAdd, KindRemove, KindContains), apply: applySet, garble: garbleSet},
	{model: "queue", invent: inventQueue(100), apply: applyQueue, garble: garbleQueue},
	{model: "queue", invent: inventQueue(2), apply: applyQueue, garble: garbleQueue},
	{model: "counter", invent: inventCounter(1), apply: applyCounter, garble: garbleCounter},
	{model: "counter", invent: inventCounter(-2), apply: applyCounter, garble: garbleCounter},
	{model: "counter", invent: inventCounter(1, -1, 2), apply: applyCounter, garble: garbleCounter},
	{model: "lock", invent: inventLock, apply: applyLock, garble: func(choose chooser, op *Op) any {
		if op.Output == nil {
			return nil
		}
		return Granted{int64(choose(4))}
	}},
}

func pick[T any](choose chooser, of ...T) T { return of[choose(len(of))] }

func inventCell(kinds ...string) func(chooser, int) (string, any) {
	return func(choose chooser, _ int) (string, any) {
		key := pick(choose, "", "", "b")
		value := func() Value { return pick[Value](choose, `"x"`, `"y"`, `"z"`) }
		switch kind := pick(choose, kinds...); kind {
		case KindRead, KindGet:
			return kind, Get{key}
		case KindWrite, KindPut:
			return kind, Put{key, value()}
		case KindAppend:
			return kind, Append{key, value()}
		case KindDelete:
			return kind, Delete{key}
		default:
			return kind, CompareAndSet{key, pick(choose, value(), ""), value()}
		}
	}
}

func applyCell(state map[string]string, input any) (any, Outcome) {
	switch in := input.(type) {
	case Get:
		return Found{Value(state[in.Key])}, Ok
	case Put:
		state[in.Key] = string(in.Value)
	case Delete:
		delete(state, in.Key)
	case Append:
		state[in.Key] = `"` + strings.Trim(state[in.Key], `"`) + strings.Trim(string(in.Value), `"`) + `"`
	case CompareAndSet:
		if state[in.Key] != string(in.Old) {
			return Mismatch{}, Fail
		}
		state[in.Key] = string(in.New)
	}
	return nil, Ok
}

func garbleFound(choose chooser, op *Op) any {
	if _, ok := op.Output.(Found); ok {
		return Found{pick[Value](choose, `"x"`, `"y"`, `"z"`, "", `"xy"`, `"yx"`)}
	}
	return op.Output
}

func inventSet(kinds ...string) func(chooser, int) (string, any) {
	return func(choose chooser, _ int) (string, any) {
		e := pick[Value](choose, "1", "2", `"a"`)
		switch kind := pick(choose, kinds...); kind {
		case KindAdd:
			return kind, AddElement{"", e}
		case KindRemove:
			return kind, RemoveElement{"", e}
		case KindContains:
			return kind, ContainsElement{"", e}
		default:
			return kind, ReadSet{""}
		}
	}
}

func applySet(state map[string]string, input any) (any, Outcome) {
	switch in := input.(type) {
	case AddElement:
		state[string(in.Element)] = "in"
	case RemoveElement:
		was := state[string(in.Element)] == "in"
		delete(state, string(in.Element))
		return Changed{was}, Ok
	case ContainsElement:
		return Contained{state[string(in.Element)] == "in"}, Ok
	case ReadSet:
		var all []Value
		for _, e := range slices.Sorted(maps.Keys(state)) {
			all = append(all, Value(e))
		}
		return Members{all}, Ok
	}
	return nil, Ok
}

func garbleSet(choose chooser, op *Op) any {
	switch out := op.Output.(type) {
	case Members:
		var all []Value
		for _, e := range []Value{`"a"`, "1", "2"} {
			if choose(2) == 0 {
				all = append(all, e)
			}
		}
		return Members{all}
	case Contained:
		return Contained{!out.Contained}
	case Changed:
		return Changed{!out.Changed}
	}
	return op.Output
}

func inventQueue(values int) func(chooser, int) (string, any) {
	return func(choose chooser, fresh int) (string, any) {
		if choose(2) == 0 {
			return KindDequeue, Dequeue{""}
		}
		return KindEnqueue, Enqueue{"", Int(int64(fresh % values))}
	}
}

func applyQueue(state map[string]string, input any) (any, Outcome) {
	switch in := input.(type) {
	case Enqueue:
		state[""] += string(in.Value) + " "
	case Dequeue:
		head, rest, ok := strings.Cut(state[""], " ")
		if !ok {
			return EmptyQueue{}, Ok
		}
		state[""] = rest
		return Item{Value(head)}, Ok
	}
	return nil, Ok
}

func garbleQueue(choose chooser, op *Op) any {
	if op.Output == nil {
		return nil
	}
	if choose(3) == 0 {
		return EmptyQueue{}
	}
	return Item{Int(int64(choose(6)))}
}

func inventCounter(deltas ...int64) func(chooser, int) (string, any) {
	return func(choose chooser, _ int) (string, any) {
		if choose(2) == 0 {
			return KindRead, ReadCounter{""}
		}
		return KindAdd, Add{"", pick(choose, deltas...)}
	}
}

func applyCounter(state map[string]string, input any) (any, Outcome) {
	var n int64
	_, _ = fmt.Sscan(state[""], &n)
	if in, ok := input.(Add); ok {
		n += in.Delta
		state[""] = fmt.Sprint(n)
	}
	return Count{n}, Ok
}

func garbleCounter(choose chooser, op *Op) any {
	if out, ok := op.Output.(Count); ok {
		return Count{out.Value + int64(choose(5)) - 2}
	}
	return op.Output
}

func inventLock(choose chooser, _ int) (string, any) {
	owner := pick(choose, "p", "q")
	if choose(3) == 0 {
		return KindRelease, Release{"", owner}
	}
	return KindAcquire, Acquire{"", owner, 0}
}

func applyLock(state map[string]string, input any) (any, Outcome) {
	var token int64
	_, _ = fmt.Sscan(state["token"], &token)
	switch in := input.(type) {
	case Acquire:
		switch state["owner"] {
		case "":
			state["owner"], state["token"] = in.Owner, fmt.Sprint(token+1)
			return Granted{token + 1}, Ok
		case in.Owner:
			return nil, Fail
		}
		return Held{state["owner"]}, Fail
	case Release:
		if state["owner"] == in.Owner {
			state["owner"] = ""
			return nil, Ok
		}
	}
	return nil, Fail
}

// play has clients operate a machine at once, and records what happens. Some operations are
// given up on, some answers garbled.
func (m machine) play(choose chooser, clients, ops, unknown, garbled int) *History {
	type client struct {
		token   *Token
		applied bool
		output  any
		outcome Outcome
	}
	h := NewHistory()
	state := map[string]string{}
	all := make([]client, clients)
	at := uint64(0)
	for busy := 0; busy > 0 || h.Len() < ops; {
		at++
		i := choose(clients)
		c := &all[i]
		switch {
		case c.token == nil && h.Len() < ops:
			kind, input := m.invent(choose, h.Len())
			token := h.Begin(i, kind, input, at, int64(at))
			c.token, busy = &token, busy+1
		case c.token == nil:
		case !c.applied && choose(100) < unknown:
			if choose(2) == 0 {
				m.apply(state, c.token.op.Input)
			}
			h.End(*c.token, Unknown, nil, at, int64(at))
			*c, busy = client{}, busy-1
		case !c.applied:
			c.applied = true
			c.output, c.outcome = m.apply(state, c.token.op.Input)
			if _, add := c.token.op.Input.(Add); add && choose(2) == 0 {
				c.output = nil // counters may tell what was added up to, or not
			}
		default:
			h.End(*c.token, c.outcome, c.output, at, int64(at))
			if c.outcome == Ok && choose(100) < garbled {
				c.token.op.Output = m.garble(choose, c.token.op)
			}
			*c, busy = client{}, busy-1
		}
	}
	return h
}

// explainable tries every order of every history's operations.
func (m machine) explainable(h *History) bool {
	ops := h.Ops()
	placed := make([]bool, len(ops))
	var try func(state map[string]string) bool
	try = func(state map[string]string) bool {
		first, done := Open, true // the first return of what is not placed yet
		for i, op := range ops {
			if !placed[i] && op.Outcome != Unknown {
				first, done = min(first, op.Return), false
			}
		}
		if done {
			return true
		}
		for i, op := range ops {
			if placed[i] || op.Call > first {
				continue
			}
			next := maps.Clone(state)
			output, outcome := m.apply(next, op.Input)
			switch {
			case op.Outcome == Fail && op.Output == nil:
				next = maps.Clone(state) // it surely did nothing
			case op.Outcome == Unknown:
				if outcome != Ok {
					continue
				}
				if _, ok := op.Input.(Acquire); ok {
					next["token"] = state["token"] // nobody was told one, and there need not be any
				}
			case outcome != op.Outcome, op.Output != nil && !sameAnswer(output, op.Output):
				continue
			}
			if granted, ok := op.Output.(Granted); ok {
				next["token"] = fmt.Sprint(granted.Token)
			}
			placed[i] = true
			ok := try(next)
			placed[i] = false
			if ok {
				return true
			}
		}
		return false
	}
	return try(map[string]string{})
}

func sameAnswer(a, b any) bool {
	if m, ok := b.(Members); ok && len(m.Elements) == 0 {
		b = Members{}
	}
	if told, ok := b.(Granted); ok {
		return told.Token >= a.(Granted).Token // tokens may skip
	}
	return reflect.DeepEqual(a, b)
}

// Every model's verdict, with all its pruning, patterns and tricks, is that of trying everything.
func TestModelsAgreeWithTryingEverything(t *testing.T) {
	for i, m := range machines {
		t.Run(fmt.Sprintf("%s-%d", m.model, i), func(t *testing.T) {
			model, err := Lookup(m.model)
			require.NoError(t, err)
			verdicts := map[Verdict]int{}
			rapid.Check(t, func(rt *rapid.T) {
				seed := rapid.Uint64().Draw(rt, "seed")
				ops := rapid.IntRange(1, 8).Draw(rt, "ops")
				clients := rapid.IntRange(1, 4).Draw(rt, "clients")
				unknown := rapid.SampledFrom([]int{0, 20, 50}).Draw(rt, "unknown")
				garbled := rapid.SampledFrom([]int{0, 10, 30}).Draw(rt, "garbled")
				h := m.play(seededChooser(seed), clients, ops, unknown, garbled)
				want := VerdictFail
				if m.explainable(h) {
					want = VerdictPass
				}
				for _, j := range model.Judge(h, Bounds{}) {
					if j.Verdict == VerdictUnknown {
						require.Zero(rt, j.Judged, "only what has nothing to judge is unknown here")
						continue
					}
					verdicts[j.Verdict]++
					require.Equal(rt, want, j.Verdict, "%s\n%v", listing(h), j.Violations)
				}
			})
			if !testing.Short() { // too few histories for both
				require.NotZero(t, verdicts[VerdictPass])
				require.NotZero(t, verdicts[VerdictFail])
			}
		})
	}
}

// porcupineVerdict is Porcupine's, of the operations as they were recorded.
func (q Sequential[S]) porcupineVerdict(t require.TestingT) porcupine.CheckResult {
	ops, err := q.Spec.Operations(q.History.Ops())
	require.NoError(t, err)
	return porcupine.CheckOperationsTimeout(q.Spec.Porcupine(), ops, 0)
}

// Porcupine, which knows only the specifications, agrees on larger histories.
func TestModelsAgreeWithPorcupine(t *testing.T) {
	for i, m := range machines {
		t.Run(fmt.Sprintf("%s-%d", m.model, i), func(t *testing.T) {
			model, err := Lookup(m.model)
			require.NoError(t, err)
			rapid.Check(t, func(rt *rapid.T) {
				seed := rapid.Uint64().Draw(rt, "seed")
				h := m.play(seededChooser(seed), 4, rapid.IntRange(10, 30).Draw(rt, "ops"),
					rapid.SampledFrom([]int{0, 5}).Draw(rt, "unknown"), rapid.SampledFrom([]int{0, 3}).Draw(rt, "garbled"))
				for _, o := range model.Oracles(h) {
					j := o.Judge()
					result := o.(interface {
						porcupineVerdict(t require.TestingT) porcupine.CheckResult
					}).porcupineVerdict(rt)
					require.Equal(rt, result == porcupine.Illegal, j.Verdict == VerdictFail, "%s\n%v", listing(h), j.Violations)
				}
			})
		})
	}
}
