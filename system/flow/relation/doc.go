// Package relation keeps a multiset in a persist shard and, by whoever uses it, in memory as well.
//
// A [Relation] is a shard whose every append is one change, at one time, numbered 1, 2, 3, ... without
// gaps: the change's sequence number. Update is a transaction on it: it brings the [State] in memory up
// to date, lets a function decide what to change, and appends that, if nobody else was faster, in which
// case it is decided anew. Refresh brings the state up to date and no more; what a relation says after
// it reflects every change that was acknowledged before.
//
// The latest changes stay in memory, for those that follow the relation: Changes.
package relation
