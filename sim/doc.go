// Package sim is a deterministic simulator of a cluster: clock, network, disks and
// processes, inside one goroutine, decided by one 64-bit seed.
//
//	w := sim.New(sim.Config{Seed: 417})
//	defer w.Close()
//	w.NewNode("server", serve)                // func(host.Host), run at each start of the node
//	w.Go("client", func() { ... })            // the test's own tasks
//	err := w.Run()                            // until those tasks have ended
//
// # What runs
//
// A [World] holds nodes. A [Node] is a machine: it has a name, a clock that may be
// off, a disk that outlives crashes, links to all others, and at most one process,
// which sees it as a host.Host. Tasks are ordinary blocking Go code run as
// coroutines; exactly one runs at a time, and virtual time moves only when none can
// go on. Beside the nodes stands the world's own process, [World.Host], where
// workloads, faults and checks run: it is never crashed.
//
// # What decides
//
// Each random choice is addressed by a stream, made of names such as the link's, and
// its ordinal in that stream, and its value is a hash of seed and address
// ([Stream]). To leave out one message, fault or operation therefore leaves the
// choices of all others as they were. A [Strategy] ranks what could happen next.
//
// # What is kept
//
// Every event is folded into a 64-bit hash ([World.Hash]), with checkpoints on the
// way ([World.Checkpoints]); with Config.Record the events themselves are kept. The
// law of the package: the hash is a function of the program and its Config, not of
// the process, GOMAXPROCS, the garbage collector, the race detector, or the
// machine's architecture.
//
// # What code in a simulation must not do
//
// See package host. A task that blocks on a bare Go channel, a sync.Mutex or real I/O
// blocks the whole world; nothing can intercept it. When a process dies its tasks are
// unwound, so that their deferred calls run, but nothing they do reaches the world.
package sim
