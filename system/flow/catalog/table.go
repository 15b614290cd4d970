package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/sql"
)

// TableID numbers tables. A number is never used again.
type TableID uint32

// String is "#7".
func (id TableID) String() string { return "#" + strconv.FormatUint(uint64(id), 10) }

// Table is the definition of a table.
//
// A row is told apart by its primary key and its time index: a later row of the same key takes the
// place of the earlier one. A table that has neither, or is in append mode, keeps all rows, equal ones
// too.
type Table struct {
	_          struct{} `cbor:",toarray"`
	ID         TableID
	Name       Name
	Columns    []Column
	PrimaryKey []int // columns
	TimeIndex  int   // a column, or NoColumn
	AppendMode bool
}

// NoColumn stands for a column that there is not.
const NoColumn = -1

// Column is a column of a table.
type Column struct {
	_        struct{} `cbor:",toarray"`
	Name     string
	Kind     dataflow.Kind
	Nullable bool
	// HasDefault: rows that leave the column out get Default, or, if DefaultNow, the time of the
	// statement.
	HasDefault bool
	DefaultNow bool
	Default    dataflow.Datum
}

// Type is the type of the column's values.
func (c Column) Type() dataflow.ColumnType {
	return dataflow.ColumnType{Kind: c.Kind, Nullable: c.Nullable}
}

// Missing is the value of the column in a row that leaves it out; ok is false if it has to be given.
// The default now() is not known here: it is the statement's, who fills it in.
func (c Column) Missing() (d dataflow.Datum, ok bool) {
	switch {
	case c.HasDefault && !c.DefaultNow:
		return c.Default, true
	case !c.HasDefault && c.Nullable:
		return dataflow.Null(), true
	}
	return dataflow.Null(), false
}

// Find is the position of the column of that name, or NoColumn.
func (t *Table) Find(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// Key are the columns that tell rows apart, sorted; keyed is false of a table that keeps all rows.
func (t *Table) Key() (columns []int, keyed bool) {
	columns = slices.Clone(t.PrimaryKey)
	if t.TimeIndex != NoColumn && !slices.Contains(columns, t.TimeIndex) {
		columns = append(columns, t.TimeIndex)
	}
	slices.Sort(columns)
	return columns, !t.AppendMode && len(columns) > 0
}

// KeyOf is the part of a row that tells it apart: all of it if the table keeps all rows.
func (t *Table) KeyOf(row []dataflow.Datum) dataflow.Row {
	columns, keyed := t.Key()
	if !keyed {
		return dataflow.Pack(row...)
	}
	key := make([]dataflow.Datum, len(columns))
	for i, c := range columns {
		key[i] = row[c]
	}
	return dataflow.Pack(key...)
}

// Schema is what dataflows know of the table.
func (t *Table) Schema() dataflow.Schema {
	var s dataflow.Schema
	for i, c := range t.Columns {
		s.Columns = append(s.Columns, dataflow.Column{Name: c.Name, Type: c.Type(), TimeIndex: i == t.TimeIndex})
	}
	if key, keyed := t.Key(); keyed {
		s.Keys = [][]int{key}
	}
	return s
}

// quoted is the name of a column as it stands in statements.
func quoted(column string) string { return sql.Ident{Name: column}.String() }

// String is the statement that creates the table.
func (t *Table) String() string {
	var parts []string
	for i, c := range t.Columns {
		part := quoted(c.Name) + " " + strings.ToUpper(c.Kind.String())
		if !c.Nullable {
			part += " NOT NULL"
		}
		switch {
		case c.DefaultNow:
			part += " DEFAULT now()"
		case c.HasDefault:
			part += " DEFAULT " + c.Default.String()
		}
		if i == t.TimeIndex {
			part += " TIME INDEX"
		}
		parts = append(parts, part)
	}
	if len(t.PrimaryKey) > 0 {
		var names []string
		for _, c := range t.PrimaryKey {
			names = append(names, quoted(t.Columns[c].Name))
		}
		parts = append(parts, "PRIMARY KEY ("+strings.Join(names, ", ")+")")
	}
	s := fmt.Sprintf("CREATE TABLE %s (%s)", t.Name.SQL(), strings.Join(parts, ", "))
	if t.AppendMode {
		s += " WITH (append_mode = true)"
	}
	return s
}
