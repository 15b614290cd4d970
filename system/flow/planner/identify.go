package planner

import (
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/sql"
)

// identify finds what tells the rows of a flow's result apart, so that a row in the sink can be
// replaced: the group, or the key of the table, or else, without duplicates, the whole row.
func (b *building) identify(s *sql.Select) error {
	q := b.query
	switch {
	case b.distinct:
		q.Key = b.all()
		if w := q.Window; w != nil && w.Output == catalog.NoColumn {
			return invalid(s, "a flow that expires has to select the time by which its groups do")
		}
	case b.group != nil:
		for i, k := range b.group.keys {
			at := slices.IndexFunc(b.items, func(it item) bool { return it.key == i })
			if at < 0 {
				return invalid(k.at, "a flow has to select what it groups by: add %s to the SELECT list", k.at)
			}
			q.Key = append(q.Key, at)
		}
	default:
		if key, ok := b.inherited(); ok {
			q.Key = key
		} else {
			q.Plan, q.Key = q.Plan.Distinct(), b.all()
		}
	}
	slices.Sort(q.Key)
	q.TimeIndex = b.timeIndex()
	return nil
}

func (b *building) all() []int {
	all := make([]int, len(b.items))
	for i := range all {
		all[i] = i
	}
	return all
}

// inherited is where the key of the table went; ok is false if it has none, or a part of it is not
// selected.
func (b *building) inherited() (key []int, ok bool) {
	columns, keyed := b.query.Table.Key()
	if !keyed {
		return nil, false
	}
	for _, c := range columns {
		at := b.selected(c)
		if at < 0 {
			return nil, false
		}
		key = append(key, at)
	}
	return key, true
}

// selected is where a column of the table stands in the SELECT list.
func (b *building) selected(column int) int {
	return slices.IndexFunc(b.items, func(it item) bool { return it.Func == dataflow.FuncColumn && it.Column == column })
}

// timeIndex is the first group key that is a timestamp and never NULL, or the time index of the table.
func (b *building) timeIndex() int {
	if b.group == nil {
		if ti := b.query.Table.TimeIndex; ti != catalog.NoColumn {
			return b.selected(ti)
		}
		return catalog.NoColumn
	}
	for i, k := range b.group.keys {
		if k.ColumnType == dataflow.Type(dataflow.KindTimestamp) {
			return slices.IndexFunc(b.items, func(it item) bool { return it.key == i })
		}
	}
	return catalog.NoColumn
}
