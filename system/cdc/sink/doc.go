// Package sink is where captured changes go.
//
// A [Sink] opens each key span apart; a [Span] takes the span's rows, in the order of their commit ts, and
// says how far it is durable. Several processes may write one span at a time, when one of them does not
// know yet that the span was given to another: a sink has to come out right all the same.
//
// # Shards
//
// [NewShards] writes each key span into a persist shard of its own. As of a ts, the shard holds what was
// in the span at that ts: a row of the upstream store is a datum [Encode](key, value) with its commit ts
// as the time, a change of a key's value takes the old datum back at that time and adds the new one.
// So the shard is a collection of current rows that others compute on, and a checkpoint T of the changefeed
// says that all shards can be read as of T.
//
// Each key span has its own shard because an append moves the shard's upper, after which nothing before
// it can be written: spans are not equally far, and what moves from one process to another is a span.
//
// Every row goes in once, by key and commit ts, also after crashes and with several writers: one append
// has all rows from the shard's upper u up to a ts f, and makes f+1 the upper; it takes effect only if the
// upper still is u. Whoever comes second finds another upper, and drops what is before it. This needs no
// memory of the writer's own, and no fencing: what two writers of one span could write is the same.
//
// The old value comes with the row from the upstream store's log, so that nothing has to be read back.
// A changefeed that starts at a ts S > 0 begins with the contents as of S, each row at its own commit ts;
// reads as of a time before S miss rows that were overwritten by then.
//
// # Maps
//
// [Map] keeps the newest value of each key in memory, for tests: a row of an older commit ts than what
// is there is passed over.
package sink
