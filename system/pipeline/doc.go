// Package pipeline assembles all parts into one running system: what changes in a source is replicated,
// computed on by two engines that know nothing of each other, and served as of points in time that all agree on.
//
//	source -> captures -> raw shards -> mirror -> table shards -> replicas -> indexes, views, peeks, subscriptions
//	            |                         ^  |
//	            +- owner: checkpoint T ---+  +-> tables of flows -> flow nodes -> sinks -> mirror -> sink shards -> replicas
//
// A [Config] says as data what there is: machines ([Topology]), tables, flows, views. Each process is started with it
// by a Start function, on a machine of its own, in any order, after [Setup] has made what has to be there once. Any of
// them may die at any point and be started again.
//
// # Time
//
// There is one timeline, the source's commit ts. The owner of the changefeed publishes the global checkpoint T in the
// coordination service: everything up to it is durable in the raw shards. From there on every collection is complete up
// to some published T, and can be read as of it; a shard's upper is one past it.
//
//   - [TableShard] holds a table: a part of the source's keys, as rows.
//   - Tables that flows read have one row more, the mark, which holds T. A flow's query carries it along, so that its
//     result comes with the T that it is the result of, whatever the flow engine makes of steps: it may merge them. The
//     engine's own time does not matter.
//   - [SinkShard] holds the results of a flow at the times of their marks.
//   - Views read tables and sinks side by side, since both are on the same timeline.
//
// # Who keeps it right
//
// The [Mirror] moves data between the parts, and keeps nothing itself. Of each kind of process that must not act twice
// one leads, by an election; that a late leader does no harm is up to what it writes to: an append to a shard names the
// upper that it expects, a write to a table of flows has a stamp of the leader's term, and a compute controller that
// takes over fences the former one out.
//
// The leading [Controller] also keeps collections about the pipeline itself ([SystemShard]), each by a
// storage.DifferentialWriteTask, and answers peeks; [Client] asks it.
//
// History is held for those who need it by critical sinces: raw shards for the mirror, from before anything is in them
// and up to what is in the tables; tables and sinks by the compute instance, for [Config.Retention]. The source's list
// of key spans is held by a service safepoint of the mirror's, which stays before the drop of a key span until its raw
// shard is finalised: then there is nothing of it left to be read, and who is late to write it is told that it is written.
package pipeline
