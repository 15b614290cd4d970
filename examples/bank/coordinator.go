package bank

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/examples/journal"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

var callOptions = rpc.ClientOptions{DialTimeout: 500 * time.Millisecond, CallTimeout: time.Second}

// Coordinator decides on transfers.
type Coordinator struct {
	h       host.Host
	turn    *host.Mutex // the journal is one task's at a time
	journal *journal.Journal[coordinatorRecord]
	clients map[string]*rpc.Client
	epoch   int // counts the openings of the journal: identifiers are never given twice
	last    int
	running map[string]bool     // transfers without a decision
	decided map[string][]string // committed ones, with the branches that may not know it
}

// coordinatorRecord is a new epoch, a decision, or that all branches know it.
type coordinatorRecord struct {
	Epoch    int      `json:"epoch,omitempty"`
	ID       string   `json:"id,omitempty"`
	Branches []string `json:"branches,omitempty"` // to be told of the commit; none: all know
}

// ServeCoordinator decides on transfers until its disk fails, and then returns why.
func ServeCoordinator(h host.Host, branches []string) error {
	c := &Coordinator{
		h: h, turn: host.NewMutex(h, "coordinator"), clients: map[string]*rpc.Client{},
		running: map[string]bool{}, decided: map[string][]string{},
	}
	var err error
	if c.journal, err = journal.Open(h.Disk(), "journal", c.apply); err != nil {
		return err
	}
	defer c.journal.Close()
	if err := c.write(coordinatorRecord{Epoch: c.epoch + 1}); err != nil {
		return err
	}
	for _, name := range branches {
		c.clients[name] = rpc.NewClient(h, host.JoinAddr(name, port), callOptions)
		defer c.clients[name].Close()
	}
	for _, id := range slices.Sorted(maps.Keys(c.decided)) {
		h.Reachable("bank: a coordinator takes up what another life decided")
		h.Go("finish", func() { c.finish(id, c.decided[id]) })
	}
	service := rpc.NewService()
	transfer.Handle(service, c.transfer)
	outcome.Handle(service, c.outcome)
	server, err := rpc.Serve(h, port, service, rpc.ServerOptions{})
	if err != nil {
		return err
	}
	defer server.Close()
	for c.journal.Err() == nil {
		h.Clock().Sleep(askAfter)
	}
	return c.journal.Err()
}

func (c *Coordinator) apply(r coordinatorRecord) {
	switch {
	case r.Epoch > 0:
		c.epoch = r.Epoch
	case len(r.Branches) > 0:
		c.decided[r.ID] = r.Branches
	default:
		delete(c.decided, r.ID)
	}
}

// write makes a step durable and takes it.
func (c *Coordinator) write(r coordinatorRecord) error {
	c.turn.Lock()
	defer c.turn.Unlock()
	if err := c.journal.Append(r); err != nil {
		return err
	}
	c.apply(r)
	return nil
}

// transfer runs one transfer. An error leaves its outcome open: the decision may be on the disk.
func (c *Coordinator) transfer(_ context.Context, req transferRequest) (Reply, error) {
	c.last++
	id := fmt.Sprintf("%d-%d", c.epoch, c.last)
	parts := map[string][]Leg{}
	for _, l := range req.Legs {
		parts[l.branch()] = append(parts[l.branch()], l)
	}
	branches := slices.Sorted(maps.Keys(parts))
	c.running[id] = true
	reply := c.prepare(id, branches, parts)
	if reply.Outcome == Committed {
		if err := c.write(coordinatorRecord{ID: id, Branches: branches}); err != nil {
			return Reply{}, err
		}
		c.h.Go("finish", func() { c.finish(id, branches) })
	} else {
		c.h.Go("abort", func() { c.tell(id, branches, false) })
	}
	delete(c.running, id)
	return reply, nil
}

// prepare asks the branches one after the other, until one objects.
func (c *Coordinator) prepare(id string, branches []string, parts map[string][]Leg) Reply {
	all := Reply{Outcome: Committed, Balances: map[string]int64{}}
	for _, name := range branches {
		reply, err := prepare.Call(context.Background(), c.clients[name], prepareRequest{id, parts[name]})
		switch {
		case err != nil:
			return Reply{Outcome: Busy} // it cannot be asked at present
		case reply.Outcome != Committed:
			return reply
		}
		maps.Copy(all.Balances, reply.Balances)
	}
	return all
}

// tell tells the branches of a decision, once, and whether all know it now.
func (c *Coordinator) tell(id string, branches []string, commit bool) bool {
	all := true
	for _, name := range branches {
		_, err := decide.Call(context.Background(), c.clients[name], decideRequest{id, commit})
		all = all && err == nil
	}
	return all
}

// finish tells the branches of a commit until all know it.
func (c *Coordinator) finish(id string, branches []string) {
	for !c.tell(id, branches, true) {
		if c.journal.Err() != nil {
			return // the next life takes it up
		}
		c.h.Clock().Sleep(askAfter)
	}
	_ = c.write(coordinatorRecord{ID: id}) // if not, the next life tells them again
}

func (c *Coordinator) outcome(_ context.Context, req outcomeRequest) (outcomeReply, error) {
	switch {
	case c.running[req.ID]:
		return outcomeReply{pending}, nil
	case c.decided[req.ID] != nil:
		return outcomeReply{Committed}, nil
	}
	return outcomeReply{aborted}, nil
}
