package models

import (
	"fmt"
	"reflect"
)

// checkInput refuses an operation of a kind that is not among these, or with another type of input
// than the kind has.
func checkInput(op *Op, inputs map[string]reflect.Type) error {
	want, ok := inputs[op.Kind]
	switch {
	case !ok:
		return fmt.Errorf("operation #%d is of kind %q, which the model does not have; it has %s", op.ID, op.Kind, names(inputs))
	case reflect.TypeOf(op.Input) != want:
		return fmt.Errorf("operation #%d of kind %s has an input of type %T; record it with %v", op.ID, op.Kind, op.Input, want)
	}
	return nil
}
