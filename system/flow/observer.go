package flow

import (
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// Observer is told what happens, at the time and by the task that does it: it must not wait, nor call the
// manager. What it is given is not changed afterwards, and must not be.
type Observer interface {
	Observe(Event)
}

// Event is one of the types below.
type Event interface{ event() }

// FlowCreated: a flow runs. It is still without what its tables hold: see RefillFinished.
type FlowCreated struct {
	Node     string
	Flow     catalog.FlowID
	Revision uint64
	Worker   int
}

// FlowRemoved: a flow has stopped, and nothing of it will be written any more.
type FlowRemoved struct {
	Node string
	Flow catalog.FlowID
}

// RefillStarted: a flow is about to be given what its table holds.
type RefillStarted struct {
	Node    string
	Flow    catalog.FlowID
	Table   catalog.TableID
	Attempt int
}

// RefillFinished: it was given the rows of all changes before Upper.
type RefillFinished struct {
	Node  string
	Flow  catalog.FlowID
	Table catalog.TableID
	Upper uint64
	Rows  int
}

// RefillFailed: it was not, for now.
type RefillFailed struct {
	Node  string
	Flow  catalog.FlowID
	Table catalog.TableID
	Err   error
}

// Ran: a flow has worked through the changes of its table before Upper, at the tick Now.
type Ran struct {
	Node  string
	Flow  catalog.FlowID
	Upper uint64
	Now   int64
}

// Wrote: results were written into a sink.
type Wrote struct {
	Node     string
	Sink     catalog.Name
	Flows    []catalog.FlowID
	Inserted []dataflow.Row
	// Deleted are keys; of rows from before the flow began, whole rows.
	Deleted []dataflow.Row
	Stamp   Stamp
}

func (FlowCreated) event()    {}
func (FlowRemoved) event()    {}
func (RefillStarted) event()  {}
func (RefillFinished) event() {}
func (RefillFailed) event()   {}
func (Ran) event()            {}
func (Wrote) event()          {}

// nobody is the observer that does nothing.
type nobody struct{}

func (nobody) Observe(Event) {}
