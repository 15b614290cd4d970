// Package persist keeps durable, shared, time-varying collections: shards.
//
// A shard holds updates, each a datum, a time and a diff. What it holds as of a time is, for
// every datum, the sum of the diffs of all updates up to that time. Two [Frontier] values go
// with it:
//
//   - upper: what lies before it is written and will not change; what lies beyond is not
//     written yet. An append moves it.
//   - since: reads as of times at or beyond it are right; history before it may be merged.
//
// So a shard can be read as of any time t with since <= t < upper, by anyone, with the same
// answer for ever.
//
// # Handles
//
// A [Client] opens three kinds of handles on a shard:
//
//   - [WriteHandle] appends: CompareAndAppend takes effect exactly if the upper is what the
//     caller expects, and once, whatever becomes of the messages on the way. Append is for
//     several who append the same. A [BatchBuilder] prepares what does not fit in memory.
//   - [ReadHandle] reads snapshots, and holds the since back under a lease. It can be turned
//     into a [Listener], which emits every update after a time once, whatever happens to the
//     shard meanwhile.
//   - [SinceHandle] holds the since back without a lease, and fences former holders out.
//
// Handles are given up with Expire, which waits until the shard knows, or with Close, which does not.
// Take Expire where the program, or the Client, ends right afterwards, since Close's attempt ends with
// it; Close where nobody waits. What is given up by neither is held until its lease is over, and what
// a SinceHandle holds for ever: its Expire is for a hold that nobody will come back to.
//
// A shard whose upper and since are empty is finalised with Client.Finalize; Client.GiveUp empties both first.
//
// # How it works
//
// A shard's state (its frontiers, the descriptions of its batches, who writes and reads) is a
// sequence of small versions; the updates lie in write-once values of a [Blob] store. A command
// is a pure function from one version to the next (transitions.go). The command loop
// (machine.go) applies it to the latest version it knows and offers the result to a [Consensus]
// store, whose compare-and-set refuses it if that was not the latest; then it fetches what is,
// and tries again. All that processes share goes through the two stores, so they need not know
// of each other.
//
// Stores fail in two ways: [ErrDeterminate], surely not done, and [ErrIndeterminate], unknown.
// How an append finds out what became of its own earlier attempts is told at compareAndAppend
// (append.go).
//
// Consensus holds of each version only what changed; now and then a complete state is kept in
// Blob (history.go). Whoever commits a version may find that it asks for maintenance
// (maintenance.go): such a rollup, the merging of batches, or the collection of what nobody can
// need any more, which is what no version refers to from the oldest on that a reader pins.
//
// [OpenDiskConsensus] and [OpenDiskBlob] keep the stores on a disk, [ServeConsensus] and
// [ServeBlob] serve them on the network to a [ConsensusClient] and a [BlobClient];
// [MemConsensus] and [MemBlob] are for tests. Package boltstore is a Consensus for a program that has
// its shards on its own machine, and package host/real the operating system to run all this on.
//
// The design is that of Materialize's persist, from its public documentation. Left out of it are
// schemas, data kept inline in the state, and the pushing of new versions between processes.
package persist
