package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// What is put before a second judge: objects of so many operations at most, for so many steps for
// each. That is a millisecond or two, and enough for nearly all that a simulated run records.
const (
	confirmOps   = 500
	confirmSteps = 20
)

// confirm has Porcupine judge one object by the plain specification, with none of what makes the
// oracle fast. It returns a violation if the two come to different verdicts; nil if they agree, or
// if the object is large or too hard for a second look.
func (q Sequential[S]) confirm(o *objectHistory, found []Violation) []Violation {
	if len(o.ops) > confirmOps {
		return nil
	}
	ops := toPorcupine("", o.ops)
	steps := newStepBudget(min(q.steps(), confirmSteps*len(ops)))
	legal := porcupine.CheckOperations(q.Spec.porcupine(q.Spec.Step, steps), ops)
	if steps.spent() || legal == (len(found) == 0) {
		return nil
	}
	last := o.ops[len(o.ops)-1]
	v := Violation{Oracle: q.Name(), Event: last.Call, AtNS: last.CallNS}
	how := "it has no objection, and Porcupine finds no order that explains everything"
	if legal {
		v.Event, v.AtNS = found[0].Event, found[0].AtNS
		how = "Porcupine finds an order that explains everything, and it objects: " + found[0].Message
	}
	v.Message = fmt.Sprintf("%sthe two judges disagree, so %s is wrong or the ReadOnly or Alike of its specification is; keep this history: %s",
		objectPrefix(o.name), q.Name(), how)
	return []Violation{v}
}
