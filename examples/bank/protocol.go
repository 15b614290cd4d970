package bank

import (
	"strings"

	"github.com/simrun-dev/simrun/system/rpc"
)

// Leg changes one account, named "branch/number", by an amount, which may be 0: then it is read.
type Leg struct {
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
}

func (l Leg) branch() string {
	branch, _, _ := strings.Cut(l.Account, "/")
	return branch
}

// Outcome is what became of a transfer.
type Outcome string

const (
	Committed Outcome = "committed"
	// Busy: one of the accounts is locked by another transfer. Nothing was changed.
	Busy Outcome = "busy"
	// Short: an account has too little. Nothing was changed.
	Short Outcome = "short"
	// aborted and pending are what a branch is told when it asks.
	aborted Outcome = "aborted"
	pending Outcome = "pending"
)

// Reply is what a client is told. Balances are those before the transfer, by account, if it was
// committed.
type Reply struct {
	Outcome  Outcome          `json:"outcome"`
	Balances map[string]int64 `json:"balances,omitempty"`
}

type (
	transferRequest struct{ Legs []Leg }
	prepareRequest  struct {
		ID   string
		Legs []Leg
	}
	decideRequest struct {
		ID     string
		Commit bool
	}
	outcomeRequest struct{ ID string }
	outcomeReply   struct{ Outcome Outcome }
)

const (
	port = "bank"

	transfer rpc.Method[transferRequest, Reply]       = "bank/transfer" // client to coordinator
	prepare  rpc.Method[prepareRequest, Reply]        = "bank/prepare"  // coordinator to branch
	decide   rpc.Method[decideRequest, struct{}]      = "bank/decide"   // coordinator to branch
	outcome  rpc.Method[outcomeRequest, outcomeReply] = "bank/outcome"  // branch to coordinator
)
