package flow

import (
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// DiffRow says that at TS, the tick at which it came, a row of a source table came (Diff 1) or went
// (Diff -1).
type DiffRow struct {
	_    struct{} `cbor:",toarray"`
	Row  dataflow.Row
	TS   int64
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
	Rows   []dataflow.Row
}

// diffRequests turns the change of a flow's result into requests: what goes for good, then what comes.
// A row that goes and has a successor of the same key needs no request of its own.
func diffRequests(updates []dataflow.Update, key []int) ([]DiffRequest, error) {
	var inserts, deletes []dataflow.Row
	comes := map[dataflow.Row]bool{}
	for _, u := range updates {
		if u.Diff > 0 {
			k, err := columnsOf(u.Row, key)
			if err != nil {
				return nil, err
			}
			comes[k] = true
			inserts = append(inserts, u.Row)
		}
	}
	for _, u := range updates {
		if u.Diff < 0 {
			k, err := columnsOf(u.Row, key)
			if err != nil {
				return nil, err
			}
			if !comes[k] {
				deletes = append(deletes, u.Row)
			}
		}
	}
	var requests []DiffRequest
	if len(deletes) > 0 {
		requests = append(requests, DiffRequest{Delete: true, Rows: deletes})
	}
	if len(inserts) > 0 {
		requests = append(requests, DiffRequest{Rows: inserts})
	}
	return requests, nil
}

// columnsOf is a row of some of a row's columns.
func columnsOf(row dataflow.Row, columns []int) (dataflow.Row, error) {
	data, err := row.Unpack()
	if err != nil {
		return "", err
	}
	picked := make([]dataflow.Datum, len(columns))
	for i, c := range columns {
		picked[i] = data[c]
	}
	return dataflow.Pack(picked...), nil
}
