package dataflow

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"
)

// Kind is the type of a datum or of a column. The numbers are part of the encoding of plans.
type Kind uint8

const (
	KindNull Kind = iota // of NULL only; no column has it
	KindBool
	KindInt64
	KindFloat64
	KindTimestamp // milliseconds since 1970-01-01 UTC, or before it when negative
	KindInterval  // milliseconds
	KindString
	kinds // how many there are
)

func (k Kind) String() string {
	names := [...]string{"null", "bool", "int64", "float64", "timestamp", "interval", "string"}
	if int(k) < len(names) {
		return names[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

func (k Kind) numeric() bool { return k == KindInt64 || k == KindFloat64 }

// integral tells whether data of the kind are integers inside.
func (k Kind) integral() bool {
	return k == KindInt64 || k == KindTimestamp || k == KindInterval
}

// Datum is one value. The zero Datum is NULL. Two are the same value if and only if they are
// equal with ==; NULL is the same value as NULL here, as it is in group keys. What SQL says of
// comparisons with NULL is up to expressions.
type Datum struct {
	kind Kind
	num  int64 // the value, or the bits of a float64
	str  string
}

// Null is NULL, the zero Datum.
func Null() Datum { return Datum{} }

// Bool is a bool.
func Bool(b bool) Datum {
	if b {
		return Datum{kind: KindBool, num: 1}
	}
	return Datum{kind: KindBool}
}

// Int is an int64.
func Int(v int64) Datum { return Datum{kind: KindInt64, num: v} }

// Float is a float64; -0 becomes 0, and every NaN the same one.
func Float(v float64) Datum {
	switch {
	case v == 0:
		v = 0
	case v != v:
		v = math.NaN()
	}
	return Datum{kind: KindFloat64, num: int64(math.Float64bits(v))}
}

// Timestamp is the time ms milliseconds after 1970-01-01 UTC.
func Timestamp(ms int64) Datum { return Datum{kind: KindTimestamp, num: ms} }

// Interval is a length of time in milliseconds.
func Interval(ms int64) Datum { return Datum{kind: KindInterval, num: ms} }

// String is a string of any bytes.
func String(s string) Datum { return Datum{kind: KindString, str: s} }

// Kind is the datum's kind.
func (d Datum) Kind() Kind { return d.kind }

// IsNull tells whether the datum is NULL.
func (d Datum) IsNull() bool { return d.kind == KindNull }

// Bool is the value of a bool; that of any other kind is false, as that of NULL is not true.
func (d Datum) Bool() bool { return d.kind == KindBool && d.num != 0 }

// Int is the value of an int64, and the milliseconds of a timestamp or an interval; 0 for others.
func (d Datum) Int() int64 {
	if d.kind.integral() {
		return d.num
	}
	return 0
}

// Float is the value of a float64; 0 for others.
func (d Datum) Float() float64 {
	if d.kind == KindFloat64 {
		return d.float()
	}
	return 0
}

// Text is the value of a string; "" for others.
func (d Datum) Text() string { return d.str }

func (d Datum) float() float64 { return math.Float64frombits(uint64(d.num)) }

// Compare orders data totally: NULL, then by kind, in the order of the kinds' constants, then
// by value: false before true, NaN last among floats, strings by bytes.
func (d Datum) Compare(e Datum) int {
	if d.kind != e.kind {
		return cmp.Compare(d.kind, e.kind)
	}
	switch d.kind {
	case KindFloat64:
		return cmp.Compare(sortableFloat(d.num), sortableFloat(e.num))
	case KindString:
		return strings.Compare(d.str, e.str)
	default:
		return cmp.Compare(d.num, e.num)
	}
}

// sortableFloat maps the bits of a float64 to integers in the same order, with the canonical
// NaN on top.
func sortableFloat(bits int64) uint64 {
	if bits < 0 {
		return ^uint64(bits)
	}
	return uint64(bits) | 1<<63
}

// String prints the datum as a literal of SQL: NULL, true, 7, 0.5, 'it”s',
// '2026-01-02T03:04:05.006Z' and INTERVAL '500 ms'. A float always has a point or an exponent.
func (d Datum) String() string {
	switch d.kind {
	case KindNull:
		return "NULL"
	case KindString:
		return quote(d.str)
	case KindTimestamp:
		return quote(d.text())
	case KindInterval:
		return "INTERVAL " + quote(d.text())
	case KindFloat64:
		s := d.text()
		if !strings.ContainsAny(s, ".eINn") {
			s += ".0"
		}
		return s
	default:
		return d.text()
	}
}

// text is what a cast to string gives.
func (d Datum) text() string {
	switch d.kind {
	case KindBool:
		return strconv.FormatBool(d.num != 0)
	case KindInt64:
		return strconv.FormatInt(d.num, 10)
	case KindFloat64:
		return strconv.FormatFloat(d.float(), 'g', -1, 64)
	case KindTimestamp:
		t := time.UnixMilli(d.num).UTC()
		if year := t.Year(); year < 0 || year > 9999 {
			return strconv.FormatInt(d.num, 10) + " ms"
		}
		return t.Format("2006-01-02T15:04:05.000Z")
	case KindInterval:
		return strconv.FormatInt(d.num, 10) + " ms"
	default:
		return d.str
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
