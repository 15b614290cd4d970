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
// The process (process.go) decides what is done, under a lock, and has [Config].Workers workers do it, each of which
// is a task with state of its own: a share of every dataflow and of its output. All commands reach all workers
// in one order; what they answer is put together by a [protocol.PartitionedState]. A dataflow is cut into stages
// (stage.go) by [dataflow.Partition]; workers send each other the rows that belong on another one, and may be ahead
// of each other.
//
// Everything that waits for something is done by other tasks, which post to a worker's inbox: one for each
// shard that dataflows read, on one of the workers (source.go), one for a shard's sink, one for each peek of a
// shard. Between two looks into the inbox each dataflow does a bounded amount of work.
//
// Those that read shards wait while more than [Config.InputBacklog] bytes are not worked off (pressure.go): workers
// themselves never wait, for each other or for a controller. How much waits for a controller is bounded by
// [Config.ResponseBacklog] (respond.go).
//
// The state outlives connections. On a new one the process collects commands until the controller
// says that they are complete, compares what they ask for with what there is, keeps the dataflows that
// are the same and can be read as of the times asked for, and drops all others (reconcile.go). A
// connection that breaks before changes nothing.
//
// What a replica tells of itself is in indexes like others: see [protocol.Log].
//
// Only the connection with the highest [protocol.Epoch] so far is listened to, and spoken to.
//
// Several replicas may write the same shard. Each keeps the difference between what the shard should
// hold and what it does hold, as a listener shows it, and writes just that at the shard's upper
// (sink.go): who comes too late finds that there is nothing left to correct.
package replica
