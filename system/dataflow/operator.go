package dataflow

// delta is a change at the time that is being worked on.
type delta struct {
	row  Row
	diff int64
}

// operator computes one node of the graph. Within a time it is first pushed all changes of its
// inputs, which it may pass on at once, and then told to flush the rest. Over a time's pushes and
// flushes its output adds up to the change of its result; pieces don't matter.
type operator interface {
	// push takes changes of an input. It does not keep the slice.
	push(input int, deltas []delta)
	// flush passes on what is left, in about budget rows of work. It returns the work done, and
	// whether there is more.
	flush(budget int) (work int, more bool)
	// expire forgets groups that can't change any more.
	expire(now int64)
	// size tells what the operator holds.
	size() Size
}

// Size is an estimate of memory.
type Size struct {
	Records int // rows, groups and values held
	Bytes   int
}

func (s Size) plus(t Size) Size { return Size{s.Records + t.Records, s.Bytes + t.Bytes} }

// recordBytes is about what a record takes besides its data.
const recordBytes = 64

// node is what operators have in common: where their output goes.
type node struct {
	outs  []edge
	graph *Dataflow
	out   []delta // changes not yet passed on
	// uses is how often the node's plan occurs in the whole plan. The node is there once, but
	// each occurrence counts its errors.
	uses int64
}

// edge leads to an input of an operator.
type edge struct {
	to    operator
	input int
}

// outputChunk is how many changes are passed on at a time.
const outputChunk = 1024

// emit passes on a change, soon.
func (n *node) emit(row Row, diff int64) {
	n.out = append(n.out, delta{row, diff})
	if len(n.out) >= outputChunk {
		n.send()
	}
}

// send passes on the changes emitted so far.
func (n *node) send() {
	out := n.out
	if len(out) == 0 {
		return
	}
	// Nothing leads back here, so the memory can be used again when all have seen it.
	n.forward(out)
	clear(out)
	n.out = out[:0]
}

// forward passes on changes that lie elsewhere.
func (n *node) forward(deltas []delta) {
	n.graph.work += len(deltas)
	for _, e := range n.outs {
		e.to.push(e.input, deltas)
	}
}

// fail counts an error.
func (n *node) fail(err RowError, diff int64) { n.graph.failed(err, diff*n.uses) }

// Operators without state have nothing to flush, expire or measure.

func (n *node) flush(int) (int, bool) { return 0, false }
func (n *node) expire(int64)          {}
func (n *node) size() Size            { return Size{} }

// union adds up its inputs.
type union struct{ *node }

func (u union) push(_ int, deltas []delta) { u.forward(deltas) }

// negate turns multiplicities round.
type negate struct{ *node }

func (n negate) push(_ int, deltas []delta) {
	for _, d := range deltas {
		n.emit(d.row, -d.diff)
	}
	n.send()
}

// expire drops what is too old.
type expire struct {
	*node
	expiringColumn
}

func (e expire) push(_ int, deltas []delta) {
	horizon := horizon(e.graph.now, e.after)
	for _, d := range deltas {
		// NULL is no timestamp, and not before anything.
		if ts := columnOf(d.row, e.column); ts.kind == KindTimestamp && ts.num < horizon {
			e.graph.dropped++
			continue
		}
		e.emit(d.row, d.diff)
	}
	e.send()
}

// horizon is the first timestamp that is not expired.
func horizon(now, after int64) int64 {
	if h, ok := subInt(now, after); ok {
		return h
	}
	return -1 << 63
}

// columnOf is a column of a valid row.
func columnOf(row Row, column int) Datum {
	rest := string(row)
	for range column {
		rest = rest[datumLen(rest):]
	}
	d, _ := decodeDatum(rest)
	return d
}
