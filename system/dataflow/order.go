package dataflow

import (
	"slices"
	"strings"
)

// sorter makes strings of rows that sort as the rows are to be sorted.
type sorter struct {
	order   []Order
	columns []int
	places  []int
	buffer  []byte
}

func newSorter(order []Order) sorter {
	s := sorter{order: order}
	for _, o := range order {
		s.columns = append(s.columns, o.Column)
	}
	return s
}

// key is the row's data in the columns to sort by, those in descending order complemented, and
// then the row itself, to break ties.
func (s *sorter) key(row Row) string {
	s.buffer = s.buffer[:0]
	s.places = locate(s.places[:0], row, s.columns)
	for _, o := range s.order {
		datum := row[s.places[o.Column]:s.places[o.Column+1]]
		switch null := datum[0] == tagNull; {
		case null && o.NullsLast:
			s.buffer = append(s.buffer, 0xff)
		case null:
			s.buffer = append(s.buffer, 0x00)
		case o.Desc:
			// The complement of a kind's byte is between the two above too.
			for _, b := range []byte(datum) {
				s.buffer = append(s.buffer, ^b)
			}
		default:
			s.buffer = append(s.buffer, datum...)
		}
	}
	return string(append(s.buffer, row...))
}

// SortRows sorts valid rows in the given order, ties by the whole row: what a query's ORDER BY
// asks of the rows of a collection, which has no order.
func SortRows(rows []Row, order []Order) {
	s := newSorter(order)
	type keyed struct {
		key string
		row Row
	}
	sorted := make([]keyed, len(rows))
	for i, row := range rows {
		sorted[i] = keyed{s.key(row), row}
	}
	slices.SortFunc(sorted, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	for i, k := range sorted {
		rows[i] = k.row
	}
}
