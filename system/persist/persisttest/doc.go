// Package persisttest is the conformance suite of package persist's stores: what a shard relies on in
// a persist.Consensus and a persist.Blob, as tests. Who writes another store runs it against that:
//
//	func setup(t testing.TB, body func(persisttest.Bench[persist.Consensus])) {
//		s := open(t) // an empty store
//		defer s.Close()
//		body(persisttest.Bench[persist.Consensus]{...})
//	}
//
//	func TestConformance(t *testing.T)    { persisttest.RunConsensus(t, setup) }
//	func BenchmarkConsensus(b *testing.B) { persisttest.BenchmarkConsensus(b, setup) }
//
// Each test gets an empty store of its own from the [Setup], in a [Bench]. It runs unchanged in a
// simulated world and on the operating system, since tasks and time come from the bench's host.
//
// # What is tested
//
//   - Consensus: each method's answers and errors; that a compare-and-set takes effect exactly when it
//     says so, among any number of callers; that Head and Scan see at once what was acknowledged, to
//     whomever; that truncation drops what it should and never the head.
//   - Blob: each method; that a value is set whole, by whoever comes last; listing.
//   - Both: keys and values of every shape; that what was handed out never changes; that an operation
//     that surely failed did so, also when its caller gave up in the middle; and that all that was
//     acknowledged is there when the store is opened again (Bench.Reopen), or when it crashed under
//     its callers (Bench.Crash).
//
// # What is not
//
// Damaged disks, and power that fails before a sync: what can be made to happen only to some stores
// is in the tests of those. That the suite notices what it should is tested too, on stores with
// planted errors.
package persisttest
