package models

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
)

// Frontier is an antichain over uint64 times, which are totally ordered, so it has two shapes
// only: one time, written [t], or the empty antichain, written [], which lies after every time.
// An upper of [] means closed for writing for ever, a since of [] closed for reading.
//
// The zero value is [0], where every shard starts. Build frontiers with [At] and [Closed], so
// that equal frontiers are == as well.
type Frontier struct {
	T     uint64
	Empty bool
}

// At is the frontier [t].
func At(t uint64) Frontier { return Frontier{T: t} }

// Closed is the empty frontier [], greater than every other.
func Closed() Frontier { return Frontier{Empty: true} }

// Compare orders frontiers: [0] < [1] < ... < [].
func (f Frontier) Compare(g Frontier) int {
	switch {
	case f.Empty && g.Empty:
		return 0
	case f.Empty:
		return 1
	case g.Empty:
		return -1
	}
	return cmp.Compare(f.T, g.T)
}

// Less says whether f comes before g.
func (f Frontier) Less(g Frontier) bool { return f.Compare(g) < 0 }

// Beyond says whether t lies below the frontier: with f an upper, whether contents as of t are
// complete.
func (f Frontier) Beyond(t uint64) bool { return f.Empty || t < f.T }

// Join is the later of the two.
func (f Frontier) Join(g Frontier) Frontier {
	if f.Less(g) {
		return g
	}
	return f
}

// String is [t] or [].
func (f Frontier) String() string {
	if f.Empty {
		return "[]"
	}
	return "[" + strconv.FormatUint(f.T, 10) + "]"
}

// MarshalJSON writes the antichain as a JSON array, [t] or [].
func (f Frontier) MarshalJSON() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Frontier) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return fmt.Errorf("a frontier is [t] or [], not null")
	}
	var times []uint64
	if err := json.Unmarshal(data, &times); err != nil {
		return fmt.Errorf("a frontier is [t] or []: %w", err)
	}
	switch len(times) {
	case 0:
		*f = Closed()
	case 1:
		*f = At(times[0])
	default:
		return fmt.Errorf("a frontier is [t] or [], not %d times: times are totally ordered", len(times))
	}
	return nil
}

// normal makes equal frontiers ==, however the caller built them.
func (f Frontier) normal() Frontier {
	if f.Empty {
		return Closed()
	}
	return f
}
