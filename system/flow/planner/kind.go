package planner

import (
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/sql"
)

// Kind is how a type of SQL is kept: integers of any width in 64 bits, floats in 64 bits, timestamps
// in milliseconds. Types of which that would lose something are refused.
func Kind(t sql.DataType) (dataflow.Kind, error) {
	switch t.Kind {
	case sql.TypeBool:
		return dataflow.KindBool, nil
	case sql.TypeInt8, sql.TypeInt16, sql.TypeInt32, sql.TypeInt64:
		return dataflow.KindInt64, nil
	case sql.TypeFloat32, sql.TypeFloat64:
		return dataflow.KindFloat64, nil
	case sql.TypeString:
		return dataflow.KindString, nil
	case sql.TypeInterval:
		return dataflow.KindInterval, nil
	case sql.TypeTimestamp:
		if t.Precision == 3 {
			return dataflow.KindTimestamp, nil
		}
	}
	return dataflow.KindNull, sql.Unsupported(&t)
}
