package dataflow

import (
	"fmt"
	"slices"
	"strings"
)

// ColumnType is what an expression's values or a column's can be.
type ColumnType struct {
	_        struct{} `cbor:",toarray"`
	Kind     Kind
	Nullable bool
}

// Type is the type of that kind without NULL.
func Type(kind Kind) ColumnType { return ColumnType{Kind: kind} }

// OrNull is the type with NULL.
func (t ColumnType) OrNull() ColumnType { return ColumnType{Kind: t.Kind, Nullable: true} }

// String is the kind's name, with a "?" where NULL is allowed.
func (t ColumnType) String() string {
	if t.Nullable {
		return t.Kind.String() + "?"
	}
	return t.Kind.String()
}

// Column is a column of a collection.
type Column struct {
	_    struct{} `cbor:",toarray"`
	Name string
	Type ColumnType
	// TimeIndex marks the column that tells when a row happened.
	TimeIndex bool
}

// Schema is what rows of a collection look like.
type Schema struct {
	_       struct{} `cbor:",toarray"`
	Columns []Column
	// Keys are sets of columns, each of which tells the rows apart where no multiplicity is
	// above one. The empty set says that there is one row at most.
	Keys [][]int
}

// NewSchema is a schema without keys.
func NewSchema(columns ...Column) Schema { return Schema{Columns: columns} }

// Catalog tells the schemas of sources.
type Catalog map[SourceID]Schema

// TimeIndex is the position of the first column that is marked as the time index.
func (s Schema) TimeIndex() (column int, ok bool) {
	column = slices.IndexFunc(s.Columns, func(c Column) bool { return c.TimeIndex })
	return column, column >= 0
}

// Find is the position of the first column of that name.
func (s Schema) Find(name string) (column int, ok bool) {
	column = slices.IndexFunc(s.Columns, func(c Column) bool { return c.Name == name })
	return column, column >= 0
}

// String is "(name type, ...)".
func (s Schema) String() string {
	columns := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		columns[i] = c.Name + " " + c.Type.String()
	}
	return "(" + strings.Join(columns, ", ") + ")"
}

// RowMismatch says that a row is not one of a schema.
type RowMismatch struct {
	Row    Row
	Schema Schema
	Reason string
}

func (e *RowMismatch) Error() string {
	return fmt.Sprintf("dataflow: row %v does not fit %v: %s", e.Row, e.Schema, e.Reason)
}

// Check tells whether the row is one of the schema. The error is a [*RowMismatch].
func (s Schema) Check(row Row) error {
	rest := string(row)
	for i, c := range s.Columns {
		d, n := decodeDatum(rest)
		switch {
		case rest == "":
			return s.mismatch(row, "it has %d columns", i)
		case n == 0:
			return s.mismatch(row, "column %d is corrupt", i)
		case d.kind == KindNull && !c.Type.Nullable:
			return s.mismatch(row, "column %d (%s) is NULL", i, c.Name)
		case d.kind != KindNull && d.kind != c.Type.Kind:
			return s.mismatch(row, "column %d (%s) is of kind %v", i, c.Name, d.kind)
		}
		rest = rest[n:]
	}
	if rest != "" {
		return s.mismatch(row, "it has more than %d columns", len(s.Columns))
	}
	return nil
}

func (s Schema) mismatch(row Row, format string, args ...any) error {
	return &RowMismatch{Row: row, Schema: s, Reason: fmt.Sprintf(format, args...)}
}
