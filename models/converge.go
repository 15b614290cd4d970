package models

import "fmt"

// OracleConverges is the name under which [CheckConverged] reports.
const OracleConverges = "storage/converges"

// CheckConverged compares the contents that a collection ought to have come to with those its
// shard shows, once faults and commands have stopped and the bound on virtual time is over.
// Both are consolidated first. It returns one violation that names the first rows that differ,
// in sorted order, or none. Event and atNS are those of the final snapshot.
//
// Empty contents on both sides are equal as well: whether anything was ever written is for the
// scenario to count.
func CheckConverged(shard string, desired, actual []Row, event uint64, atNS int64) []Violation {
	gap := compareRows(desired, actual)
	if gap.empty() {
		return nil
	}
	return []Violation{{
		Oracle: OracleConverges, AtNS: atNS, Event: event,
		Message: fmt.Sprintf("shard %s has not come to its desired contents, %d rows differ: %s",
			shard, gap.size(), gap.describe(nil)),
	}}
}
