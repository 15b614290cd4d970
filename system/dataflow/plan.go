package dataflow

import (
	"bytes"
	"slices"

	"github.com/fxamacker/cbor/v2"
)

// SourceID names a collection that plans read.
type SourceID string

// Op says what an operator does. The names are part of the encoding of plans.
type Op string

const (
	OpGet       Op = "get"
	OpConstant  Op = "constant"
	OpMap       Op = "map"
	OpFilter    Op = "filter"
	OpProject   Op = "project"
	OpReduce    Op = "reduce"
	OpDistinct  Op = "distinct"
	OpUnion     Op = "union"
	OpNegate    Op = "negate"
	OpThreshold Op = "threshold"
	OpJoin      Op = "join"
	OpTopK      Op = "topk"
	OpExpire    Op = "expire"
)

// Plan says how a collection follows from others. It is plain data, a tree of operators, to be
// built with the functions and methods below, each of which returns a new plan. [Plan.Schema]
// checks it. It encodes with CBOR as a field of a message; equal plans encode equal.
type Plan struct {
	Op     Op     `cbor:"1,keyasint"`
	Inputs []Plan `cbor:"2,keyasint,omitempty"`
	// Names, if any, are the names of the output's columns.
	Names []string `cbor:"3,keyasint,omitempty"`

	// Source is what OpGet reads.
	Source SourceID `cbor:"4,keyasint,omitempty"`
	// Types and Rows are those of OpConstant.
	Types []Column   `cbor:"5,keyasint,omitempty"`
	Rows  []RowCount `cbor:"6,keyasint,omitempty"`
	// Exprs are the columns that OpMap appends, the predicates of OpFilter, or the group key of
	// OpReduce.
	Exprs []Expr `cbor:"7,keyasint,omitempty"`
	// Columns are those that OpProject keeps, the group of OpTopK, or the one column of OpExpire.
	Columns []int `cbor:"8,keyasint,omitempty"`
	// Aggregates are those of OpReduce, and Default, if not "", is its row for an input without rows.
	Aggregates []Aggregate `cbor:"9,keyasint,omitempty"`
	Default    Row         `cbor:"16,keyasint,omitzero"`
	// On are the pairs of columns that OpJoin compares. Outer keeps rows of the left input that
	// match none.
	On    []On `cbor:"10,keyasint,omitempty"`
	Outer bool `cbor:"11,keyasint,omitempty"`
	// Order, Limit and Offset are those of OpTopK.
	Order  []Order `cbor:"12,keyasint,omitempty"`
	Limit  int64   `cbor:"13,keyasint,omitempty"`
	Offset int64   `cbor:"14,keyasint,omitempty"`
	// After is that of OpExpire, in milliseconds.
	After int64 `cbor:"15,keyasint,omitempty"`
}

// On is a pair of columns, one of the left input and one of the right, that must be equal.
type On struct {
	_           struct{} `cbor:",toarray"`
	Left, Right int
}

// Order is a column to sort by.
type Order struct {
	_      struct{} `cbor:",toarray"`
	Column int
	Desc   bool
	// NullsLast puts NULL behind all else, whatever the direction; without it NULL is before all
	// else.
	NullsLast bool
}

// NoLimit is the limit of a [Plan.TopK] that has none.
const NoLimit = -1

// Get is a source.
func Get(source SourceID) Plan { return Plan{Op: OpGet, Source: source} }

// Constant is a collection that never changes, from the beginning of time.
func Constant(columns []Column, rows ...RowCount) Plan {
	return Plan{Op: OpConstant, Types: columns, Rows: rows}
}

// Union adds up collections with columns of the same kinds. Names are the first one's.
func Union(inputs ...Plan) Plan { return Plan{Op: OpUnion, Inputs: inputs} }

func (p Plan) with(next Plan) Plan {
	next.Inputs = append([]Plan{p}, next.Inputs...)
	return next
}

