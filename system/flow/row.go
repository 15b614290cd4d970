package flow

import (
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// DiffRow says that a row of a source table came (Diff 1) or went (Diff -1).
type DiffRow struct {
	_    struct{} `cbor:",toarray"`
	Row  dataflow.Row
	Diff int64
}

// Batch are the rows that one change of a table has brought, and its sequence number in the table:
// changes are numbered without gaps.
type Batch struct {
	_    struct{} `cbor:",toarray"`
	Seq  uint64
	Rows []DiffRow
}

// RegionID names a part of a table. Tables have one region here.
type RegionID uint64

// NewRegionID is the id of a region of a table.
func NewRegionID(table catalog.TableID, region uint32) RegionID {
	return RegionID(uint64(table)<<32 | uint64(region))
}

// Table is the table that the region is a part of.
func (r RegionID) Table() catalog.TableID { return catalog.TableID(r >> 32) }

// DiffRequest is a run of rows that go the same way: rows of a flow's result to be put into its sink, in
// place of those with the same key, or, with Delete, to be taken out by their keys.
type DiffRequest struct {
	_      struct{} `cbor:",toarray"`
	Delete bool
	// Whole, of a deletion: the rows are not keys but whole, and each goes only if the sink still has it like
	// that.
	Whole bool
	Rows  []dataflow.Row
}

// apply does to rows by their keys what the request does to the sink.
func (r *DiffRequest) apply(rows map[dataflow.Row]dataflow.Row, keyOf func(dataflow.Row) (dataflow.Row, error)) error {
	for _, row := range r.Rows {
		if r.Delete && !r.Whole {
			delete(rows, row)
			continue
		}
		key, err := keyOf(row)
		switch {
		case err != nil:
			return err
		case !r.Delete:
			rows[key] = row
		case rows[key] == row:
			delete(rows, key)
		}
	}
	return nil
}

// diffRequests turns the change of a flow's result into requests: what goes, then what comes. Which of the
// rows that go are replaced by others is for the sink to say, whose key may have more columns than the
// query's.
func diffRequests(updates []dataflow.Update) []DiffRequest {
	deletes, inserts := DiffRequest{Delete: true}, DiffRequest{}
	for _, u := range updates {
		if u.Diff > 0 {
			inserts.Rows = append(inserts.Rows, u.Row)
		} else {
			deletes.Rows = append(deletes.Rows, u.Row)
		}
	}
	return slices.DeleteFunc([]DiffRequest{deletes, inserts}, func(r DiffRequest) bool { return len(r.Rows) == 0 })
}
