package models

import (
	"fmt"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/persist"
)

// hydrationView is what passes over one connection to a replica that has to do with which dataflows hydrate.
//
// How many of them must is judged without a clock, and on sick connections too: commands arrive in the order in
// which they are sent. When the replica does a command that the controller has sent at some time, it has been told of
// all dataflows that ought to hydrate by then.
type hydrationView struct {
	// asOf are the beginnings of dataflows that count.
	asOf map[uint64]persist.Frontier
	// open are those that the controller wants to run, and has neither dropped nor heard of that they are hydrated.
	open map[uint64]bool
	// scheduled are those that the replica was told to run.
	scheduled map[uint64]bool
	// limit is how many may hydrate at a time.
	limit int
	// due is, for a command on its way, which dataflows were open when it was sent.
	due map[string][]uint64
}

func newHydrationView() *hydrationView {
	return &hydrationView{
		asOf: map[uint64]persist.Frontier{}, open: map[uint64]bool{}, scheduled: map[uint64]bool{}, due: map[string][]uint64{},
	}
}

// The commands whose doing can be observed.
const commandComplete = "InitializationComplete"

func commandCreate(collection uint64) string { return fmt.Sprintf("CreateDataflow c%d", collection) }
func commandDrop(collection uint64) string   { return fmt.Sprintf("AllowCompaction c%d", collection) }
func commandPeek(peek string) string         { return "Peek " + peek }

// sends notes what ought to hydrate when a command is sent.
func (h *hydrationView) sends(command string) {
	if len(h.open) > 0 {
		h.due[command] = slices.Sorted(maps.Keys(h.open))
	}
}

// TellsDataflow observes that a controller is about to tell a replica, over a connection, of a dataflow that begins at
// asOf. Counts is whether it is one of those of which only so many may hydrate at a time.
func (c *Compute) TellsDataflow(replica string, e ComputeEpoch, collection uint64, asOf persist.Frontier, counts bool, _ Moment) {
	h := c.replica(replica).connection(e).hydration
	h.sends(commandCreate(collection))
	if counts {
		h.asOf[collection] = asOf
	}
}

// TellsSchedule observes that a controller wants a dataflow to run on a replica, as soon as fewer hydrate than the
// limit says.
func (c *Compute) TellsSchedule(replica string, e ComputeEpoch, collection uint64, limit int, _ Moment) {
	h := c.replica(replica).connection(e).hydration
	h.limit = limit
	if _, counts := h.asOf[collection]; counts {
		h.open[collection] = true
	}
}

// TellsDrop observes that a controller is about to tell a replica to drop a dataflow.
func (c *Compute) TellsDrop(replica string, e ComputeEpoch, collection uint64, _ Moment) {
	h := c.replica(replica).connection(e).hydration
	h.sends(commandDrop(collection))
	h.settle(collection)
}

// TellsPeek observes that a controller is about to ask a replica for the answer to a peek.
func (c *Compute) TellsPeek(replica string, e ComputeEpoch, peek string, _ Moment) {
	c.replica(replica).connection(e).hydration.sends(commandPeek(peek))
}

// Hears observes that a controller has come to hear over a connection how far a collection is computed.
func (c *Compute) Hears(replica string, e ComputeEpoch, collection uint64, output persist.Frontier, _ Moment) {
	h := c.replica(replica).connection(e).hydration
	if asOf, counts := h.asOf[collection]; counts && asOf.Before(output) {
		h.settle(collection)
	}
}

// settle notes that a dataflow hydrates no more.
func (h *hydrationView) settle(collection uint64) {
	delete(h.asOf, collection)
	delete(h.open, collection)
}

// does observes that a replica does a command. Of the dataflows that were open when it was sent, it was told before to
// run as many as may hydrate.
func (c *Compute) does(replica string, e ComputeEpoch, command string, m Moment) {
	h := c.replica(replica).connection(e).hydration
	due, known := h.due[command]
	if !known {
		return
	}
	delete(h.due, command)
	told := 0
	for _, collection := range due {
		if h.scheduled[collection] {
			told++
		}
	}
	c.holds(OracleHydrationProgress, told >= min(h.limit, len(due)), m,
		"replica %s, epoch %v comes to %s, and of the dataflows %v, of which %d may hydrate, it was told to run %d", replica, e, command, due, h.limit, told)
}
