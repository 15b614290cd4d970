package scenarios

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Seeds is a list of seeds, as ranges: a campaign over all of them needs no memory.
type Seeds []SeedRange

// SeedRange is the seeds from First to Last, both included. It counts down if Last is the lower.
type SeedRange struct{ First, Last uint64 }

// Len is the number of seeds, or math.MaxUint64 if there are more.
func (s Seeds) Len() uint64 {
	n := uint64(0)
	for _, r := range s {
		steps := r.steps()
		if n+steps < n || n+steps == math.MaxUint64 {
			return math.MaxUint64
		}
		n += steps + 1
	}
	return n
}

// At returns the seed at an index below Len.
func (s Seeds) At(index uint64) uint64 {
	for _, r := range s {
		steps := r.steps()
		if index <= steps {
			if r.Last < r.First {
				return r.First - index
			}
			return r.First + index
		}
		index -= steps + 1
	}
	panic("scenarios: index beyond the seeds")
}

// Reversed is the same seeds from last to first.
func (s Seeds) Reversed() Seeds {
	reversed := make(Seeds, 0, len(s))
	for _, r := range slices.Backward(s) {
		reversed = append(reversed, SeedRange{First: r.Last, Last: r.First})
	}
	return reversed
}

// String is the list as the command line takes it, "1-50,77".
func (s Seeds) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = fmt.Sprint(r.First)
		if r.Last != r.First {
			parts[i] = fmt.Sprintf("%d-%d", r.First, r.Last)
		}
	}
	return strings.Join(parts, ",")
}

// steps is the number of seeds less one, which fits into 64 bits where the number may not.
func (r SeedRange) steps() uint64 {
	if r.Last < r.First {
		return r.First - r.Last
	}
	return r.Last - r.First
}