// Map appends columns. An expression sees the columns of those before it too.
func (p Plan) Map(exprs ...Expr) Plan { return p.with(Plan{Op: OpMap, Exprs: exprs}) }

// Filter keeps the rows on which all predicates are true, as [And] says.
func (p Plan) Filter(predicates ...Expr) Plan {
	return p.with(Plan{Op: OpFilter, Exprs: predicates})
}

// Project keeps columns, in this order.
func (p Plan) Project(columns ...int) Plan { return p.with(Plan{Op: OpProject, Columns: columns}) }

// As names the columns.
func (p Plan) As(names ...string) Plan {
	p.Names = names
	return p
}

// Reduce groups by the key and computes the aggregates of each group: its columns are the key
// and then the aggregates. In keys NULL equals NULL. There are no groups without rows: where
// SQL wants a row for the empty input, see [Plan.OrDefault].
//
// A group whose multiplicities add up to less than zero, or to zero although its aggregates have
// something left, is the error [ErrNegativeMultiplicity] instead of a row, and so is one in
// which min, max, or a distinct aggregate find a value less than zero times.
func (p Plan) Reduce(key []Expr, aggregates ...Aggregate) Plan {
	return p.with(Plan{Op: OpReduce, Exprs: key, Aggregates: aggregates})
}

// Distinct keeps each row once. A row that is there less than zero times is the error
// [ErrNegativeMultiplicity].
func (p Plan) Distinct() Plan { return p.with(Plan{Op: OpDistinct}) }

// Negate turns the multiplicities round. Errors stay as they are.
func (p Plan) Negate() Plan { return p.with(Plan{Op: OpNegate}) }

// Threshold keeps the rows whose multiplicity is above zero.
func (p Plan) Threshold() Plan { return p.with(Plan{Op: OpThreshold}) }

// Join pairs the rows of p and right that are equal in all pairs of columns; NULL equals
// nothing. Its columns are those of p and then those of right. Joins of more inputs are joins
// of joins.
func (p Plan) Join(right Plan, on ...On) Plan {
	return p.with(Plan{Op: OpJoin, Inputs: []Plan{right}, On: on})
}

// LeftJoin is Join and, with NULL for the columns of right, the rows of p that match none.
func (p Plan) LeftJoin(right Plan, on ...On) Plan {
	return p.with(Plan{Op: OpJoin, Inputs: []Plan{right}, On: on, Outer: true})
}

// TopK keeps, of the rows that are equal in the group's columns, those from position offset on,
// and limit of them (or [NoLimit]), in the given order, ties broken by the whole row. A row of
// multiplicity n takes n positions. A group that holds a row less than zero times is the error
// [ErrNegativeMultiplicity] instead.
func (p Plan) TopK(group []int, order []Order, limit, offset int64) Plan {
	return p.with(Plan{Op: OpTopK, Columns: group, Order: order, Limit: limit, Offset: offset})
}

// Expire lets updates through only while they are young: it drops an update for which
//
//	now - after > timestamp in the column
//
// where now is what the caller has told the dataflow when the update's time was completed (see
// [Dataflow.SetNow]); after is in milliseconds. NULL never expires. What went through is not
// taken back when it gets old, so that results stay as they were. Groups of a [Plan.Reduce],
// [Plan.Distinct], [Plan.Threshold] or [Plan.TopK] that have the column in their key can't
// change once it is expired, and are forgotten.
func (p Plan) Expire(column int, after int64) Plan {
	return p.with(Plan{Op: OpExpire, Columns: []int{column}, After: after})
}

// OrDefault is p and, while p has no rows, one row of defaults. Defaults are literals of p's
// columns' kinds. It makes an aggregate without a group key what SQL says:
//
//	p.Reduce(nil, CountAll()).OrDefault(Lit(Int(0)))
//
// Such an aggregate has the defaults only where its input has no rows, and not where it is an error, as a sum that is
// out of range.
func (p Plan) OrDefault(defaults ...Expr) Plan {
	if row, ok := literals(defaults); ok && p.Op == OpReduce && len(p.Exprs) == 0 && p.Default == "" {
		p.Default = row
		return p
	}
	one := Constant(nil, RowCount{Count: 1})
	columns := make([]int, len(defaults))
	for i := range columns {
		columns[i] = i
	}
	present := p.Project().Distinct()
	absent := Union(one, present.Negate()).Map(defaults...)
	return Union(p, absent)
}

