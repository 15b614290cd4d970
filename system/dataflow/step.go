package dataflow

import (
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/system/persist"
)

// Step does about budget rows of work: rows read, groups looked at, rows passed between
// operators. It tells whether there is more to do. A budget of zero or less does a little.
//
// The work goes somewhat beyond the budget where a single row causes a lot, as in a join that
// multiplies; putting a finished time's output in order is not counted.
func (d *Dataflow) Step(budget int) (more bool) {
	d.work = 0
	budget = max(budget, 1)
	for d.Pending() && d.work < budget {
		switch {
		case d.current == nil:
			d.begin()
		case len(d.current.parts) > 0:
			d.feed(budget - d.work)
		case d.flushing < len(d.nodes):
			d.flush(budget - d.work)
		default:
			d.end()
		}
	}
	return d.Pending()
}

// Run steps until nothing is left to do, and takes the output.
func (d *Dataflow) Run() Output {
	for d.Step(1 << 20) {
	}
	return d.Take()
}

// begin starts with the next time, or gets over a completed frontier behind which nothing is left.
func (d *Dataflow) begin() {
	d.work++
	next := d.done[0]
	d.setNow(next.now)
	if len(d.pending) > 0 && !next.upper.LessEqual(d.pending[0].time) {
		d.current, d.flushing = d.pending[0], 0
		d.pending = slices.Delete(d.pending, 0, 1)
		for _, e := range d.current.errors {
			e.from.fail(e.err, e.diff)
		}
		return
	}
	d.done = slices.Delete(d.done, 0, 1)
	d.output.Upper = next.upper
}

// setNow lets groups go that are expired.
func (d *Dataflow) setNow(now int64) {
	if now == d.now {
		return
	}
	d.now = now
	for _, n := range d.nodes {
		n.expire(now)
	}
}

// feed passes input into the graph.
func (d *Dataflow) feed(budget int) {
	p := &d.current.parts[0]
	n := min(budget, outputChunk, len(p.deltas))
	taken := sizeOf(p.deltas[:n])
	d.pendingSize.Records -= taken.Records
	d.pendingSize.Bytes -= taken.Bytes
	p.to.forward(p.deltas[:n])
	if p.deltas = p.deltas[n:]; len(p.deltas) == 0 {
		d.current.parts = slices.Delete(d.current.parts, 0, 1)
	}
}

// flush lets the nodes pass on what they held back, inputs first.
func (d *Dataflow) flush(budget int) {
	work, more := d.nodes[d.flushing].flush(budget)
	d.work += work
	if !more {
		d.flushing++
	}
}

// end puts the time's output in order.
func (d *Dataflow) end() {
	time := d.current.time
	d.current = nil
	slices.SortFunc(d.rows, func(a, b delta) int { return strings.Compare(string(a.row), string(b.row)) })
	kept := fold(d.rows,
		func(a, b *delta) bool { return a.row == b.row },
		func(c *delta) *int64 { return &c.diff })
	d.output.Updates = slices.Grow(d.output.Updates, len(kept))
	for _, c := range kept {
		d.output.Updates = append(d.output.Updates, Update{Row: c.row, Time: time, Diff: c.diff})
	}
	clear(d.rows)
	d.rows = d.rows[:0]

	d.output.Errors = append(d.output.Errors, ConsolidateErrors(d.errors)...)
	d.errors = d.errors[:0]

	d.output.Upper = persist.Empty()
	if time+1 != 0 {
		d.output.Upper = persist.At(time + 1)
	}
	if !d.output.Upper.Before(d.done[0].upper) {
		d.done = slices.Delete(d.done, 0, 1)
	}
}

// failed counts an error at the current time.
func (d *Dataflow) failed(err RowError, diff int64) {
	d.errors = append(d.errors, ErrorUpdate{Err: err, Time: d.current.time, Diff: diff})
}

// result takes the changes of the plan's root.
type result struct{ *node }

func (r result) push(_ int, deltas []delta) { r.graph.rows = append(r.graph.rows, deltas...) }
