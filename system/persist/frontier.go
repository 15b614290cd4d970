package persist

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/simrun-dev/simrun/system/rawcbor"
)

// Frontier is an antichain of times: a set of times none of which is before another. It divides
// time in two: what lies before the frontier, and the times at or beyond it.
//
// Of two different times of a total order, such as that of milliseconds, one is before the
// other, so that an antichain has one element or none. A Frontier is exactly that, and nothing
// is lost against a set: [Frontier.Elements] are its elements, the meet and the join of
// antichains are [Frontier.Meet] and [Frontier.Join], and the partial order between antichains
// is the total one of [Frontier.Compare]. A set would only add the question what several
// elements mean.
//
// Nothing lies beyond the empty frontier, so it is greater than all others: a shard whose
// upper is empty is closed for writing for ever, one whose since is empty for reading.
//
// The zero value is the frontier of the minimal time, [0]: everything lies beyond it.
// Frontiers can be compared with ==.
type Frontier struct {
	time  uint64 // 0 when empty
	empty bool
}

// At returns the frontier with the one element t.
func At(t uint64) Frontier { return Frontier{time: t} }

// Empty returns the frontier without elements.
func Empty() Frontier { return Frontier{empty: true} }

// IsEmpty tells whether the frontier has no element.
func (f Frontier) IsEmpty() bool { return f.empty }

// Time is the frontier's element; ok is false when it has none.
func (f Frontier) Time() (t uint64, ok bool) { return f.time, !f.empty }

// Elements are the frontier's elements.
func (f Frontier) Elements() []uint64 {
	if f.empty {
		return nil
	}
	return []uint64{f.time}
}

// LessEqual tells whether t is at or beyond the frontier: whether some element is <= t.
func (f Frontier) LessEqual(t uint64) bool { return !f.empty && f.time <= t }

// LessThan tells whether t is strictly beyond the frontier: whether some element is < t.
func (f Frontier) LessThan(t uint64) bool { return !f.empty && f.time < t }

// Compare orders frontiers: [0] < [1] < ... < [2^64-1] < []. It is negative, zero or positive
// as f is less than, equal to or greater than g.
func (f Frontier) Compare(g Frontier) int {
	if f.empty != g.empty {
		if f.empty {
			return 1
		}
		return -1
	}
	return cmp.Compare(f.time, g.time)
}

// Before tells whether f < g.
func (f Frontier) Before(g Frontier) bool { return f.Compare(g) < 0 }

// Meet is the greatest frontier that is at or before both: what lies beyond either lies
// beyond it.
func (f Frontier) Meet(g Frontier) Frontier {
	if g.Before(f) {
		return g
	}
	return f
}

// Join is the least frontier that is at or after both: what lies beyond it lies beyond either.
func (f Frontier) Join(g Frontier) Frontier {
	if f.Before(g) {
		return g
	}
	return f
}

// String is "[t]", or "[]".
func (f Frontier) String() string {
	if f.empty {
		return "[]"
	}
	return "[" + strconv.FormatUint(f.time, 10) + "]"
}

// MarshalText is String, so that frontiers read well in JSON and in logs.
func (f Frontier) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText parses what MarshalText made.
func (f *Frontier) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "[]" {
		*f = Empty()
		return nil
	}
	if len(s) < 3 || s[0] != '[' || s[len(s)-1] != ']' {
		return fmt.Errorf("persist: frontier %q is neither \"[]\" nor \"[time]\"", s)
	}
	t, err := strconv.ParseUint(s[1:len(s)-1], 10, 64)
	if err != nil {
		return fmt.Errorf("persist: frontier %q: %w", s, err)
	}
	*f = At(t)
	return nil
}

// MarshalCBOR encodes the frontier as its time, or as null when it is empty. By hand, as the states of
// shards are made of frontiers: through reflection they took a tenth of all encoding.
func (f Frontier) MarshalCBOR() ([]byte, error) {
	if f.empty {
		return []byte{rawcbor.Null}, nil
	}
	return rawcbor.AppendHead(make([]byte, 0, 9), rawcbor.Uint, f.time), nil
}

// UnmarshalCBOR decodes what MarshalCBOR made, and any other CBOR of the same value.
func (f *Frontier) UnmarshalCBOR(p []byte) error {
	r := rawcbor.Read(p)
	read := frontierOf(&r)
	if r.Failed() || len(r.Rest()) > 0 {
		return fmt.Errorf("persist: frontier %x is neither an unsigned integer nor null", p)
	}
	*f = read
	return nil
}

// frontierOf reads a frontier as MarshalCBOR writes it.
func frontierOf(r *rawcbor.Reader) Frontier {
	if r.Null() {
		return Empty()
	}
	return At(r.Uint())
}
