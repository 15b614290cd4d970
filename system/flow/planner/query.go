package planner

import (
	"strconv"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/sql"
)

// Query is a query planned.
type Query struct {
	// Plan computes it. Its only source, if it has one, is [Source] of Table.
	Plan dataflow.Plan
	// Table is what it reads; nil if nothing.
	Table *catalog.Table
	// Columns are those of its result.
	Columns []Column
	// Key are the columns that tell rows of a flow's result apart, sorted. It may be empty: then there
	// is one row.
	Key []int
	// TimeIndex is the column that tells when a row of a flow's result happened, or
	// [catalog.NoColumn]. It is part of the key, and never NULL.
	TimeIndex int
	// Window says, of a flow that expires, which rows have.
	Window *Window
	// Order is what a query, not a flow, is sorted by.
	Order []dataflow.Order
}

// Column is a column of a query's result.
type Column struct {
	Name string
	Type dataflow.ColumnType
}

// Window is the time by which groups expire: an expression over the columns of the table.
type Window struct {
	Time  dataflow.Expr
	After int64 // in milliseconds
	// Output is the column of the result that has it, or [catalog.NoColumn].
	Output int
}

// Source is what dataflows call a table.
func Source(id catalog.TableID) dataflow.SourceID {
	return dataflow.SourceID("table-" + strconv.FormatUint(uint64(id), 10))
}

// Tables finds the tables that a query names. The error is a [*catalog.NotFoundError] if there is no
// such table.
type Tables func(name catalog.Name) (*catalog.Table, error)

// options are what differs between flows and queries.
type options struct {
	flow bool
	// now is the time of the statement; flows have none.
	now int64
	// expireAfter is in seconds.
	expireAfter int64
}

// Flow plans the query of a flow whose rows expire so many seconds after their time;
// [catalog.NoExpiry] is never.
//
// The errors are [*InvalidQuery], [*sql.Error], and those of tables with the place added.
func Flow(q sql.Query, tables Tables, expireAfter int64) (*Query, error) {
	return plan(q, tables, options{flow: true, expireAfter: expireAfter})
}

// Select plans a query that is evaluated once, at a time in milliseconds. Its errors are those of
// [Flow].
func Select(q sql.Query, tables Tables, now int64) (*Query, error) {
	return plan(q, tables, options{now: now, expireAfter: catalog.NoExpiry})
}

// Catalog is what the plan's source looks like.
func (q *Query) Catalog() dataflow.Catalog {
	if q.Table == nil {
		return nil
	}
	return dataflow.Catalog{Source(q.Table.ID): q.Table.Schema()}
}
