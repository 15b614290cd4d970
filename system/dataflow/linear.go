package dataflow

// linear is a chain of maps, filters and projections.
type linear struct {
	*node
	steps []linearStep
	width int // of input rows
	// decoded is how many of their columns are looked at.
	decoded int
	// projects tells whether output rows do not start with their input rows.
	projects bool
	data     []Datum
	spare    []Datum
	buffer   []byte
}

// linearStep is one of the chain.
type linearStep struct {
	op      Op
	exprs   []evaluator
	columns []int
}

func (l *linear) push(_ int, deltas []delta) {
	for _, d := range deltas {
		row, keep, err := l.apply(d.row)
		switch {
		case err != nil:
			l.fail(*err, d.diff)
		case keep:
			l.emit(row, d.diff)
		}
	}
	l.send()
}

func (l *linear) apply(row Row) (out Row, keep bool, failed *RowError) {
	data := l.decode(row)
	for i := range l.steps {
		switch s := &l.steps[i]; s.op {
		case OpMap:
			for _, eval := range s.exprs {
				d, err := eval(data)
				if err != nil {
					return "", false, err
				}
				data = append(data, d)
			}
		case OpFilter:
			if d, err := s.exprs[0](data); err != nil || !d.Bool() {
				return "", false, err
			}
		case OpProject:
			kept := l.spare[:0]
			for _, c := range s.columns {
				kept = append(kept, data[c])
			}
			// Both are kept at once: the row may be dropped before the end.
			data, l.data, l.spare = kept, kept, data
		}
	}
	l.data = data
	l.buffer = l.buffer[:0]
	if !l.projects {
		if len(data) == l.width {
			return row, true, nil
		}
		l.buffer = append(l.buffer, row...)
		data = data[l.width:]
	}
	for _, d := range data {
		l.buffer = appendDatum(l.buffer, d)
	}
	return Row(l.buffer), true, nil
}

// decode is the row's data. Those that nothing looks at are left out.
func (l *linear) decode(row Row) []Datum {
	data := l.data[:0]
	rest := string(row)
	for range l.decoded {
		d, n := decodeDatum(rest) // rows were checked at the door
		data = append(data, d)
		rest = rest[n:]
	}
	for range l.width - l.decoded {
		data = append(data, Datum{})
	}
	return data
}
