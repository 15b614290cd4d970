package dataflow

// joining keeps the rows of both inputs by key. The product is bilinear, so that a change of one
// side is passed on at once, with the rows that the other side has by then.
type joining struct {
	*node
	outer bool
	sides [2]joinSide
	// nulls are the right columns of a left row that matches none.
	nulls  string
	buffer []byte
}

// joinSide is one input.
type joinSide struct {
	keyer
	rows    map[string]*bag
	records int
	bytes   int
}

func (s *joinSide) add(key []byte, row Row, diff int64) {
	b := s.rows[string(key)]
	if b == nil {
		b = new(bag)
		s.rows[string(key)] = b
		s.bytes += len(key) + recordBytes
	}
	s.records -= b.len
	s.bytes -= b.bytes
	b.add(string(row), "", diff)
	s.records += b.len
	s.bytes += b.bytes
	if b.len == 0 {
		delete(s.rows, string(key))
		s.bytes -= len(key) + recordBytes
	}
}

func (j *joining) push(input int, deltas []delta) {
	for _, d := range deltas {
		if d.diff != 0 {
			j.update(input, d)
		}
	}
	j.send()
}

func (j *joining) update(input int, d delta) {
	mine, others := &j.sides[input], &j.sides[1-input]
	key, _ := mine.key(d.row) // plain columns don't fail
	if hasNull(key) {         // equals nothing
		if j.outer && input == 0 {
			j.pair(d.row, Row(j.nulls), d.diff)
		}
		return
	}
	had := mine.rows[string(key)] != nil
	mine.add(key, d.row, d.diff)
	partners := others.rows[string(key)]
	if partners != nil {
		partners.all(func(e *bagEntry) bool {
			if input == 0 {
				j.pair(d.row, Row(e.key), d.diff*e.count)
			} else {
				j.pair(Row(e.key), d.row, d.diff*e.count)
			}
			return true
		})
	}
	switch has := mine.rows[string(key)] != nil; {
	case !j.outer:
	case input == 0:
		if partners == nil {
			j.pair(d.row, Row(j.nulls), d.diff)
		}
	case has != had && partners != nil: // left rows lose, or get, their right to stand alone
		diff := int64(1)
		if has {
			diff = -1
		}
		partners.all(func(e *bagEntry) bool {
			j.pair(Row(e.key), Row(j.nulls), diff*e.count)
			return true
		})
	}
}

func (j *joining) pair(left, right Row, diff int64) {
	j.buffer = append(append(j.buffer[:0], left...), right...)
	j.emit(Row(j.buffer), diff)
}

func (j *joining) size() Size {
	var s Size
	for i := range j.sides {
		side := &j.sides[i]
		s = s.plus(Size{side.records, side.bytes + 40*side.records})
	}
	return s
}
