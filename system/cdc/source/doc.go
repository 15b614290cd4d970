// Package source is an upstream key-value store, of which changes can be captured: transactions on
// many keys, a change log for each key span, and a resolved ts that says how far the log is complete.
//
// A [Store] holds [KeySpan]s: ranges of keys that do not overlap. Every key written belongs to one. A
// transaction gets a commit ts, larger than all before, and takes effect as a whole; the log of each of
// its spans gets a [Row] for each key, with the value before. A span is added and dropped at a ts as
// well. Dropping it deletes its keys at that ts; what there was can be read until it is given up.
//
//	spans, err := client.Spans(ctx)                             // and the ts as of which these are all
//	contents, err := client.Snapshot(ctx, span, ts)
//	changes, err := client.Changes(ctx, source.Cursor{Span: span, After: ts})
//
// A resolved ts is a promise: no row with that commit ts or a lower one will appear any more. It holds
// across crashes of the store, and while the outcome of a write to its disk is not known.
//
// Readers hold history back by a service safepoint, [Store.Safepoint]: what lies before the least of
// those may be given up, and reads from before it fail with [GCError].
//
// [Serve] serves a store in a host's disk, [Client] is its client.
package source
