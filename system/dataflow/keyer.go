package dataflow

import "slices"

// keyer computes a part of rows, itself encoded as a row: the key of a group or of a join. Plain
// columns are copied as they are encoded.
type keyer struct {
	columns []int       // if the key is made of plain columns
	exprs   []evaluator // if it is not
	// whole: the key is the row.
	whole  bool
	places []int // of the row's columns, their first byte and the end
	data   []Datum
	buffer []byte
}

// columnKeyer is the key of these columns of rows that have width columns.
func columnKeyer(columns []int, width int) keyer {
	k := keyer{columns: columns, whole: len(columns) == width}
	for i, c := range columns {
		k.whole = k.whole && i == c
	}
	return k
}

// exprKeyer is the key of these expressions.
func exprKeyer(exprs []Expr, columns []Column) (keyer, error) {
	plain := make([]int, 0, len(exprs))
	var evaluators []evaluator
	for _, e := range exprs {
		t, err := compile(e, columns)
		if err != nil {
			return keyer{}, err
		}
		evaluators = append(evaluators, t.eval)
		if e.Func == FuncColumn {
			plain = append(plain, e.Column)
		}
	}
	if len(plain) == len(exprs) {
		return columnKeyer(plain, len(columns)), nil
	}
	return keyer{exprs: evaluators}, nil
}

// key is the row's key. The bytes are good until the next call.
func (k *keyer) key(row Row) ([]byte, *RowError) {
	k.buffer = k.buffer[:0]
	if k.whole {
		k.buffer = append(k.buffer, row...)
		return k.buffer, nil
	}
	if k.exprs == nil {
		k.places = locate(k.places[:0], row, k.columns)
		for _, c := range k.columns {
			k.buffer = append(k.buffer, row[k.places[c]:k.places[c+1]]...)
		}
		return k.buffer, nil
	}
	var err error
	if k.data, err = row.appendData(k.data[:0]); err != nil {
		panic(err) // rows were checked at the door
	}
	for _, eval := range k.exprs {
		d, failed := eval(k.data)
		if failed != nil {
			return nil, failed
		}
		k.buffer = appendDatum(k.buffer, d)
	}
	return k.buffer, nil
}

// hasNull tells whether any datum of the key is NULL.
func hasNull(key []byte) bool {
	for rest := string(key); rest != ""; rest = rest[datumLen(rest):] {
		if rest[0] == tagNull {
			return true
		}
	}
	return false
}

// locate appends where the row's columns start, up to the end of the last one of columns.
func locate(places []int, row Row, columns []int) []int {
	last := -1
	if len(columns) > 0 {
		last = slices.Max(columns)
	}
	at := 0
	for range last + 1 {
		places = append(places, at)
		at += datumLen(string(row[at:]))
	}
	return append(places, at)
}
