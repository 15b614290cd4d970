package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// HandleInserts takes in changes of tables. Rows are put in the order of the table's columns, those that
// are left out by their defaults. It waits while a table's buffer is full, for a while, and never for a flush.
//
// The errors are [ErrTableNotFound] if no flow here reads the table, [ErrInvalidInsert], or the
// context's. What came before the request that failed is taken in.
func (m *Manager) HandleInserts(ctx context.Context, inserts InsertRequests) (FlowResponse, error) {
	defer m.flush.read()()
	ctx, cancel := m.h.Clock().WithTimeout(ctx, m.cfg.InsertTimeout)
	defer cancel()
	for _, r := range inserts.Requests {
		if err := m.handleInsert(ctx, r); err != nil {
			return FlowResponse{}, fmt.Errorf("insert into flows %v: %w", m.readers(r.Region.Table()), err)
		}
	}
	return FlowResponse{}, nil
}

func (m *Manager) readers(id catalog.TableID) []catalog.FlowID {
	if s := m.context.source(id); s != nil {
		return s.readers()
	}
	return nil
}

func (m *Manager) handleInsert(ctx context.Context, r InsertRequest) error {
	src := m.context.source(r.Region.Table())
	if src == nil {
		return fmt.Errorf("%w: no flow on this node reads table %s", ErrTableNotFound, r.Region.Table())
	}
	rows := make([]DiffRow, 0, len(r.Rows)+len(r.Retracted))
	for _, row := range r.Retracted {
		rows = append(rows, DiffRow{Row: row, Diff: -1})
	}
	place, err := placement(src.table, r.Columns)
	if err != nil {
		return err
	}
	for _, row := range r.Rows {
		full, err := complete(src.table, place, row, len(r.Columns))
		if err != nil {
			return err
		}
		rows = append(rows, DiffRow{Row: full, Diff: 1})
	}
	return m.HandleWriteRequest(ctx, r.Region, r.Seq, rows)
}

// HandleWriteRequest takes in one change of a table, whose rows have all of its columns, in their order.
// The errors are those of [Manager.HandleInserts].
func (m *Manager) HandleWriteRequest(ctx context.Context, region RegionID, seq uint64, rows []DiffRow) error {
	src := m.context.source(region.Table())
	if src == nil {
		return fmt.Errorf("%w: no flow on this node reads table %s", ErrTableNotFound, region.Table())
	}
	schema := src.table.Schema()
	for _, r := range rows {
		if err := schema.Check(r.Row); err != nil {
			return fmt.Errorf("%w: table %s: %w", ErrInvalidInsert, src.table.Name, err)
		}
	}
	return src.send(ctx, Batch{Seq: seq, Rows: rows})
}

// placement is where in an insert each of the table's columns stands, -1 if nowhere.
func placement(table *catalog.Table, columns []string) ([]int, error) {
	for i, name := range columns {
		switch {
		case table.Find(name) == catalog.NoColumn:
			return nil, fmt.Errorf("%w: table %s has no column %q", ErrInvalidInsert, table.Name, name)
		case slices.Contains(columns[:i], name):
			return nil, fmt.Errorf("%w: table %s: an insert names the column %q twice", ErrInvalidInsert, table.Name, name)
		}
	}
	place := make([]int, len(table.Columns))
	for i, c := range table.Columns {
		place[i] = slices.Index(columns, c.Name)
	}
	return place, nil
}

// complete is a row of so many columns in the order of the table's.
func complete(table *catalog.Table, place []int, row dataflow.Row, columns int) (dataflow.Row, error) {
	given, err := row.Unpack()
	if err != nil {
		return "", fmt.Errorf("%w: table %s: %w", ErrInvalidInsert, table.Name, err)
	}
	if len(given) != columns {
		return "", fmt.Errorf("%w: table %s: a row of %d values for %d columns", ErrInvalidInsert, table.Name, len(given), columns)
	}
	full := make([]dataflow.Datum, len(table.Columns))
	for i, c := range table.Columns {
		switch at := place[i]; {
		case at >= 0:
			full[i] = given[at]
		default:
			missing, ok := c.Missing()
			switch {
			case c.DefaultNow: // not now() here: what the table holds is the statement's
				return "", fmt.Errorf("%w: table %s: column %q is left out: whoever stores a row fills in its default now()", ErrInvalidInsert, table.Name, c.Name)
			case !ok:
				return "", fmt.Errorf("%w: table %s: column %q is left out and has no default", ErrInvalidInsert, table.Name, c.Name)
			}
			full[i] = missing
		}
	}
	return dataflow.Pack(full...), nil
}
