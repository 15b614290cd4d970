package models

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// Update is one change of a shard: Diff more of the row Data from time TS on.
type Update struct {
	Data string `json:"data"`
	TS   uint64 `json:"ts"`
	Diff int64  `json:"diff"`
}

// Row is one line of consolidated contents: the row Data is there Diff times.
type Row struct {
	Data string `json:"data"`
	Diff int64  `json:"diff"`
}

// Consolidate sums the rows by data, drops what comes to zero, and sorts by data. It returns a
// new slice.
func Consolidate(rows []Row) []Row {
	out := sortedRows(rows)
	kept := out[:0]
	for i := 0; i < len(out); {
		sum := out[i]
		for i++; i < len(out) && out[i].Data == sum.Data; i++ {
			sum.Diff += out[i].Diff
		}
		if sum.Diff != 0 {
			kept = append(kept, sum)
		}
	}
	return kept
}

// ContentsAt is the consolidated sum of the updates with time <= asOf, sorted by data.
func ContentsAt(updates []Update, asOf uint64) []Row {
	rows := make([]Row, 0, len(updates))
	for _, u := range updates {
		if u.TS <= asOf {
			rows = append(rows, Row{Data: u.Data, Diff: u.Diff})
		}
	}
	return Consolidate(rows)
}

func sortedRows(rows []Row) []Row {
	out := slices.Clone(rows)
	slices.SortFunc(out, func(a, b Row) int { return cmp.Compare(a.Data, b.Data) })
	return out
}

// rowsAreSorted is usually true of snapshots, which saves copying them.
func rowsAreSorted(rows []Row) bool {
	return slices.IsSortedFunc(rows, func(a, b Row) int { return cmp.Compare(a.Data, b.Data) })
}

// countOf sums the diffs of one row in sorted rows.
func countOf(sorted []Row, data string) int64 {
	at, _ := slices.BinarySearchFunc(sorted, data, func(r Row, data string) int {
		return cmp.Compare(r.Data, data)
	})
	var n int64
	for ; at < len(sorted) && sorted[at].Data == data; at++ {
		n += sorted[at].Diff
	}
	return n
}

// rowSum is one row's share in a contents hash. Contents are hashed as the sum of diff *
// hash(row) modulo 2^64: the order of rows does not matter, consolidating first or not does not
// matter, and the hash after an append is the hash before plus the append's own. A row's hash
// is made odd so that no diff but zero can vanish. Two different contents agree by accident
// once in 2^64.
func rowSum(data string, diff int64) uint64 {
	return uint64(diff) * (xxh3.HashString(data) | 1)
}

func rowsSum(rows []Row) uint64 {
	var sum uint64
	for _, r := range rows {
		sum += rowSum(r.Data, r.Diff)
	}
	return sum
}

// rowsShown is how many rows of each kind a message names.
const rowsShown = 4

// rowDifference is how actual contents differ from wanted ones, in sorted order. Missing holds
// what wanted has more of, extra what actual has more of; diffs are positive in both.
type rowDifference struct {
	missing, extra []Row
}

func compareRows(wanted, actual []Row) rowDifference {
	gap := make([]Row, 0, len(wanted)+len(actual))
	gap = append(gap, wanted...)
	for _, r := range actual {
		gap = append(gap, Row{Data: r.Data, Diff: -r.Diff})
	}
	var d rowDifference
	for _, r := range Consolidate(gap) {
		if r.Diff > 0 {
			d.missing = append(d.missing, r)
		} else {
			d.extra = append(d.extra, Row{Data: r.Data, Diff: -r.Diff})
		}
	}
	return d
}

func (d rowDifference) empty() bool { return len(d.missing)+len(d.extra) == 0 }
func (d rowDifference) size() int   { return len(d.missing) + len(d.extra) }

// quoteRow quotes a row for a message, the beginning only of a long one.
func quoteRow(data string) string {
	const shown = 40
	if len(data) <= shown {
		return strconv.Quote(data)
	}
	return fmt.Sprintf("%q... (%d bytes)", data[:shown], len(data))
}

// describe names the first few rows on either side; note, if not nil, adds what is known of a
// row.
func (d rowDifference) describe(note func(data string) string) string {
	var parts []string
	add := func(title string, rows []Row) {
		if len(rows) == 0 {
			return
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%d %s: ", len(rows), title)
		for i, r := range rows {
			if i == rowsShown {
				b.WriteString(", ...")
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteRow(r.Data))
			if r.Diff != 1 {
				fmt.Fprintf(&b, " x%d", r.Diff)
			}
			if note != nil {
				if about := note(r.Data); about != "" {
					fmt.Fprintf(&b, " (%s)", about)
				}
			}
		}
		parts = append(parts, b.String())
	}
	add("missing", d.missing)
	add("too many", d.extra)
	return strings.Join(parts, "; ")
}
