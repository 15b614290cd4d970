// Package bank moves money between accounts on several machines by two-phase commit.
//
// A [Coordinator] asks each branch that keeps one of a transfer's accounts to prepare, writes the
// decision to its journal, and tells it the branches. A [Branch] keeps its accounts in a journal,
// and those of a prepared transfer locked until it knows the decision; if nobody tells, it asks.
// A transfer that the coordinator has no decision of is aborted (presumed abort, Mohan, Lindsay
// and Obermarck 1986). Locks are never waited for: who finds one is told to try again.
package bank
