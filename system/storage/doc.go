// Package storage keeps collections, each in a persist shard.
//
// A [DifferentialWriteTask] makes one shard's contents equal to a multiset of rows that it
// holds in memory, and keeps the shard's upper near the present time, so that the collection
// can be read as of now. [Spawn] starts one and returns a [Handle]:
//
//	task := storage.Spawn(h, storage.TaskConfig{ID: "s17", Writer: writer, OpenReader: open})
//	err := task.Write(ctx, storage.Append{Updates: []storage.RowDiff{{Row: "a", Diff: 1}}})
//	task.Shutdown()
//	reason := task.Wait(ctx)
//
// An [AppendOnlyTask] appends rows to a shard and leaves what else is in it alone. A
// [CollectionManager] has a process's tasks of both kinds: it registers collections by name, hands
// out senders, lets all of them write once the process may ([CollectionManager.AllowWrites]), and
// waits for the end of those that are unregistered.
//
// # How it works
//
// The task keeps what the collection should be, desired, and what would have to be written to
// make the shard so, toWrite. A command changes both alike, and a compare-and-append from
// the upper that the task knows writes toWrite. As long as nobody else writes to the shard that
// is all. If it fails because the upper is another, the task has learned that somebody did:
// it reads the shard and takes toWrite anew as the difference between desired and what is
// there. It is not fenced; two tasks on one shard each write over what the other wrote.
//
// The task follows Materialize's of the same name (see its public documentation), with
// differences where that leaves the shard unequal to desired, or a caller without an answer:
//
//   - What a tick finds to differ is written by the next tick, not by the next command.
//   - Every command is answered exactly once: also in read-only mode, with [ReadOnly]; when the
//     shard was closed, with [ShardClosed]; when the task was aborted, with [Aborted].
//   - A task that retries or holds back notices a shutdown at once.
//   - The reader is registered before the upper is asked for that is read at, so that what
//     is to be read can't be given up in between.
package storage
