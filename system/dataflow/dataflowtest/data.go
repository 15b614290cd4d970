package dataflowtest

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/dataflow"
)

// Kind is any kind that a column can have.
func Kind(t *rapid.T) dataflow.Kind {
	return rapid.SampledFrom([]dataflow.Kind{
		dataflow.KindInt64, dataflow.KindTimestamp, dataflow.KindTimestamp, dataflow.KindString, dataflow.KindBool,
		dataflow.KindFloat64, dataflow.KindInterval,
	}).Draw(t, "kind")
}

// Type is any type that a column can have.
func Type(t *rapid.T) dataflow.ColumnType {
	return dataflow.ColumnType{Kind: Kind(t), Nullable: rapid.Bool().Draw(t, "nullable")}
}

var (
	ints      = []int64{0, 1, 2, 3, -1, -2, 10, 1 << 53, math.MaxInt64, math.MinInt64}
	floats    = []float64{0, 1, 0.1, -1.5, 3, 1e16, 5e-324, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	times     = []int64{0, 1, -1, 9, 10, -10, -11, 1000, 86_400_000, -86_400_001, math.MaxInt64, math.MinInt64}
	intervals = []int64{10, 1, 0, 3, -10, 1000, 3_600_000, math.MaxInt64, math.MinInt64}
	strings   = []string{"", "a", "b", "ab", "A%", "a_", "\x00", "\xff", " 7 ", "true", "2026-01-02 03:04:05", "é", "1 hour"}
)

// pick is one of the first few values most of the time, and any of them sometimes.
func pick[T any](t *rapid.T, values []T, few int, label string) T {
	if rapid.IntRange(0, 7).Draw(t, "rare") > 0 {
		values = values[:few]
	}
	return rapid.SampledFrom(values).Draw(t, label)
}

// Datum is any value of the type.
func Datum(t *rapid.T, typ dataflow.ColumnType) dataflow.Datum {
	if typ.Nullable && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return dataflow.Null()
	}
	switch typ.Kind {
	case dataflow.KindBool:
		return dataflow.Bool(rapid.Bool().Draw(t, "bool"))
	case dataflow.KindInt64:
		return dataflow.Int(pick(t, ints, 4, "int"))
	case dataflow.KindFloat64:
		return dataflow.Float(pick(t, floats, 4, "float"))
	case dataflow.KindTimestamp:
		return dataflow.Timestamp(pick(t, times, 7, "timestamp"))
	case dataflow.KindInterval:
		return dataflow.Interval(pick(t, intervals, 4, "interval"))
	default:
		return dataflow.String(pick(t, strings, 4, "string"))
	}
}

// Schema is one of up to four columns.
func Schema(t *rapid.T) dataflow.Schema {
	var s dataflow.Schema
	for i := range rapid.IntRange(1, 4).Draw(t, "columns") {
		s.Columns = append(s.Columns, dataflow.Column{Name: fmt.Sprintf("c%d", i), Type: Type(t)})
	}
	return s
}

// Catalog is one of up to three sources.
func Catalog(t *rapid.T) dataflow.Catalog {
	c := dataflow.Catalog{}
	for i := range rapid.IntRange(1, 3).Draw(t, "sources") {
		c[dataflow.SourceID(fmt.Sprintf("s%d", i))] = Schema(t)
	}
	return c
}

// Row is any row of the schema.
func Row(t *rapid.T, schema dataflow.Schema) dataflow.Row {
	data := make([]dataflow.Datum, len(schema.Columns))
	for i, c := range schema.Columns {
		data[i] = Datum(t, c.Type)
	}
	return dataflow.Pack(data...)
}

// Updates are up to n updates with times from lower on and before upper. Rows come again, and
// may be retracted, also before they come: multiplicities can be negative.
func Updates(t *rapid.T, schema dataflow.Schema, n int, lower, upper uint64) []dataflow.Update {
	var updates []dataflow.Update
	for range rapid.IntRange(0, n).Draw(t, "updates") {
		u := dataflow.Update{
			Time: rapid.Uint64Range(lower, upper-1).Draw(t, "time"),
			Diff: rapid.SampledFrom([]int64{1, 1, 1, -1, 2}).Draw(t, "diff"),
		}
		if len(updates) > 0 && rapid.Bool().Draw(t, "again") {
			old := rapid.SampledFrom(updates).Draw(t, "old")
			u.Row = old.Row
			if rapid.Bool().Draw(t, "retract") {
				u.Diff = -old.Diff
			}
		} else {
			u.Row = Row(t, schema)
		}
		updates = append(updates, u)
	}
	return updates
}
