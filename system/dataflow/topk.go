package dataflow

import "slices"

// topk keeps the rows of groups in order, and passes on those in a range of positions.
type topk struct {
	*node
	keyer
	order         []Order
	limit, offset int64

	groups  map[string]*topGroup
	touched []*topGroup
	queue   expiryQueue
	sorting sorter
}

// topGroup is the rows of one key.
type topGroup struct {
	key     string
	rows    bag
	touched bool
	// what was last passed on
	said   []RowCount
	failed *RowError
}

func (t *topk) push(_ int, deltas []delta) {
	for _, d := range deltas {
		key, _ := t.key(d.row) // plain columns don't fail
		g := t.groups[string(key)]
		if g == nil {
			g = &topGroup{key: string(key)}
			t.groups[g.key] = g
			t.queue.add(g.key, t.alive, len(t.groups))
		}
		sortKey := t.sorting.key(d.row) // ends with the row, of which so there is one copy
		g.rows.add(sortKey, Row(sortKey[len(sortKey)-len(d.row):]), d.diff)
		if !g.touched {
			g.touched = true
			t.touched = append(t.touched, g)
		}
	}
}

func (t *topk) alive(key string) bool { return t.groups[key] != nil }

func (t *topk) flush(budget int) (work int, more bool) {
	done := 0
	for work < budget && done < len(t.touched) {
		g := t.touched[done]
		g.touched = false
		done++
		work += 1 + t.tell(g)
	}
	t.touched = t.touched[:copy(t.touched, t.touched[done:])]
	clear(t.touched[len(t.touched):cap(t.touched)])
	t.send()
	return work, len(t.touched) > 0
}

// tell passes on how the group's result has changed, and returns how much it looked at.
func (t *topk) tell(g *topGroup) (work int) {
	var top []RowCount
	var failed *RowError
	if g.rows.negative > 0 {
		failed = negativeGroup(g.key)
	} else {
		top, work = t.top(&g.rows)
	}
	if !slices.Equal(top, g.said) {
		for _, c := range g.said {
			t.emit(c.Row, -c.Count)
		}
		for _, c := range top {
			t.emit(c.Row, c.Count)
		}
		g.said = top
	}
	if (failed == nil) != (g.failed == nil) {
		if g.failed != nil {
			t.fail(*g.failed, -1)
		}
		if failed != nil {
			t.fail(*failed, +1)
		}
		g.failed = failed
	}
	if g.rows.len == 0 {
		delete(t.groups, g.key)
	}
	return work + len(top)
}

// top are the rows at the positions from offset to offset + limit.
func (t *topk) top(rows *bag) (top []RowCount, looked int) {
	skip, left := t.offset, t.limit
	rows.all(func(e *bagEntry) bool {
		looked++
		n := e.count
		passed := min(n, skip)
		skip -= passed
		n -= passed
		if left != NoLimit {
			n = min(n, left)
			left -= n
		}
		if n > 0 {
			top = append(top, RowCount{Row: e.row, Count: n})
		}
		return left != 0
	})
	return top, looked
}

func (t *topk) expire(now int64) {
	t.queue.expire(now, func(key string) { delete(t.groups, key) })
}

func (t *topk) size() Size {
	s := t.queue.size()
	for _, g := range t.groups {
		s = s.plus(Size{1 + g.rows.len, len(g.key) + g.rows.bytes + recordBytes*(1+g.rows.len) + 24*len(g.said)})
	}
	return s
}
