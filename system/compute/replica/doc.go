// Package replica is a replica of a compute instance: it runs the dataflows that a controller asks for.
//
//	server, err := replica.Serve(h, replica.Config{Port: "compute", Build: build, Persist: client})
//	server.Wait()
//
// It reads persist shards (a snapshot, and then what changes), maintains each dataflow's output
// incrementally, and keeps it in memory for peeks and other dataflows, writes it to a shard, or
// sends it to the controller.
//
// # How it works
//
// One task, the worker, has all the state. Everything that waits for something is done by other tasks,
// which post to the worker's inbox: the connection, one task for each shard that a dataflow reads, one
// for a shard's sink, one for each peek of a shard. Between two looks into the inbox each dataflow
// does a bounded amount of work.
//
// The state outlives connections. On a new one the worker collects commands until the controller
// says that they are complete, compares what they ask for with what it has, keeps the dataflows that
// are the same and can be read as of the times asked for, and drops all others (reconcile.go). A
// connection that breaks before changes nothing.
//
// Only the connection with the highest [protocol.Epoch] so far is listened to, and spoken to.
//
// Several replicas may write the same shard. Each keeps the difference between what the shard should
// hold and what it does hold, as a listener shows it, and writes just that at the shard's upper
// (sink.go): who comes too late finds that there is nothing left to correct.
package replica
