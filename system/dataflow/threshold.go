package dataflow

// threshold keeps the multiplicities of rows, and passes on those above zero.
type threshold struct {
	*node
	rows    map[string]*multiplicity
	touched []*multiplicity
	queue   expiryQueue
	bytes   int
}

// multiplicity is how often a row is there, and how often it was last said to be.
type multiplicity struct {
	row         Row
	count, said int64
	touched     bool
}

func (t *threshold) push(_ int, deltas []delta) {
	for _, d := range deltas {
		m := t.rows[string(d.row)]
		if m == nil {
			m = &multiplicity{row: d.row}
			t.rows[string(d.row)] = m
			t.bytes += len(d.row)
			t.queue.add(string(d.row), t.alive, len(t.rows))
		}
		m.count += d.diff
		if !m.touched {
			m.touched = true
			t.touched = append(t.touched, m)
		}
	}
}

func (t *threshold) alive(row string) bool { return t.rows[row] != nil }

func (t *threshold) flush(budget int) (work int, more bool) {
	for ; work < budget && work < len(t.touched); work++ {
		m := t.touched[work]
		m.touched = false
		if now := max(m.count, 0); now != m.said {
			t.emit(m.row, now-m.said)
			m.said = now
		}
		if m.count == 0 {
			t.forget(string(m.row))
		}
	}
	t.touched = t.touched[:copy(t.touched, t.touched[work:])]
	clear(t.touched[len(t.touched):cap(t.touched)])
	t.send()
	return work, len(t.touched) > 0
}

func (t *threshold) forget(row string) {
	if t.alive(row) {
		t.bytes -= len(row)
		delete(t.rows, row)
	}
}

func (t *threshold) expire(now int64) { t.queue.expire(now, t.forget) }

func (t *threshold) size() Size {
	return Size{len(t.rows), t.bytes + recordBytes*len(t.rows)}.plus(t.queue.size())
}
