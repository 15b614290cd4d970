package pipeline

import (
	"fmt"
	"strings"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/persist"
)

const (
	// AsOfColumn is the column of a flow's table that is NULL but in the mark, where it is the checkpoint up
	// to which the table is complete.
	AsOfColumn = "as_of"
	// Mark is what the mark has in its columns that are strings, the key among them.
	Mark = "~mark"
)

// EncodeValue is the value of a source's key whose row has these columns behind the first.
func EncodeValue(columns ...dataflow.Datum) string { return string(dataflow.Pack(columns...)) }

// Schema is that of the table's rows.
func (t *Table) Schema() dataflow.Schema {
	return dataflow.Schema{Columns: t.Columns, Keys: [][]int{{0}}}
}

// Row is the row of a key and its value. A value that is no row of the table is an error, and so is the key [Mark].
func (t *Table) Row(key, value string) (dataflow.Row, error) {
	rest, ok := strings.CutPrefix(key, t.Prefix)
	if !ok {
		return "", fmt.Errorf("pipeline: key %q has not the prefix %q of table %s", key, t.Prefix, t.Name)
	}
	if rest == Mark {
		return "", fmt.Errorf("pipeline: key %q is the mark's, and can't be a row of table %s", key, t.Name)
	}
	row := dataflow.Pack(dataflow.String(rest)) + dataflow.Row(value)
	if err := t.Schema().Check(row); err != nil {
		return "", fmt.Errorf("pipeline: key %q: its value is no row of table %s: %w", key, t.Name, err)
	}
	return row, nil
}

// definition is the table as flows read it.
func (t *Table) definition() catalog.Table {
	def := catalog.Table{Name: catalog.Public(t.Name), PrimaryKey: []int{0}, TimeIndex: catalog.NoColumn}
	for _, c := range t.Columns {
		def.Columns = append(def.Columns, catalog.Column{Name: c.Name, Kind: c.Type.Kind, Nullable: c.Type.Nullable})
	}
	def.Columns = append(def.Columns, catalog.Column{Name: AsOfColumn, Kind: dataflow.KindInt64, Nullable: true})
	return def
}

// unmarked is a row as flows read it.
func unmarked(row dataflow.Row) dataflow.Row { return row + dataflow.Pack(dataflow.Null()) }

// mark is the row that says up to where the table is complete.
func (t *Table) mark(at model.Ts) dataflow.Row {
	data := make([]dataflow.Datum, 0, len(t.Columns)+1)
	for _, c := range t.Columns {
		d, err := filler(c)
		if err != nil {
			panic(err) // the configuration was checked
		}
		data = append(data, d)
	}
	return dataflow.Pack(append(data, dataflow.Int(int64(at)))...)
}

// filler is what the mark has in a column.
func filler(c dataflow.Column) (dataflow.Datum, error) {
	switch {
	case c.Type.Kind == dataflow.KindString:
		return dataflow.String(Mark), nil
	case c.Type.Nullable:
		return dataflow.Null(), nil
	case c.Type.Kind == dataflow.KindInt64:
		return dataflow.Int(0), nil
	case c.Type.Kind == dataflow.KindFloat64:
		return dataflow.Float(0), nil
	case c.Type.Kind == dataflow.KindBool:
		return dataflow.Bool(false), nil
	case c.Type.Kind == dataflow.KindTimestamp:
		return dataflow.Timestamp(0), nil
	}
	return dataflow.Null(), fmt.Errorf("column %q is of kind %v, which a table can't have", c.Name, c.Type.Kind)
}

// keyOf is the first column of a row, alone.
func keyOf(row dataflow.Row) (dataflow.Row, error) {
	data, err := row.Unpack()
	if err != nil {
		return "", err
	}
	if len(data) == 0 {
		return "", dataflow.ErrCorruptRow
	}
	return dataflow.Pack(data[0]), nil
}

// upTo is the frontier of a shard that is complete up to a ts.
func upTo(at model.Ts) persist.Frontier { return persist.At(at + 1) }

// milliseconds is a length of time as a difference of ts.
func milliseconds(ms uint64) model.Ts { return model.ComposeTs(int64(ms), 0) }
