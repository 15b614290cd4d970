package bank

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/examples/journal"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// askAfter is how long a branch waits for a decision before it asks, and until it asks again.
const askAfter = 500 * time.Millisecond

// Branch keeps accounts.
type Branch struct {
	h        host.Host
	turn     *host.Mutex // one request at a time, with its writing
	journal  *journal.Journal[branchRecord]
	balances map[string]int64
	prepared map[string][]Leg
	locked   map[string]string // accounts of prepared transfers
}

// branchRecord is one step of a transfer, in the journal.
type branchRecord struct {
	ID     string `json:"id"`
	Legs   []Leg  `json:"legs,omitempty"` // of a prepared one
	Commit bool   `json:"commit,omitempty"`
}

// ServeBranch keeps accounts with these balances at first. It serves until its disk fails, and
// then returns why; a new call finds out what is on the disk.
func ServeBranch(h host.Host, coordinator string, opening map[string]int64) error {
	b := &Branch{
		h: h, turn: host.NewMutex(h, "branch"), balances: maps.Clone(opening),
		prepared: map[string][]Leg{}, locked: map[string]string{},
	}
	var err error
	if b.journal, err = journal.Open(h.Disk(), "journal", b.apply); err != nil {
		return err
	}
	defer b.journal.Close()
	service := rpc.NewService()
	prepare.Handle(service, b.prepare)
	decide.Handle(service, b.decide)
	server, err := rpc.Serve(h, port, service, rpc.ServerOptions{})
	if err != nil {
		return err
	}
	defer server.Close()
	client := rpc.NewClient(h, host.JoinAddr(coordinator, port), callOptions)
	defer client.Close()
	for b.journal.Err() == nil {
		h.Clock().Sleep(askAfter)
		b.ask(client)
	}
	return b.journal.Err()
}

func (b *Branch) apply(r branchRecord) {
	if r.Legs != nil {
		b.prepared[r.ID] = r.Legs
		for _, l := range r.Legs {
			b.locked[l.Account] = r.ID
		}
		return
	}
	for _, l := range b.prepared[r.ID] {
		delete(b.locked, l.Account)
		if r.Commit {
			b.balances[l.Account] += l.Amount
		}
	}
	delete(b.prepared, r.ID)
}

// write makes a step durable and takes it.
func (b *Branch) write(r branchRecord) error {
	if err := b.journal.Append(r); err != nil {
		return err
	}
	b.apply(r)
	return nil
}

// prepare promises that the transfer can be committed, or says why not.
func (b *Branch) prepare(_ context.Context, req prepareRequest) (Reply, error) {
	b.turn.Lock()
	defer b.turn.Unlock()
	reply := Reply{Outcome: Committed, Balances: map[string]int64{}}
	for _, l := range req.Legs {
		if b.locked[l.Account] != "" {
			b.h.Reachable("bank: an account is locked")
			return Reply{Outcome: Busy}, nil
		}
		if b.balances[l.Account]+l.Amount < 0 {
			return Reply{Outcome: Short}, nil
		}
		reply.Balances[l.Account] = b.balances[l.Account]
	}
	return reply, b.write(branchRecord{ID: req.ID, Legs: req.Legs})
}

func (b *Branch) decide(_ context.Context, req decideRequest) (struct{}, error) {
	b.turn.Lock()
	defer b.turn.Unlock()
	if b.prepared[req.ID] == nil {
		return struct{}{}, nil // it was told before, or never asked
	}
	return struct{}{}, b.write(branchRecord{ID: req.ID, Commit: req.Commit})
}

// ask finds out what became of the transfers that are prepared.
func (b *Branch) ask(client *rpc.Client) {
	for _, id := range slices.Sorted(maps.Keys(b.prepared)) {
		reply, err := outcome.Call(context.Background(), client, outcomeRequest{id})
		if err != nil || reply.Outcome == pending {
			continue
		}
		b.h.Sometimes("bank: a branch in doubt learns of a commit", reply.Outcome == Committed)
		if _, err := b.decide(context.Background(), decideRequest{id, reply.Outcome == Committed}); err != nil {
			return
		}
	}
}
