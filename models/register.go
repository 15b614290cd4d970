package models

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Names of the oracles of keys with values.
const (
	OracleRegister    = "register/linearizable"
	OracleCASRegister = "cas-register/linearizable"
	OracleKV          = "kv/linearizable"
)

// Registers is the oracle of registers, one for each key, "" being a key as well: [KindRead] and
// [KindWrite]. Each holds null at first.
func Registers(h *History) Oracle {
	return Sequential[cell]{Spec: cellSpec(OracleRegister, registerInputs), History: h}
}

// CASRegisters is the oracle of registers that can also be compared and set: [KindCAS].
func CASRegisters(h *History) Oracle {
	return Sequential[cell]{Spec: cellSpec(OracleCASRegister, casRegisterInputs), History: h}
}

// KV is the oracle of key-value stores: [KindGet], [KindPut], [KindAppend], [KindCAS],
// [KindDelete]. A key that is not there may be read as null or as an empty string.
func KV(h *History) Oracle {
	return Sequential[cell]{Spec: cellSpec(OracleKV, kvInputs), History: h}
}

var (
	foundAs  = reflect.TypeFor[Found]()
	mismatch = reflect.TypeFor[Mismatch]()
)

func registerModel() Model {
	return Model{
		Name: "register",
		Doc:  "registers that are read and written, one for each key",
		Schema: Schema{
			Inputs:  registerInputs,
			Outputs: map[string]reflect.Type{"found": foundAs},
		},
		Check:   func(op *Op) error { return checkCell(op, registerInputs) },
		Jepsen:  cellFromJepsen,
		Oracles: func(h *History) []Oracle { return []Oracle{Registers(h)} },
	}
}

func casRegisterModel() Model {
	return Model{
		Name: "cas-register",
		Doc:  "registers that are read, written, and compared and set, one for each key",
		Schema: Schema{
			Inputs:  casRegisterInputs,
			Outputs: map[string]reflect.Type{"found": foundAs, "mismatch": mismatch},
		},
		Check:   func(op *Op) error { return checkCell(op, casRegisterInputs) },
		Jepsen:  cellFromJepsen,
		Oracles: func(h *History) []Oracle { return []Oracle{CASRegisters(h)} },
	}
}

func kvModel() Model {
	return Model{
		Name: "kv",
		Doc:  "a key-value store: get, put, append, compare-and-set and delete, each key by itself",
		Schema: Schema{
			Inputs:  kvInputs,
			Outputs: map[string]reflect.Type{"found": foundAs, "mismatch": mismatch},
		},
		Check:   func(op *Op) error { return checkCell(op, kvInputs) },
		Jepsen:  cellFromJepsen,
		Oracles: func(h *History) []Oracle { return []Oracle{KV(h)} },
	}
}

// cellFromJepsen takes entries of Jepsen's register tests, of plain registers (:read nil, :write 4,
// :cas [1 2]) and of independent ones, whose values are pairs of key and value.
func cellFromJepsen(e Entry) (kind string, input, output any, err error) {
	switch e.F {
	case KindRead, KindGet:
		key, _, keyed := e.keyed(e.Value)
		if e.Outcome == Ok {
			found := e.Answer
			if _, inner, ok := e.keyed(e.Answer); keyed && ok && e.Key == "" {
				found = inner
			}
			output = Found{found}
		}
		return e.F, Get{key}, output, nil
	case KindWrite, KindPut:
		key, value, _ := e.keyed(e.Value)
		return e.F, Put{key, value}, nil, nil
	case KindCAS:
		key, value := e.Key, e.Value
		// [1 2] is a pair of values, and [key [1 2]] has a pair in second place.
		if e.Key == "" {
			if k, inner, ok := e.keyed(e.Value); ok {
				if _, _, pair := e.pair(inner); pair {
					key, value = k, inner
				}
			}
		}
		old, to, ok := e.pair(value)
		if !ok {
			return "", nil, nil, fmt.Errorf(":cas has the value %v; want a pair, [old new]", e.Value)
		}
		return e.F, CompareAndSet{key, old, to}, nil, nil
	case KindAppend:
		key, value, _ := e.keyed(e.Value)
		return e.F, Append{key, value}, nil, nil
	case KindDelete:
		key := e.Key
		if key == "" && e.Value != "" {
			key = e.keyText(e.Value)
		}
		return e.F, Delete{key}, nil, nil
	}
	return "", nil, nil, errFunction(e.F)
}

// errFunction says that the model has no operation for what a Jepsen test calls :f.
func errFunction(f string) error { return fmt.Errorf("the model has no operation :%s", f) }

// pair takes apart a vector of two.
func (e Entry) pair(v Value) (first, second Value, ok bool) {
	var both []Value
	if len(v) == 0 || v[0] != '[' || json.Unmarshal([]byte(v), &both) != nil || len(both) != 2 {
		return "", "", false
	}
	return both[0], both[1], true
}

// keyed takes apart a value of an independent key, unless the entry names its key by itself.
func (e Entry) keyed(v Value) (key string, value Value, ok bool) {
	if e.Key != "" {
		return e.Key, v, true
	}
	if k, inner, pair := e.pair(v); pair {
		return e.keyText(k), inner, true
	}
	return "", v, false
}

// keyText is a value as the name of an object.
func (e Entry) keyText(v Value) string {
	if text, ok := v.Text(); ok {
		return text
	}
	return string(v)
}
