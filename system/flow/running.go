package flow

import (
	"fmt"
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// runningFlow is a flow on its worker: a dataflow, what it reads and where its results go.
//
// It begins without what its table holds, and holds back what comes until it is given that: see fill.
type runningFlow struct {
	h     host.Host
	spec  createRequest
	graph *dataflow.Dataflow
	step  uint64 // the next time of the dataflow

	filled  bool
	held    []Batch // until it is, the latest ones
	want    uint64  // the sequence number of the batch that comes next; before it is filled, of held
	lastRun int64
	ran     bool
}

// createRequest is what a worker needs to run a flow.
type createRequest struct {
	args  CreateFlowArgs
	query *planner.Query
	graph *dataflow.Dataflow // of the query, and of nobody else
	sub   *subscription
	sink  *sinkQueue
	// landing is of the sink's writers.
	landing *landing
	errs    *errCollector
	// hold is how many batches are held back until the flow is filled.
	hold int
	tell func(Event)
	node string
}

func newRunningFlow(h host.Host, spec createRequest) *runningFlow {
	return &runningFlow{h: h, spec: spec, graph: spec.graph}
}

func (f *runningFlow) id() catalog.FlowID { return f.spec.args.ID }

// fill gives the flow what its table held before the change numbered upper, and lets go what was held
// back since. It fails with [ErrNotCaughtUp] if changes between the two are not held back any more: all that
// were have been read by whoever reads the table now.
func (f *runningFlow) fill(rows []dataflow.RowCount, upper uint64, now int64) error {
	switch {
	case f.filled:
		return nil
	case upper < f.want:
		f.h.Sometimes("flow: a refill came too late for what was held back", true)
		return fmt.Errorf("%w: changes from %d on are not held back any more", ErrNotCaughtUp, upper)
	}
	f.graph.SetNow(now)
	updates := make([]dataflow.Update, len(rows))
	for i, r := range rows {
		updates[i] = dataflow.Update{Row: r.Row, Time: f.step, Diff: r.Count}
	}
	f.push(updates)
	f.filled, f.want = true, upper
	f.h.Sometimes("flow: changes were held back during a refill", len(f.held) > 0)
	held := f.held
	f.held = nil
	f.advance(now, true)
	f.take(held)
	f.run(now)
	return nil
}

// run works through what has come.
func (f *runningFlow) run(now int64) {
	f.lastRun, f.ran = now, true
	var batches []Batch
	for {
		b, ok, ready := f.spec.sub.batches.TryRecv()
		if !ready || !ok {
			break
		}
		batches = append(batches, b)
	}
	if !f.filled {
		f.holdBack(batches)
		return
	}
	f.graph.SetNow(now)
	f.take(batches)
	f.advance(now, false)
}

// holdBack keeps batches until the flow is filled. There may be more than it can keep: then it forgets the
// oldest ones, which whoever reads the table from now on finds there.
func (f *runningFlow) holdBack(batches []Batch) {
	f.held = append(f.held, batches...)
	if more := len(f.held) - f.spec.hold; more > 0 {
		f.held = slices.Clone(f.held[more:])
		f.want = f.held[0].Seq
	}
}

// take hands batches to the dataflow, those that are in what it was filled with excepted.
func (f *runningFlow) take(batches []Batch) {
	for _, b := range batches {
		if b.Seq < f.want {
			f.h.Sometimes("flow: a refill had a change already that came later", true)
			continue
		}
		f.h.Always("flow: a flow takes the changes of its table once and in order", b.Seq == f.want,
			"flow %d takes change %d of its table, expected %d", f.id(), b.Seq, f.want)
		f.want = b.Seq + 1
		updates := make([]dataflow.Update, len(b.Rows))
		for i, r := range b.Rows {
			updates[i] = dataflow.Update{Row: r.Row, Time: f.step, Diff: r.Diff}
		}
		f.push(updates)
	}
}

// push gives the dataflow rows of its table.
func (f *runningFlow) push(updates []dataflow.Update) {
	source := planner.Source(f.spec.query.Table.ID)
	if err := f.graph.Push(source, updates); err != nil {
		f.spec.errs.push(err)
	}
}

// advance computes what has changed and passes it on.
func (f *runningFlow) advance(now int64, whole bool) {
	source := planner.Source(f.spec.query.Table.ID)
	f.step++
	if err := f.graph.Advance(source, persist.At(f.step)); err != nil {
		f.spec.errs.push(err)
		return
	}
	before := f.graph.Dropped()
	out := f.graph.Run()
	f.h.Sometimes("flow: a row came too late and was dropped", f.graph.Dropped() > before)
	for _, e := range out.Errors {
		if e.Diff > 0 {
			f.spec.errs.push(e.Err)
		}
	}
	requests := diffRequests(out.Updates)
	f.spec.tell(Ran{Node: f.spec.node, Flow: f.id(), Upper: f.want, Now: now})
	if len(requests) == 0 && !whole {
		return
	}
	o := output{flow: f.id(), query: f.spec.query, requests: requests, errs: f.spec.errs, whole: whole, landing: f.spec.landing}
	if w := f.spec.query.Window; w != nil {
		o.horizon = now - w.After
	}
	f.spec.sink.push(o)
}

func (f *runningFlow) size() int {
	n := f.graph.Size().Bytes
	for _, b := range f.held {
		for _, r := range b.Rows {
			n += len(r.Row)
		}
	}
	return n
}
