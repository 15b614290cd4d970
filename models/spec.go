package models

import (
	"github.com/anishathalye/porcupine"
)

// Spec is the sequential specification of an object: what it may answer if operations come one
// after the other. S is its state; == tells states apart, so encode what is not comparable, a
// list as a string say. [Sequential] judges histories by it.
//
// Histories are linearizable if their operations behave as if each had happened at one moment
// between its call and its return. One that failed without an output is left out: it surely did
// nothing. One of unknown outcome may happen at any moment after its call, or never.
type Spec[S comparable] struct {
	// Oracle is how reports call what judges by this: "kv/linearizable".
	Oracle string
	// Init is the state of each object before the first operation.
	Init S
	// Step says whether an operation in the given state can have ended as it did, and in which
	// state it leaves the object. For one of unknown outcome it says what happens if it takes
	// effect; that it need not is taken care of. It must depend on nothing but its arguments,
	// and of the operation neither on ID nor on Process.
	Step func(state S, op *Op) (next S, legal bool)
	// Object names the object that an operation is on. Objects are judged each by itself, which
	// is what makes long histories cheap (linearizability is local: Herlihy and Wing, 1990).
	// Nil: there is one object, "".
	Object func(op *Op) string
	// ReadOnly reports whether an operation never changes a state, whatever it is. Those of
	// unknown outcome are left out, others happen as soon as the state allows it. Nil: none is.
	ReadOnly func(op *Op) bool
	// Alike says that operations of unknown outcome for which it is the same comparable value do
	// the same, so that the search needs to try only the earliest of those left; with nil, an
	// operation is like no other. Nil: none is.
	Alike func(op *Op) any
	// Check reports what an operation was wrongly recorded with, such as an output of a type
	// that its kind does not have. Nil: nothing is checked, and Step must cope.
	Check func(op *Op) error

	// prepare readies the operations on one object, in the order of their calls, for searching.
	prepare func(ops []*Op, s *Spec[S]) prepared[S]
}

// prepared is what is left to do for one object.
type prepared[S comparable] struct {
	// ops are what a search must place. Unknown outcomes that cannot matter are gone.
	ops []*Op
	// step replaces [Spec].Step if it knows of more that leads nowhere.
	step func(state S, op *Op) (S, bool)
	// found are violations that show without a search.
	found []objection
	// exact says that there is no other violation than found: no search is needed.
	exact bool
}

// objection is a violation found without searching.
type objection struct {
	// op is the operation that completes the violation, others what else takes part.
	op     *Op
	others []*Op
	why    string
	// told: why is the whole message.
	told bool
}

// object is one object's share of a history.
type objectHistory struct {
	name string
	// ops are those on the object that say something, in the order of their calls.
	ops []*Op
	// answered counts those with a definite outcome.
	answered int
}

// objects sorts operations by object, in the order of each object's first call, and leaves out
// what says nothing. The error is the first operation's that is wrongly recorded.
func (s *Spec[S]) objects(ops []*Op) ([]*objectHistory, error) {
	index := map[string]*objectHistory{}
	var all []*objectHistory
	for _, op := range ops {
		if s.Check != nil {
			if err := s.Check(op); err != nil {
				return nil, err
			}
		}
		if s.idle(op) {
			continue
		}
		name := ""
		if s.Object != nil {
			name = s.Object(op)
		}
		o := index[name]
		if o == nil {
			o = &objectHistory{name: name}
			index[name] = o
			all = append(all, o)
		}
		o.ops = append(o.ops, op)
		if op.Outcome != Unknown {
			o.answered++
		}
	}
	return all, nil
}

// idle reports whether an operation can neither have done anything nor tell anything.
func (s *Spec[S]) idle(op *Op) bool {
	switch op.Outcome {
	case Fail:
		return op.Output == nil
	case Unknown:
		return s.readOnly(op)
	}
	return false
}

func (s *Spec[S]) readOnly(op *Op) bool { return s.ReadOnly != nil && s.ReadOnly(op) }

// ready prepares one object's operations.
func (s *Spec[S]) ready(ops []*Op) prepared[S] {
	p := prepared[S]{ops: ops}
	if s.prepare != nil {
		p = s.prepare(ops, s)
	}
	if p.step == nil {
		p.step = s.Step
	}
	return p
}

// PorcupineState is the state that [Spec.Porcupine] gives to Porcupine.
type PorcupineState[S comparable] struct {
	State S
	// Ended: the history is over, and what is still open never happens.
	Ended bool
}

// historyEnd is the input of the operation that comes after all others but the open ones.
type historyEnd struct{}

// Porcupine is the specification as a model for Porcupine, for operations made by
// [Spec.Operations].
func (s Spec[S]) Porcupine() porcupine.Model { return s.porcupine(s.Step, nil) }

// Operations makes Porcupine operations of recorded ones: those that say nothing are left out,
// open ones return after everything else, and each object gets an operation that stands for the
// end of the history, after which open ones do nothing. That keeps Porcupine deterministic where
// an open operation may happen or not. Inputs are *[Op]; metadata names the object.
func (s Spec[S]) Operations(ops []*Op) ([]porcupine.Operation, error) {
	objects, err := s.objects(ops)
	if err != nil {
		return nil, err
	}
	var all []porcupine.Operation
	for _, o := range objects {
		all = append(all, toPorcupine(o.name, o.ops)...)
	}
	return all, nil
}

func toPorcupine(object string, ops []*Op) []porcupine.Operation {
	if len(ops) == 0 {
		return nil
	}
	var all []porcupine.Operation
	for _, op := range ops {
		all = append(all, porcupine.Operation{
			ClientId: op.Process, Input: op, Metadata: object,
			Call: toPorcupineTime(op.Call), Return: toPorcupineTime(op.Return),
		})
	}
	return append(all, porcupine.Operation{
		ClientId: 0, Input: historyEnd{}, Metadata: object,
		Call: endPosition, Return: endPosition,
	})
}

// porcupine is the model with another step, and with a budget unless it is nil.
func (s *Spec[S]) porcupine(step func(S, *Op) (S, bool), budget *stepBudget) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			return partitionBy(history, func(op porcupine.Operation) string { return op.Metadata.(string) })
		},
		Init: func() any { return PorcupineState[S]{State: s.Init} },
		Step: func(state, input, _ any) (bool, any) {
			at := state.(PorcupineState[S])
			op, ok := input.(*Op)
			if !ok {
				at.Ended = true
				return true, at
			}
			if at.Ended {
				return true, at
			}
			if budget != nil && !budget.take() {
				return false, state
			}
			next, legal := step(at.State, op)
			return legal, PorcupineState[S]{State: next}
		},
		Hash: func(state any) uint64 { return stateHash(state.(PorcupineState[S])) },
		DescribeOperation: func(input, _ any) string {
			if op, ok := input.(*Op); ok {
				return op.String()
			}
			return "end"
		},
		DescribeState:             func(state any) string { return describeState(state.(PorcupineState[S]).State) },
		DescribeOperationMetadata: func(object any) string { return object.(string) },
	}
}

// partitionBy splits a history by key, in the order in which keys first occur.
func partitionBy[K comparable](history []porcupine.Operation, key func(porcupine.Operation) K) [][]porcupine.Operation {
	index := map[K]int{}
	var parts [][]porcupine.Operation
	for _, op := range history {
		k := key(op)
		i, ok := index[k]
		if !ok {
			i = len(parts)
			index[k] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], op)
	}
	return parts
}
