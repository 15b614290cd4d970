package cdc

import (
	"slices"
	"sort"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
)

// sorter holds rows until they are resolved, and gives them out by commit ts and key, each once.
type sorter struct {
	rows   []source.Row
	sorted bool
}

func (s *sorter) add(rows []source.Row) {
	s.rows = append(s.rows, rows...)
	s.sorted = false
}

func (s *sorter) len() int { return len(s.rows) }

// take removes the rows of commit ts up to a ts and returns them in order.
func (s *sorter) take(upTo model.Ts) []source.Row {
	if !s.sorted {
		slices.SortFunc(s.rows, source.Compare)
		s.rows = slices.CompactFunc(s.rows, func(a, b source.Row) bool { return source.Compare(a, b) == 0 })
		s.sorted = true
	}
	n := sort.Search(len(s.rows), func(i int) bool { return s.rows[i].CommitTs > upTo })
	taken := slices.Clone(s.rows[:n])
	s.rows = slices.Clone(s.rows[n:])
	return taken
}
