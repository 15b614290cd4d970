package dataflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/system/persist"
)

// Frontier is a frontier of times. See [persist.Frontier].
type Frontier = persist.Frontier

// Update says that at Time the multiplicity of Row changed by Diff. Multiplicities are counted
// in int64 without a check: a row that occurs 2^63 times is not expected.
type Update struct {
	_    struct{} `cbor:",toarray"`
	Row  Row
	Time uint64
	Diff int64
}

// String is "row@time:diff".
func (u Update) String() string { return fmt.Sprintf("%v@%d:%+d", u.Row, u.Time, u.Diff) }

// ErrorUpdate says that at Time the multiplicity of Err changed by Diff.
type ErrorUpdate struct {
	_    struct{} `cbor:",toarray"`
	Err  RowError
	Time uint64
	Diff int64
}

// String is "error@time:diff".
func (u ErrorUpdate) String() string { return fmt.Sprintf("%v@%d:%+d", u.Err, u.Time, u.Diff) }

// RowCount is a row with its multiplicity.
type RowCount struct {
	_     struct{} `cbor:",toarray"`
	Row   Row
	Count int64
}

// String is "row:count".
func (c RowCount) String() string { return fmt.Sprintf("%v:%+d", c.Row, c.Count) }

// ErrorCount is an error with its multiplicity.
type ErrorCount struct {
	_     struct{} `cbor:",toarray"`
	Err   RowError
	Count int64
}

// A shard holds rows as they are. An error starts with a zero byte, as no row does; its code and
// its place follow.
const errorMark = 0x00

// FromShard are a shard's updates as updates of rows and of errors.
func FromShard(updates []persist.Update) ([]Update, []ErrorUpdate) {
	rows := make([]Update, 0, len(updates))
	var errs []ErrorUpdate
	for _, u := range updates {
		if len(u.Data) >= 2 && u.Data[0] == errorMark {
			errs = append(errs, ErrorUpdate{Err: RowError{Code: u.Data[1], Where: u.Data[2:]}, Time: u.Time, Diff: u.Diff})
		} else {
			rows = append(rows, Update{Row: Row(u.Data), Time: u.Time, Diff: u.Diff})
		}
	}
	return rows, errs
}

// ToShard are updates of rows and of errors as a shard's.
func ToShard(rows []Update, errs []ErrorUpdate) []persist.Update {
	data := make([]persist.Update, 0, len(rows)+len(errs))
	for _, u := range rows {
		data = append(data, persist.Update{Data: string(u.Row), Time: u.Time, Diff: u.Diff})
	}
	for _, u := range errs {
		data = append(data, persist.Update{Data: string([]byte{errorMark, u.Err.Code}) + u.Err.Where, Time: u.Time, Diff: u.Diff})
	}
	return data
}

// Consolidate sorts updates by time and row, adds up the diffs of those equal in both, and
// drops those whose sum is zero. It works in place and returns what is left.
func Consolidate(updates []Update) []Update {
	slices.SortFunc(updates, func(a, b Update) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), strings.Compare(string(a.Row), string(b.Row)))
	})
	return fold(updates,
		func(a, b *Update) bool { return a.Time == b.Time && a.Row == b.Row },
		func(u *Update) *int64 { return &u.Diff })
}

// ConsolidateErrors does for errors what [Consolidate] does for rows.
func ConsolidateErrors(updates []ErrorUpdate) []ErrorUpdate {
	slices.SortFunc(updates, func(a, b ErrorUpdate) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), a.Err.Compare(b.Err))
	})
	return fold(updates,
		func(a, b *ErrorUpdate) bool { return a.Time == b.Time && a.Err == b.Err },
		func(u *ErrorUpdate) *int64 { return &u.Diff })
}

// fold adds up the diffs of neighbours that are the same, and drops those that come to zero.
func fold[T any](sorted []T, same func(a, b *T) bool, diff func(*T) *int64) []T {
	kept := 0
	for i := 0; i < len(sorted); {
		sorted[kept] = sorted[i]
		sum := &sorted[kept]
		for i++; i < len(sorted) && same(&sorted[i], sum); i++ {
			*diff(sum) += *diff(&sorted[i])
		}
		if *diff(sum) != 0 {
			kept++
		}
	}
	clear(sorted[kept:])
	return sorted[:kept]
}
