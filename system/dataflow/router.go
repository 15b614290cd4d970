package dataflow

import "github.com/zeebo/xxh3"

// Router tells where rows go. It is for one task at a time.
type Router struct {
	key     keyer
	workers uint64
	first   bool // all to the first
}

// Router tells which of so many workers gets which rows of the input.
func (in *StageInput) Router(workers int) *Router {
	width := len(in.Schema.Columns)
	switch {
	case in.key.whole:
		return &Router{key: keyer{whole: true}, workers: uint64(workers)}
	case len(in.key.exprs) > 0:
		key, err := exprKeyer(in.key.exprs, in.Schema.Columns)
		if err != nil {
			panic("dataflow: a stage's plan was checked: " + err.Error())
		}
		return &Router{key: key, workers: uint64(workers)}
	}
	// Without a key there is one group, which the first worker has: it alone says what there is without rows.
	first := in.key.first || len(in.key.columns) == 0
	return &Router{key: columnKeyer(in.key.columns, width), workers: uint64(workers), first: first}
}

// NewRouter tells which of so many workers gets which rows of a schema, by key columns; by the whole row if there
// are none.
func NewRouter(schema Schema, key []int, workers int) *Router {
	if len(key) == 0 {
		return &Router{key: keyer{whole: true}, workers: uint64(workers)}
	}
	return &Router{key: columnKeyer(key, len(schema.Columns)), workers: uint64(workers)}
}

// Worker is where a row goes. One on which the key fails goes somewhere, and fails there again.
func (r *Router) Worker(row Row) int {
	if r.workers == 1 || r.first {
		return 0
	}
	key, err := r.key.key(row)
	if err != nil {
		return int(xxh3.HashString(string(row)) % r.workers)
	}
	return int(xxh3.Hash(key) % r.workers)
}

// Split is an output as the workers get it, each its rows and errors of the same times.
func (r *Router) Split(out Output) []Output {
	parts := make([]Output, r.workers)
	if r.workers == 1 {
		parts[0] = out
		return parts
	}
	for i := range parts {
		parts[i].Lower, parts[i].Upper = out.Lower, out.Upper
	}
	for _, u := range out.Updates {
		p := &parts[r.Worker(u.Row)]
		p.Updates = append(p.Updates, u)
	}
	for _, u := range out.Errors {
		// The same error comes and goes on one worker.
		p := &parts[xxh3.HashString(u.Err.Where)%r.workers]
		p.Errors = append(p.Errors, u)
	}
	return parts
}
