// Package models holds the oracles: what judges, once a run is over, whether the system kept
// its promises. It is pure. Recordings go in, a [Judgement] comes out, and the same recordings
// always give the same one; it knows neither the simulator nor the system under test, so
// histories recorded from a real deployment are judged alike: a [Model] reads them
// ([Model.Read]: JSON Lines, EDN, Jepsen's log) and names the oracles that judge them.
//
// # Recording
//
// A workload records its operations in a [History]: [History.Begin] at the call, [History.End]
// at the answer, each with the position in the total order of the run's events, which is what
// real time means here, and the virtual time, which is only shown. The three outcomes matter
// most: [Ok], [Fail] for what surely did nothing, and [Unknown] for everything else, such as a
// timeout or a crash. An operation with an unknown outcome may take effect long after.
//
// What DifferentialWriteTasks were told and answered goes in a [TaskLog].
//
// # Judging
//
//   - [Linearizable], persist/linearizable: appends, uppers, snapshots and sinces of each shard
//     behave as if each had happened at one moment.
//   - [Definite], persist/definite: contents as of a time never change; upper and since never
//     regress.
//   - [Listens], persist/listen: listeners yield every update exactly once.
//   - [Responders], storage/responders: commands are answered as they were treated.
//   - [CheckConverged], storage/converges: a shard came to hold what it should.
//   - [Registers], [CASRegisters], [KV], [Sets], [Queues], [Counters], [Locks]: what the names say,
//     NAME/linearizable. One of your own is a [Spec], judged by [Sequential]; [Register] gives it
//     to the command line.
//
// Nothing to judge, or a search that came to its limit, is [VerdictUnknown], never a pass.
//
// # How sequential specifications are judged
//
// [Sequential] splits a history by object. For each, the model drops operations of unknown
// outcome that can't matter (cell_prune.go) and, where it can, decides without a search
// (counter_slots.go, queue_patterns.go, set_growing.go). What is left is searched (search.go), and
// a violation made small (window.go). Small objects go to Porcupine as well, by the bare
// specification, and the two must agree (confirm.go).
//
// # How shards are judged
//
// A history is split by shard, and each shard in two objects that no operation shares: its log
// (upper and contents) and its holds (since). Open appends are then decided by what others saw
// (shard_evidence.go), which is what keeps searching small. The log goes to two checkers: one
// that walks the chain of uppers in near-linear time and can say what contradicts what
// (shard_chain.go), and Porcupine with the sequential specification (shard_log.go). On
// histories in which rows tell the appends apart both are exact, and must agree. The holds go
// to Porcupine (shard_holds.go).
package models
