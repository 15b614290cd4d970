// Package raftkv is a key-value store on Raft: leader election, log replication, logs on disk,
// sessions by which a command that is sent twice takes effect once.
//
// [Serve] is one server, a single task that takes what comes from the network and the clock one
// after the other and says so to nobody before it is on its disk. [Client] is what asks it. Both
// are code against package host and know nothing of the simulator; package simulation has the
// scenario that tries them.
//
// After Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm" (2014), without
// snapshots and changes of membership: logs grow for ever, and the servers are who they are.
package raftkv
