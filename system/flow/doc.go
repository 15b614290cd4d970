// Package flow runs continuous queries. A flow reads a table and keeps another one, its sink, equal to
// what its SELECT says of the first.
//
// A [Manager], which is FlowWorkerManager of GreptimeDB, owns the flows of one node. Inserts are mirrored
// to it:
//
//	mirrored change -> source -> subscription -> dataflow on a worker -> sink queue -> write to the sink
//	                  (buffer)   (one a flow)
//
// A [Node] is a manager with its workers, a server, and a task that keeps what runs as the catalog has it.
// Package frontend is the other side: it executes SQL, keeps the tables and mirrors their changes.
//
// # Exactly once
//
// The changes of a table are numbered without gaps (see package relation). A source takes them in by their
// numbers: what comes twice is dropped, what comes early waits, what does not come is fetched. So mirroring
// may lose, delay and repeat requests.
//
// A flow keeps nothing on disk. It starts with a refill, a snapshot of its table up to some change, and
// takes the changes from that on: see [RefillTask]. The first result of a refill is the whole result, and
// what else the sink has, from before a restart or a replacement, is taken out of it: a flow owns its sink.
// Two flows may share one, also on two nodes, and then that is not done.
//
// Each write into a sink is one transaction with a stamp, (life of the node, number), and a sink refuses a
// stamp that is not later than the last. A write whose outcome is unknown is repeated under its stamp; one
// of an earlier life that is still on its way comes too late. A flow that is removed or replaced waits for such
// a fence in all sinks that it ever had.
//
// A flow begins anew by itself when it has missed more than frontends remember, and when its sink was dropped
// and made anew. A sink that is gone stays so.
//
// # Flushing
//
// [Manager.FlushFlow] makes sure that all changes acknowledged before it are in the sink: it fetches what
// is missing, waits for the refill and for inserts in progress (which never wait for it), empties the buffers,
// runs the workers and writes; and once more if the flow has begun anew meanwhile. It is for the flow as the
// catalog has it: a node that runs an earlier definition refuses.
//
// # Where it differs from the original
//
// Behaviour is that of GreptimeDB 0.13, from descriptions of it, with its known flaws mended. Beyond that:
// a flow starts with the rows that its table has, where the original has them only after a restart; it
// follows what its table holds, replaced and deleted rows too, where the original counts insertions; the
// sum of no values is NULL, as in SQL, not 0; a sink must be able to tell the query's rows apart.
package flow
