package models

import (
	"fmt"
	"reflect"
	"strings"
)

// Kinds of operation of the models register, cas-register and kv. The registers call them read,
// write and cas, which is what Jepsen's tests do; kv has get, put, append, cas and delete.
const (
	KindRead   = "read"   // input [Get]; ok: [Found]
	KindWrite  = "write"  // input [Put]
	KindCAS    = "cas"    // input [CompareAndSet]; fail: [Mismatch]
	KindGet    = "get"    // input [Get]; ok: [Found]
	KindPut    = "put"    // input [Put]
	KindAppend = "append" // input [Append]
	KindDelete = "delete" // input [Delete]
)

// Get asks for the value of a key.
type Get struct {
	Key string `json:"key,omitempty"`
}

func (g Get) String() string { return keyArguments(g.Key) }

// Found is the answer to [Get]: null if there is nothing.
type Found struct {
	Value Value `json:"value"`
}

func (f Found) String() string { return f.Value.String() }

// Put makes the value that of the key.
type Put struct {
	Key   string `json:"key,omitempty"`
	Value Value  `json:"value"`
}

func (p Put) String() string { return keyArguments(p.Key, p.Value) }

// Append adds a string to the end of the key's value, which is a string; nothing counts as an
// empty one.
type Append struct {
	Key   string `json:"key,omitempty"`
	Value Value  `json:"value"`
}

func (a Append) String() string { return keyArguments(a.Key, a.Value) }

// CompareAndSet makes the value New if it is Old.
type CompareAndSet struct {
	Key string `json:"key,omitempty"`
	Old Value  `json:"old"`
	New Value  `json:"new"`
}

func (c CompareAndSet) String() string { return keyArguments(c.Key, c.Old, c.New) }

// Mismatch is the answer that nothing was set because the value was not Old. A failed
// [CompareAndSet] without it says nothing: the request may not have got there.
type Mismatch struct{}

func (Mismatch) String() string { return "mismatch" }

// Delete takes the key's value away.
type Delete struct {
	Key string `json:"key,omitempty"`
}

func (d Delete) String() string { return keyArguments(d.Key) }

// keyArguments is what stands behind an operation's name in messages.
func keyArguments(key string, values ...Value) string {
	var parts []string
	if key != "" {
		parts = append(parts, key)
	}
	for _, v := range values {
		parts = append(parts, v.String())
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// cell is the state of one key. Absent values are null.
type cell struct {
	value Value
	// owed: an open operation has just made the value, so that the next operation must be one
	// that sees it; see cellSpec.
	owed bool
}

func (c cell) String() string { return c.value.String() }
func (c cell) size() int      { return len(c.value) }

// What the models of cells have: kinds of operation and the types of their inputs.
var (
	registerInputs    = map[string]reflect.Type{KindRead: reflect.TypeFor[Get](), KindWrite: reflect.TypeFor[Put]()}
	casRegisterInputs = map[string]reflect.Type{
		KindRead: reflect.TypeFor[Get](), KindWrite: reflect.TypeFor[Put](), KindCAS: reflect.TypeFor[CompareAndSet](),
	}
	kvInputs = map[string]reflect.Type{
		KindGet: reflect.TypeFor[Get](), KindPut: reflect.TypeFor[Put](), KindCAS: reflect.TypeFor[CompareAndSet](),
		KindAppend: reflect.TypeFor[Append](), KindDelete: reflect.TypeFor[Delete](),
	}
)

// cellSpec is the specification of keys with values, each key an object of its own.
//
// What makes cells hard to judge is open operations: each may have happened at any of many
// moments. But on a key without appends an open operation that takes effect can be moved to the
// moment just before the first operation that sees the value it made: nothing between the two
// sees or makes a value. If nothing sees it before it is overwritten, it may as well never happen.
// So the state notes that a value made by an open operation is owed to an operation that sees it,
// and no operation that does not may come next. Together with pruneCell, which drops what nothing
// can see at all, this leaves an open operation a choice only where its own value was seen.
func cellSpec(oracle string, inputs map[string]reflect.Type) Spec[cell] {
	return Spec[cell]{
		Oracle: oracle,
		Object: func(op *Op) string { return cellKey(op) },
		Step:   func(c cell, op *Op) (cell, bool) { return cellStep(c, op, false) },
		ReadOnly: func(op *Op) bool {
			_, get := op.Input.(Get)
			return get || op.Outcome == Fail
		},
		Alike:   func(op *Op) any { return op.Input },
		Check:   func(op *Op) error { return checkCell(op, inputs) },
		prepare: prepareCell,
	}
}

func cellKey(op *Op) string {
	switch in := op.Input.(type) {
	case Get:
		return in.Key
	case Put:
		return in.Key
	case Append:
		return in.Key
	case CompareAndSet:
		return in.Key
	case Delete:
		return in.Key
	}
	return ""
}

// checkCell refuses operations that are none of the model's.
func checkCell(op *Op, inputs map[string]reflect.Type) error {
	if err := checkInput(op, inputs); err != nil {
		return err
	}
	if in, ok := op.Input.(Append); ok {
		if _, text := in.Value.Text(); !text {
			return fmt.Errorf("operation #%d appends %v; only strings can be appended", op.ID, in.Value)
		}
	}
	_, found := op.Output.(Found)
	_, mismatch := op.Output.(Mismatch)
	_, get := op.Input.(Get)
	_, cas := op.Input.(CompareAndSet)
	switch {
	case op.Outcome == Ok && get != found,
		mismatch && !(op.Outcome == Fail && cas),
		op.Output != nil && !found && !mismatch,
		found && !(op.Outcome == Ok && get):
		return errOutput(op)
	}
	return nil
}

const emptyText Value = `""`

// shows reports whether a reader of the value can be told that it is seen: an absent one may be
// shown as an empty string.
func (v Value) shows(seen Value) bool { return v == seen || v == "" && seen == emptyText }

// cellStep is the specification. With owing, values that open operations make are owed.
func cellStep(c cell, op *Op, owing bool) (cell, bool) {
	made := func(v Value) (cell, bool) {
		return cell{v, owing && op.Outcome == Unknown}, true
	}
	switch in := op.Input.(type) {
	case Get:
		if op.Outcome != Ok {
			return c, true
		}
		return cell{value: c.value}, c.value.shows(op.Output.(Found).Value)
	case CompareAndSet:
		matches := c.value.shows(in.Old)
		if op.Outcome == Fail {
			return cell{value: c.value}, !matches
		}
		if !matches {
			return c, false
		}
		return made(in.New)
	}
	if c.owed {
		return c, false
	}
	switch in := op.Input.(type) {
	case Put:
		return made(in.Value)
	case Delete:
		return made("")
	case Append:
		return cell{value: joined(c.value, in.Value)}, appendable(c.value)
	}
	return c, false
}

func appendable(v Value) bool { return v == "" || strings.HasPrefix(string(v), `"`) }

// joined appends one string to another. JSON texts of strings are joined as they are: each
// character is written the same wherever it stands.
func joined(a, b Value) Value {
	if a == "" {
		return b
	}
	return a[:len(a)-1] + b[1:]
}
