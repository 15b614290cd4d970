package models

import (
	"fmt"
	"io"

	"github.com/anishathalye/porcupine"
)

// DefaultSearchSteps bounds the search for each object when [Bounds].Steps is 0. A step takes
// well under a microsecond; histories that can be explained take few a operation.
const DefaultSearchSteps = 10_000_000

// Sequential is the oracle of objects with a sequential specification: it passes histories in
// which each object's operations behave as if they had happened one after the other, each at
// some moment between its call and its return.
//
// A violation is reported as the shortest prefix that cannot be explained, and the few of its
// operations that contradict each other. Objects of a few hundred operations are put before
// Porcupine as well; if the two judges do not agree, that is a violation too.
type Sequential[S comparable] struct {
	Spec    Spec[S]
	History *History
	Bounds  Bounds
}

// Name is that of the specification.
func (q Sequential[S]) Name() string { return q.Spec.Oracle }

// Bound returns the oracle with other limits.
func (q Sequential[S]) Bound(b Bounds) Oracle {
	q.Bounds = b
	return q
}

// Judge judges every object.
func (q Sequential[S]) Judge() Judgement {
	objects, err := q.Spec.objects(q.History.Ops())
	if err != nil {
		return judge(q.Name(), 0, nil, []Violation{{Oracle: q.Name(), Message: err.Error()}})
	}
	var found, undecided []Violation
	judged := 0
	for _, o := range objects {
		judged += o.answered
		bad, open := q.judgeObject(o)
		if len(open) == 0 {
			bad = append(bad, q.confirm(o, bad)...)
		}
		found, undecided = append(found, bad...), append(undecided, open...)
	}
	return judge(q.Name(), judged, found, undecided)
}

func (q Sequential[S]) steps() int {
	if q.Bounds.Steps > 0 {
		return q.Bounds.Steps
	}
	return DefaultSearchSteps
}

func (q Sequential[S]) budget() *searchBudget {
	return newSearchBudget(q.steps(), q.Bounds.Done)
}

func (q Sequential[S]) judgeObject(o *objectHistory) (found, undecided []Violation) {
	p := q.Spec.ready(o.ops)
	if len(p.found) > 0 {
		for _, objection := range p.found {
			found = append(found, q.object(o, objection))
		}
		return found, nil
	}
	if p.exact {
		return nil, nil
	}
	result, passed := q.search(p, q.budget())
	switch result {
	case porcupine.Ok:
		return nil, nil
	case porcupine.Unknown:
		return nil, []Violation{q.limit(o)}
	}
	return []Violation{q.explain(o, passed)}, nil
}

// search looks for an order of one object's operations. If there is none, all answers given
// before the position passed can be explained.
func (q Sequential[S]) search(p prepared[S], budget *searchBudget) (result porcupine.CheckResult, passed uint64) {
	s, err := newSearch(&q.Spec, p, budget)
	if err != nil {
		return q.searchWide(p, budget), 0
	}
	ok := s.run()
	switch {
	case budget.spent() && !ok:
		return porcupine.Unknown, 0
	case ok:
		return porcupine.Ok, 0
	}
	return porcupine.Illegal, s.ops[s.returns[s.farthest]].Return
}

// searchWide leaves to Porcupine what has more operations at a time than the search can tell
// apart.
func (q Sequential[S]) searchWide(p prepared[S], budget *searchBudget) porcupine.CheckResult {
	ops := toPorcupine("", p.ops)
	steps := newStepBudget(min(budget.left, max(4*len(ops), stepBytes/(len(ops)/8+150))))
	stop := make(chan struct{})
	defer close(stop)
	if budget.done != nil {
		go func() {
			select {
			case <-budget.done:
				steps.left.Store(-1)
			case <-stop:
			}
		}()
	}
	result := porcupine.CheckOperationsTimeout(q.Spec.porcupine(p.step, steps), ops, 0)
	if steps.spent() && result != porcupine.Ok {
		return porcupine.Unknown
	}
	return result
}

func (q Sequential[S]) limit(o *objectHistory) Violation {
	last := o.ops[len(o.ops)-1]
	return Violation{
		Oracle: Limit, Event: last.Call, AtNS: last.CallNS,
		Message: fmt.Sprintf("%s%s could not judge %d operations within %d steps of its search, or was stopped: "+
			"allow more, or record with fewer clients at a time on one object, fewer unknown outcomes, or values that differ",
			objectPrefix(o.name), q.Name(), len(o.ops), q.steps()),
	}
}

// objectPrefix begins a message about one object.
func objectPrefix(name string) string {
	if name == "" {
		return ""
	}
	return name + ": "
}

// object makes a violation of what was found without searching.
func (q Sequential[S]) object(o *objectHistory, found objection) Violation {
	if found.told {
		return Violation{
			Oracle: q.Name(), Message: objectPrefix(o.name) + found.why, Event: found.op.Return, AtNS: found.op.ReturnNS,
		}
	}
	message := fmt.Sprintf("%s%s: %s", objectPrefix(o.name), describeOp(found.op), found.why)
	first := found.op
	for _, op := range found.others {
		message += "\n  " + describeOp(op)
		if op.Call < first.Call {
			first = op
		}
	}
	message += "\n  " + windowText(first, found.op, 1+len(found.others), len(o.ops))
	return Violation{Oracle: q.Name(), Message: message, Event: found.op.Return, AtNS: found.op.ReturnNS}
}

// pictureLimit bounds the operations of a picture: a page with more takes a browser too long.
const pictureLimit = 2000

// Visualize writes Porcupine's picture. Where the history is long it shows the objects that
// violate the specification, from the failing window's beginning to its end.
func (q Sequential[S]) Visualize(w io.Writer) error {
	objects, err := q.Spec.objects(q.History.Ops())
	if err != nil {
		return err
	}
	total := 0
	for _, o := range objects {
		total += len(o.ops)
	}
	spec := q.Spec
	var ops []porcupine.Operation
	for _, o := range objects {
		shown := o.ops
		if total > pictureLimit {
			bad, _ := q.judgeObject(o)
			if len(bad) == 0 {
				continue
			}
			shown = spec.upTo(o.ops, bad[0].Event)
			shown = shown[max(0, len(shown)-pictureLimit):]
		}
		ops = append(ops, toPorcupine(o.name, shown)...)
	}
	model := spec.porcupine(spec.Step, newStepBudget(pictureSteps))
	_, info := porcupine.CheckOperationsVerbose(model, ops, 0)
	// The replay of what was found must not run into the spent budget.
	if err := porcupine.Visualize(spec.Porcupine(), info, w); err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	return nil
}

// pictureSteps bounds the search behind a picture, which is there to be looked at.
const pictureSteps = 300_000
