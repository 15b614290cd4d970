package dataflow

// reduce keeps the state of groups' aggregates. Without aggregates it is distinct.
type reduce struct {
	*node
	keyer
	aggregations []aggregation
	arguments    []int // columns of arguments, those that are plain
	evaluated    bool  // some argument is not plain
	values       []Datum
	encoded      []string // values, if their aggregates want them so

	groups  map[string]*group
	touched []*group
	queue   expiryQueue
	// byDefault, if not "", is the row of the one group while it is empty.
	byDefault Row
}

// group is the rows of one key.
type group struct {
	key          string
	rows         int64
	accumulators []accumulator
	touched      bool
	// what was last passed on
	said   Row
	failed *RowError
	known  bool // one of them was
}

func (r *reduce) push(_ int, deltas []delta) {
	for _, d := range deltas {
		if err := r.update(d); err != nil {
			r.fail(*err, d.diff)
		}
	}
}

// update adds a row to its group. Nothing is done if an expression fails.
func (r *reduce) update(d delta) *RowError {
	key, err := r.key(d.row)
	if err != nil {
		return err
	}
	if err := r.argue(d.row); err != nil {
		return err
	}
	g := r.groups[string(key)]
	if g == nil {
		g = r.create(string(key))
	}
	g.rows += d.diff
	for i := range r.aggregations {
		if a := &r.aggregations[i]; a.Func != AggCountAll {
			g.accumulators[i].add(a, r.values[i], r.encoded[i], d.diff)
		}
	}
	r.touch(g)
	return nil
}

// touch notes that the group's result may have changed.
func (r *reduce) touch(g *group) {
	if !g.touched {
		g.touched = true
		r.touched = append(r.touched, g)
	}
}

func (r *reduce) create(key string) *group {
	g := &group{key: key}
	if n := len(r.aggregations); n > 0 {
		g.accumulators = make([]accumulator, n)
	}
	r.groups[key] = g
	r.queue.add(key, r.alive, len(r.groups))
	return g
}

func (r *reduce) alive(key string) bool { return r.groups[key] != nil }

// argue finds the arguments of all aggregates.
func (r *reduce) argue(row Row) *RowError {
	if r.evaluated {
		var err error
		if r.data, err = row.appendData(r.data[:0]); err != nil {
			panic(err) // rows were checked at the door
		}
	} else if len(r.arguments) > 0 {
		r.places = locate(r.places[:0], row, r.arguments)
	}
	r.values, r.encoded = r.values[:0], r.encoded[:0]
	for i := range r.aggregations {
		var d Datum
		var encoded string
		switch a := &r.aggregations[i]; {
		case a.Func == AggCountAll:
		case r.evaluated:
			var err *RowError
			if d, err = a.arg.eval(r.data); err != nil {
				return err
			}
			if a.inOrder {
				encoded = string(appendDatum(nil, d))
			}
		default:
			encoded = string(row[r.places[a.column]:r.places[a.column+1]])
			d, _ = decodeDatum(encoded)
		}
		r.values = append(r.values, d)
		r.encoded = append(r.encoded, encoded)
	}
	return nil
}

func (r *reduce) flush(budget int) (work int, more bool) {
	for ; work < budget && work < len(r.touched); work++ {
		g := r.touched[work]
		g.touched = false
		r.tell(g)
	}
	r.touched = r.touched[:copy(r.touched, r.touched[work:])]
	clear(r.touched[len(r.touched):cap(r.touched)])
	r.send()
	return work, len(r.touched) > 0
}

// tell passes on how the group's result has changed.
func (r *reduce) tell(g *group) {
	row, failed, known := r.result(g)
	if known && g.known && row == g.said && failed == nil && g.failed == nil {
		return
	}
	r.say(g, -1)
	g.said, g.failed, g.known = row, failed, known
	r.say(g, +1)
	if !known {
		delete(r.groups, g.key)
	}
}

func (r *reduce) say(g *group, diff int64) {
	switch {
	case !g.known:
	case g.failed != nil:
		r.fail(*g.failed, diff)
	default:
		r.emit(g.said, diff)
	}
}

func (r *reduce) isEmpty(g *group) bool {
	if g.rows != 0 {
		return false
	}
	for i := range g.accumulators {
		if !g.accumulators[i].isZero() {
			return false
		}
	}
	return true
}

// result is the group's row, or error, if there is one.
func (r *reduce) result(g *group) (row Row, failed *RowError, known bool) {
	if g.rows <= 0 {
		if r.isEmpty(g) {
			return r.byDefault, nil, r.byDefault != ""
		}
		return "", r.negative(g), true
	}
	if len(r.aggregations) == 0 {
		return Row(g.key), nil, true
	}
	r.buffer = append(r.buffer[:0], g.key...)
	for i := range r.aggregations {
		d, err := g.accumulators[i].result(&r.aggregations[i], g.rows)
		switch {
		case err == errNegative:
			return "", r.negative(g), true
		case err != nil && failed == nil:
			failed = err
		}
		r.buffer = appendDatum(r.buffer, d)
	}
	if failed != nil {
		return "", failed, true
	}
	if string(r.buffer) == string(g.said) {
		return g.said, nil, true
	}
	return Row(r.buffer), nil, true
}

func (r *reduce) negative(g *group) *RowError { return negativeGroup(g.key) }

// negativeGroup is the error of a group whose rows can't be.
func negativeGroup(key string) *RowError {
	return rowError(ErrNegativeMultiplicity, "group "+Row(key).String())
}

func (r *reduce) expire(now int64) {
	r.queue.expire(now, func(key string) { delete(r.groups, key) })
}

func (r *reduce) size() Size {
	s := r.queue.size()
	for _, g := range r.groups {
		s.Records++
		s.Bytes += recordBytes + len(g.key) + len(g.said)
		for i := range g.accumulators {
			s = s.plus(g.accumulators[i].size())
		}
	}
	return s
}
