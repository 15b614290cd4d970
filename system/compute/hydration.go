package compute

import (
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// hydration decides when dataflows are scheduled: no more than so many are to hydrate at a time, that is, not
// to have computed their output beyond their AsOf yet. It holds Schedule commands back and does
// nothing itself: it is told what passes by, and returns what is to be sent.
//
// It knows of one connection. On the next one all dataflows wait again, until the replica says of those
// that it has retained that they are hydrated.
type hydration struct {
	concurrency func() int // asked anew each time

	waiting  map[protocol.GlobalID]*hydrating
	queue    []protocol.GlobalID // to be scheduled, in the order in which it was asked for
	inFlight int                 // scheduled, and not hydrated
}

type hydrating struct {
	asOf  protocol.Frontier
	state hydrationState
}

type hydrationState int

const (
	created hydrationState = iota
	queued
	scheduled
)

func newHydration(concurrency func() int) *hydration {
	return &hydration{concurrency: concurrency, waiting: map[protocol.GlobalID]*hydrating{}}
}

// command takes a command on its way to the replica, and returns what is to be sent.
func (h *hydration) command(cmd protocol.Command) []protocol.Command {
	send := []protocol.Command{cmd}
	switch cmd := cmd.(type) {
	case protocol.CreateDataflow:
		if !cmd.Dataflow.Transient {
			h.waiting[cmd.Dataflow.ID] = &hydrating{asOf: cmd.Dataflow.AsOf}
		}
	case protocol.Schedule:
		if d := h.waiting[cmd.ID]; d != nil {
			d.state = queued
			h.queue = append(h.queue, cmd.ID)
			send = nil
		}
	case protocol.AllowCompaction:
		if cmd.Frontier.IsEmpty() {
			h.forget(cmd.ID)
		}
	}
	return append(send, h.pump()...)
}

// response takes a response on its way from the replica, and returns what is to be sent.
func (h *hydration) response(r protocol.Response) []protocol.Command {
	id, output := computed(r)
	d := h.waiting[id]
	if d == nil || !d.asOf.Before(output) {
		return nil
	}
	var send []protocol.Command
	if d.state == queued { // the replica had it already; it is told all the same
		send = append(send, protocol.Schedule{ID: id})
	}
	h.forget(id)
	return append(send, h.pump()...)
}

// computed is what a response says of how far a collection is computed. A subscribe, which tells of no frontiers,
// says so with its batches.
func computed(r protocol.Response) (id protocol.GlobalID, output protocol.Frontier) {
	switch r := r.(type) {
	case protocol.Frontiers:
		return r.ID, r.Output
	case protocol.SubscribeResponse:
		if r.Batch == nil {
			return r.ID, persist.Empty()
		}
		return r.ID, r.Batch.Upper
	}
	return 0, output
}

func (h *hydration) forget(id protocol.GlobalID) {
	if d := h.waiting[id]; d != nil && d.state == scheduled {
		h.inFlight--
	}
	delete(h.waiting, id)
}

// pump schedules as many as may hydrate.
func (h *hydration) pump() (send []protocol.Command) {
	for len(h.queue) > 0 && h.inFlight < h.concurrency() {
		id := h.queue[0]
		h.queue = h.queue[1:]
		d := h.waiting[id]
		if d == nil || d.state != queued {
			continue // hydrated or dropped meanwhile
		}
		d.state = scheduled
		h.inFlight++
		send = append(send, protocol.Schedule{ID: id})
	}
	return send
}
