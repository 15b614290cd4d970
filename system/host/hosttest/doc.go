// Package hosttest is the conformance suite of package host: what code written against a host.Host
// may rely on, as tests. The simulator passes it, and the operating system does (package real); who
// writes another host runs it against that:
//
//	func setup(t testing.TB, body func(hosttest.Cluster)) {
//		c := newCluster(t) // hosttest.Machines machines
//		defer c.Close()
//		body(c)
//	}
//
//	func TestConformance(t *testing.T)      { hosttest.Run(t, setup) }
//	func BenchmarkPrimitives(b *testing.B) { hosttest.Benchmark(b, setup) }
//
// Each test gets machines of its own from the [Setup], and starts tasks on them through the
// [Cluster].
//
// # What is tested
//
//   - Chan, Select, Mutex and WaitGroup: the semantics of their counterparts in Go, and what goes
//     beyond. They are written once, so it is the Runtime that is tested.
//   - Contexts and the clock, with what Stop and Reset return, and the timer channels as cases of a
//     Select: no tick is lost to another case, and none comes that was stopped.
//   - Tasks, randomness, the lives of a process.
//   - Connections, datagrams, and connections as streams of bytes; what each end is told when
//     something is refused, closed, cut off, or too long.
//   - The disk: every operation and error, and that what was synced outlives the process.
//
// # What is not
//
// What the network or the disk may do at worst can't be asked of a real one: that unsynced writes
// are lost, or that datagrams overtake each other, is tested where it can be made to happen, in the
// simulator. Nor are times measured: tests wait for what must happen, for as long as it takes, and
// for what must not happen a moment.
package hosttest
