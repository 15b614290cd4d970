package storage

import (
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/system/persist"
)

// Row is one row of a collection, in whatever encoding its users agreed on.
type Row = string

// RowDiff says that the multiplicity of Row is, or changes by, Diff.
type RowDiff struct {
	Row  Row
	Diff int64
}

// Consolidate sorts rows, adds up the diffs of equal ones, and drops those whose sum is zero.
// It works in place and returns what is left.
func Consolidate(rows []RowDiff) []RowDiff {
	slices.SortFunc(rows, func(a, b RowDiff) int { return strings.Compare(a.Row, b.Row) })
	kept := rows[:0]
	for i := 0; i < len(rows); {
		sum := rows[i]
		for i++; i < len(rows) && rows[i].Row == sum.Row; i++ {
			sum.Diff += rows[i].Diff
		}
		if sum.Diff != 0 {
			kept = append(kept, sum)
		}
	}
	clear(rows[len(kept):])
	return kept
}

// stamp makes updates at a time of rows.
func stamp(rows []RowDiff, time uint64) []persist.Update {
	updates := make([]persist.Update, len(rows))
	for i, r := range rows {
		updates[i] = persist.Update{Data: r.Row, Time: time, Diff: r.Diff}
	}
	return updates
}
