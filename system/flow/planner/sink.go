package planner

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// Columns that a sink has beside those of its flow's query.
const (
	// UpdateColumn has the time at which the row was written.
	UpdateColumn = "update_at"
	// PlaceholderColumn is the time index of a sink whose query has none. It is always 0.
	PlaceholderColumn = "__ts_placeholder"
)

// SinkTable is the table that is made for the result of a flow: the columns of the query, when each row
// was written, and, if the query has no time index, a placeholder for one. Its primary key is the query's
// key without the time index. The error, a [*SinkMismatch], is that the query has a column of the name of
// one of the others.
func (q *Query) SinkTable(name catalog.Name) (catalog.Table, error) {
	t := catalog.Table{Name: name, TimeIndex: q.TimeIndex}
	for i, c := range q.Columns {
		column := catalog.Column{Name: c.Name, Kind: c.Type.Kind, Nullable: true}
		if column.Name == "" {
			column.Name = "col_" + strconv.Itoa(i)
		}
		if i == q.TimeIndex {
			column.Nullable = false
		}
		t.Columns = append(t.Columns, column)
	}
	for _, c := range q.Key {
		if c != q.TimeIndex {
			t.PrimaryKey = append(t.PrimaryKey, c)
		}
	}
	t.Columns = append(t.Columns, catalog.Column{Name: UpdateColumn, Kind: dataflow.KindTimestamp, Nullable: true})
	if q.TimeIndex == catalog.NoColumn {
		t.TimeIndex = len(t.Columns)
		t.Columns = append(t.Columns, catalog.Column{Name: PlaceholderColumn, Kind: dataflow.KindTimestamp})
	}
	for _, c := range t.Columns[len(q.Columns):] {
		if t.Find(c.Name) < len(q.Columns) {
			return t, &SinkMismatch{name, fmt.Sprintf("a table that is made for it has a column %q of its own: give the query's another name with AS, or make the table yourself", c.Name)}
		}
	}
	return t, nil
}

// Sink says how rows of a query become rows of a table.
type Sink struct {
	columns int
	// update, placeholder: the table has such a column, behind those of the query.
	update, placeholder bool
	key                 []int // columns of the table
}

// SinkMismatch says why a query's result can't go into a table.
type SinkMismatch struct {
	Table  catalog.Name
	Reason string
}

func (e *SinkMismatch) Error() string {
	return fmt.Sprintf("the result of the query does not fit the sink %s: %s", e.Table, e.Reason)
}

// FitSink finds how the query's rows go into a table that exists. The columns must be of the query's
// types, in its order; behind them may come a timestamp, for the time of writing, and the placeholder.
// What tells the table's rows apart must tell the query's rows apart, and be known from the query. The
// error is a [*SinkMismatch].
func (q *Query) FitSink(t *catalog.Table) (*Sink, error) {
	mismatch := func(format string, args ...any) (*Sink, error) {
		return nil, &SinkMismatch{t.Name, fmt.Sprintf(format, args...)}
	}
	if len(t.Columns) < len(q.Columns) {
		return mismatch("the query has %d columns, the table has %d", len(q.Columns), len(t.Columns))
	}
	for i, c := range q.Columns {
		in := t.Columns[i]
		if in.Kind != c.Type.Kind {
			return mismatch("column %d, %q, is of kind %v, and the query's column %q of kind %v", i+1, in.Name, in.Kind, c.Name, c.Type.Kind)
		}
		if !in.Nullable && c.Type.Nullable {
			return mismatch("column %d, %q, is NOT NULL, and the query's column %q may be NULL", i+1, in.Name, c.Name)
		}
	}
	s := &Sink{columns: len(q.Columns)}
	extra := t.Columns[len(q.Columns):]
	if n := len(extra); n > 0 && extra[n-1].Name == PlaceholderColumn && t.TimeIndex == len(t.Columns)-1 {
		s.placeholder, extra = true, extra[:n-1]
	}
	switch {
	case len(extra) > 1:
		return mismatch("the table has %d columns that the query has not, and only one can be filled in", len(extra))
	case len(extra) == 1 && extra[0].Kind != dataflow.KindTimestamp:
		return mismatch("column %d, %q, is of kind %v, and the query has no such column", len(q.Columns)+1, extra[0].Name, extra[0].Kind)
	case len(extra) == 1:
		s.update = true
	case s.placeholder:
		// A table like this is made by nobody who did not forget the other column.
		return mismatch("it has the column %s without a timestamp for the time of writing before it", PlaceholderColumn)
	}
	key, keyed := t.Key()
	if !keyed {
		return mismatch("it keeps all rows, and a flow replaces them: give it a PRIMARY KEY or a TIME INDEX, and no append_mode")
	}
	s.key = key
	for _, c := range key {
		if c >= len(q.Columns) && !(s.placeholder && c == t.TimeIndex) {
			return mismatch("its rows are told apart by column %q, which the query has not", t.Columns[c].Name)
		}
	}
	for _, c := range q.Key {
		if !slices.Contains(key, c) {
			return mismatch("its rows are not told apart by column %q, as those of the query are", t.Columns[c].Name)
		}
	}
	return s, nil
}

// Row is a row of the query, written at a time in milliseconds, as a row of the table.
func (s *Sink) Row(row dataflow.Row, now int64) (dataflow.Row, error) {
	data, err := row.Unpack()
	if err != nil {
		return "", err
	}
	if len(data) != s.columns {
		return "", fmt.Errorf("planner: a row of %d columns, not %d: %v", len(data), s.columns, row)
	}
	if s.update {
		data = append(data, dataflow.Timestamp(now))
	}
	if s.placeholder {
		data = append(data, dataflow.Timestamp(0))
	}
	return dataflow.Pack(data...), nil
}

// Key is what tells a row of the query apart in the table.
func (s *Sink) Key(row dataflow.Row) (dataflow.Row, error) {
	full, err := s.Row(row, 0)
	if err != nil {
		return "", err
	}
	return s.KeyOf(full)
}

// KeyOf is what tells a row of the table apart.
func (s *Sink) KeyOf(row dataflow.Row) (dataflow.Row, error) {
	data, err := row.Unpack()
	if err != nil {
		return "", err
	}
	key := make([]dataflow.Datum, len(s.key))
	for i, c := range s.key {
		if c >= len(data) {
			return "", fmt.Errorf("planner: a row of %d columns, and column %d is part of the key: %v", len(data), c+1, row)
		}
		key[i] = data[c]
	}
	return dataflow.Pack(key...), nil
}
