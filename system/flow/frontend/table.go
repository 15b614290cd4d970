package frontend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// Shard is where a table's rows are. Beside its rows it has marks, one for each writer of stamped writes:
// the latest stamp. A mark starts with a byte with which no row starts.
func Shard(id catalog.TableID) persist.ShardID {
	return persist.ShardID(fmt.Sprintf("table-%d", id))
}

const markByte = "\xff"

// IsRow tells whether a datum of a table's shard is a row.
func IsRow(data string) bool { return !strings.HasPrefix(data, markByte) }

// table is a table in the memory of a frontend.
type table struct {
	*catalog.Table
	relation *relation.Relation
	rows     *contents
}

func openTable(h host.Host, client *persist.Client, def *catalog.Table, cfg relation.Config) *table {
	t := &table{Table: def, rows: &contents{def: def}}
	t.relation = relation.Open(h, client, Shard(def.ID), t.rows, cfg)
	return t
}

// contents are the rows of a table.
type contents struct {
	def    *catalog.Table
	counts map[dataflow.Row]int64
	byKey  map[dataflow.Row]dataflow.Row
	marks  map[string]flow.Stamp
}

// Reset implements relation.State.
func (c *contents) Reset() {
	c.counts, c.byKey, c.marks = map[dataflow.Row]int64{}, map[dataflow.Row]dataflow.Row{}, map[string]flow.Stamp{}
}

// Apply implements relation.State. What comes may come before what goes.
func (c *contents) Apply(data string, diff int64) {
	if !IsRow(data) {
		c.mark(data, diff)
		return
	}
	row := dataflow.Row(data)
	if c.counts[row] += diff; c.counts[row] == 0 {
		delete(c.counts, row)
	}
	if _, keyed := c.def.Key(); !keyed {
		return
	}
	key := c.key(row)
	switch {
	case diff > 0:
		c.byKey[key] = row
	case c.byKey[key] == row:
		delete(c.byKey, key)
	}
}

func (c *contents) mark(data string, diff int64) {
	if diff < 0 {
		return // its successor is there already, or comes
	}
	var s flow.Stamp
	if err := cbor.Unmarshal([]byte(data[len(markByte):]), &s); err != nil {
		panic("frontend: a table's shard holds what is neither a row nor a mark: " + err.Error())
	}
	c.marks[s.Writer] = s
}

func markOf(s flow.Stamp) string {
	b, err := cbor.Marshal(s)
	if err != nil {
		panic("frontend: stamps always encode: " + err.Error())
	}
	return markByte + string(b)
}

// key is what tells a row apart.
func (c *contents) key(row dataflow.Row) dataflow.Row {
	data, err := row.Unpack()
	if err != nil {
		panic("frontend: rows are checked before they are written: " + err.Error())
	}
	return c.def.KeyOf(data)
}

// sorted are the rows, sorted.
func (c *contents) sorted() []dataflow.RowCount {
	all := make([]dataflow.RowCount, 0, len(c.counts))
	for row, n := range c.counts {
		all = append(all, dataflow.RowCount{Row: row, Count: n})
	}
	slices.SortFunc(all, func(a, b dataflow.RowCount) int { return strings.Compare(string(a.Row), string(b.Row)) })
	return all
}

// edit is a change of a table in the making.
type edit struct {
	*contents
	diffs map[string]int64
	keys  map[dataflow.Row]dataflow.Row // what keys have come to, "" for nothing
}

func (c *contents) edit() *edit {
	return &edit{c, map[string]int64{}, map[dataflow.Row]dataflow.Row{}}
}

// current is the row of a key as the edit leaves it, "" if there is none.
func (e *edit) current(key dataflow.Row) dataflow.Row {
	if row, changed := e.keys[key]; changed {
		return row
	}
	return e.byKey[key]
}

func (e *edit) change(data string, diff int64) {
	if e.diffs[data] += diff; e.diffs[data] == 0 {
		delete(e.diffs, data)
	}
}

// put adds a row, in place of the one with its key.
func (e *edit) put(row dataflow.Row) {
	if _, keyed := e.def.Key(); keyed {
		key := e.key(row)
		e.take(key)
		e.keys[key] = row
	}
	e.change(string(row), 1)
}

// take removes the row of a key, if there is one.
func (e *edit) take(key dataflow.Row) {
	if row := e.current(key); row != "" {
		e.change(string(row), -1)
		e.keys[key] = ""
	}
}

// changes are the edit as changes of the shard, sorted.
func (e *edit) changes() []relation.Change {
	all := make([]relation.Change, 0, len(e.diffs))
	for data, d := range e.diffs {
		all = append(all, relation.Change{Data: data, Diff: d})
	}
	slices.SortFunc(all, func(a, b relation.Change) int { return strings.Compare(a.Data, b.Data) })
	return all
}

// batch are the rows of changes.
func batch(seq uint64, changes []relation.Change) flow.Batch {
	b := flow.Batch{Seq: seq}
	for _, c := range changes {
		if IsRow(c.Data) {
			b.Rows = append(b.Rows, flow.DiffRow{Row: dataflow.Row(c.Data), Diff: c.Diff})
		}
	}
	return b
}

// write makes a stamped write, unless it is done already.
func (t *table) write(ctx context.Context, w flow.WriteRequest) (flow.Batch, error) {
	schema := t.Schema()
	var made []relation.Change
	seq, err := t.relation.Update(ctx, func(uint64) ([]relation.Change, error) {
		made = nil
		last, marked := t.rows.marks[w.Stamp.Writer]
		if marked && !w.Stamp.After(last) {
			return nil, nil
		}
		e := t.rows.edit()
		for _, r := range w.Requests {
			for _, row := range r.Rows {
				if r.Delete && !r.Whole {
					e.take(row)
					continue
				}
				if err := schema.Check(row); err != nil {
					return nil, fmt.Errorf("%w: table %s: %w", flow.ErrInvalidInsert, t.Name, err)
				}
				if !r.Delete {
					e.put(row)
				} else if key := e.key(row); e.current(key) == row {
					e.take(key)
				}
			}
		}
		if marked {
			e.change(markOf(last), -1)
		}
		e.change(markOf(w.Stamp), 1)
		made = e.changes()
		return made, nil
	})
	return batch(seq, made), err
}
