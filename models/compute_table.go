package models

import (
	"fmt"
	"strings"
)

// OracleComputeLinearizable is the oracle of [ComputeTable].
const OracleComputeLinearizable = "compute/peek-linearizable"

// TableKeys is how many keys a table of [ComputeTable] has, from 0 on.
const TableKeys = 8

// TableState is what the keys of a table hold; 0 is nothing.
type TableState [TableKeys]int64

func (s TableState) String() string {
	var b strings.Builder
	for k, v := range s {
		if v != 0 {
			fmt.Fprintf(&b, " %d=%d", k, v)
		}
	}
	return "{" + strings.TrimSpace(b.String()) + "}"
}

// Kinds of operations on a table.
const (
	// KindTableWrite sets keys, all at once. Its input is a [TableWrite].
	KindTableWrite = "table-write"
	// KindTablePeek reads them all. Its output is a [TableState].
	KindTablePeek = "table-peek"
)

// TableWrite is what a write sets; 0 clears the key.
type TableWrite map[int]int64

func (w TableWrite) String() string {
	var b strings.Builder
	for k := range TableKeys {
		if v, ok := w[k]; ok {
			fmt.Fprintf(&b, " %d=%d", k, v)
		}
	}
	return "{" + strings.TrimSpace(b.String()) + "}"
}

// ComputeTable is the oracle of a table that is written, and peeked as a whole through what is maintained of
// it, with timestamps that an oracle of time gives out: writes and peeks must be strictly serializable, which
// for single operations on one object is linearizability.
func ComputeTable(h *History) Oracle {
	return Sequential[TableState]{History: h, Spec: Spec[TableState]{
		Oracle: OracleComputeLinearizable,
		Step: func(s TableState, op *Op) (TableState, bool) {
			if op.Kind == KindTablePeek {
				return s, op.Output == s
			}
			for k, v := range op.Input.(TableWrite) {
				s[k] = v
			}
			return s, true
		},
		ReadOnly: func(op *Op) bool { return op.Kind == KindTablePeek },
		Check: func(op *Op) error {
			_, write := op.Input.(TableWrite)
			_, read := op.Output.(TableState)
			switch {
			case op.Kind == KindTableWrite && write:
			case op.Kind == KindTablePeek && (read || op.Outcome != Ok):
			default:
				return fmt.Errorf("operation #%d is recorded as %s%v = %v", op.ID, op.Kind, op.Input, op.Output)
			}
			return nil
		},
	}}
}