// literals is the row of some literals, if that is what they are.
func literals(exprs []Expr) (row Row, ok bool) {
	data := make([]Datum, len(exprs))
	for i, e := range exprs {
		if e.Func != FuncLiteral {
			return "", false
		}
		data[i] = e.Literal
	}
	return Pack(data...), len(data) > 0
}

// Sources are the sources that the plan reads, sorted.
func (p Plan) Sources() []SourceID {
	var sources []SourceID
	p.walk(func(p Plan) {
		if p.Op == OpGet {
			sources = append(sources, p.Source)
		}
	})
	slices.Sort(sources)
	return slices.Compact(sources)
}

// walk visits the operators, inputs first.
func (p Plan) walk(visit func(Plan)) {
	for _, in := range p.Inputs {
		in.walk(visit)
	}
	visit(p)
}

// Equal tells whether two plans are the same, operator by operator.
func (p Plan) Equal(q Plan) bool { return bytes.Equal(p.Encode(), q.Encode()) }

var (
	encoding = must(cbor.CoreDetEncOptions().EncMode())
	// Expressions may be deep.
	decoding = must(cbor.DecOptions{MaxNestedLevels: 4096}.DecMode())
)

func must[T any](mode T, err error) T {
	if err != nil {
		panic(err)
	}
	return mode
}

// operatorFields is a plan that encodes as a map of its fields.
type operatorFields Plan

// Encode is the plan as CBOR. It does not change from one version to the next.
func (p Plan) Encode() []byte {
	b, err := encoding.Marshal(operatorFields(p))
	if err != nil {
		panic("dataflow: plans always encode: " + err.Error())
	}
	return b
}

// DecodePlan reads what [Plan.Encode] made. It does not check that the plan makes sense.
func DecodePlan(b []byte) (Plan, error) {
	var p operatorFields
	err := decoding.Unmarshal(b, &p)
	return Plan(p), err
}

// MarshalCBOR encodes the plan as a byte string that holds its encoding, and so its inputs:
// decoders limit how deep data may be nested, and plans are deep.
func (p Plan) MarshalCBOR() ([]byte, error) { return encoding.Marshal(p.Encode()) }

// UnmarshalCBOR decodes what MarshalCBOR made.
func (p *Plan) UnmarshalCBOR(b []byte) error {
	var inner []byte
	err := decoding.Unmarshal(b, &inner)
	if err == nil {
		*p, err = DecodePlan(inner)
	}
	return err
}

// MarshalCBOR encodes the datum as a byte string, as it stands in a [Row].
func (d Datum) MarshalCBOR() ([]byte, error) { return encoding.Marshal(appendDatum(nil, d)) }

// UnmarshalCBOR decodes what MarshalCBOR made.
func (d *Datum) UnmarshalCBOR(p []byte) error {
	var b []byte
	if err := decoding.Unmarshal(p, &b); err != nil {
		return err
	}
	v, n := decodeDatum(string(b))
	if n == 0 || n != len(b) {
		return ErrCorruptRow
	}
	*d = v
	return nil
}

// MarshalCBOR encodes the row as a byte string: it is not UTF-8.
func (r Row) MarshalCBOR() ([]byte, error) { return encoding.Marshal([]byte(r)) }

// UnmarshalCBOR decodes what MarshalCBOR made.
func (r *Row) UnmarshalCBOR(p []byte) error {
	var b []byte
	if err := decoding.Unmarshal(p, &b); err != nil {
		return err
	}
	*r = Row(b)
	return nil
}
