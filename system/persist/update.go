package persist

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Update says that at Time the multiplicity of Data changed by Diff. Data may be any bytes.
type Update struct {
	_    struct{} `cbor:",toarray"`
	Data string
	Time uint64
	Diff int64
}

// String is "data@time:diff".
func (u Update) String() string { return fmt.Sprintf("%q@%d:%+d", u.Data, u.Time, u.Diff) }

// Consolidate sorts updates by time and data, adds up the diffs of those equal in both, and
// drops those whose sum is zero. It works in place and returns what is left.
func Consolidate(updates []Update) []Update {
	slices.SortFunc(updates, func(a, b Update) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), strings.Compare(a.Data, b.Data))
	})
	kept := updates[:0]
	for i := 0; i < len(updates); {
		sum := updates[i]
		for i++; i < len(updates) && updates[i].Time == sum.Time && updates[i].Data == sum.Data; i++ {
			sum.Diff += updates[i].Diff
		}
		if sum.Diff != 0 {
			kept = append(kept, sum)
		}
	}
	clear(updates[len(kept):])
	return kept
}
