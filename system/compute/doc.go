// Package compute maintains collections on replicas.
//
// A [Controller] has the collections of one compute instance. Each is the output of a dataflow, which all
// of the instance's replicas run alike, so that any of them can answer and none is missed. Processes that
// are replicas run package replica; the two sides speak package protocol.
//
//	controller, err := compute.NewController(h, compute.Config{Incarnation: n, Build: build, Persist: client})
//	err = controller.AddReplica("r1", compute.ReplicaConfig{Address: "machine-1:compute"})
//	asOf, err := controller.CreateDataflow(ctx, compute.Description{ID: 1, Plan: plan, Shards: shards})
//	controller.InitializationComplete()
//	peek, err := controller.Peek(compute.PeekRequest{Target: 1, Timestamp: ts})
//	rows, err := peek.Wait(ctx)
//
// # Replicas come and go
//
// For each connection to a replica there is one [ReplicaTask]. It connects, for as long as that takes,
// forwards commands and returns responses, and ends when the connection does. The controller notices
// within a second and starts another, under the next [protocol.Epoch]; the new one is given the
// whole [protocol.History] of commands. Responses carry the incarnation of their task: those that an ended
// task left in the channel are dropped.
//
// What replicas answer is merged. The first answer to a peek is the answer; a subscribe's batches are cut
// off where an earlier one ended; a collection's write frontier is that of the fastest replica.
//
// # What can be read
//
// A collection can be read from its since on, which is the least frontier that anybody holds: its read
// policy, peeks, collections that depend on it, a [ReadHold] of the caller. Its inputs are held back in
// turn, those that are shards by a critical since of persist. In addition each replica holds the shards
// from where it has read them to, since it may be slow, and it may still read what the controller has
// dropped already.
//
// A controller that is started anew, with a higher incarnation, takes over the critical sinces and thereby
// fences the old one out, which ends with [ErrFenced]. Its caller creates the dataflows again, and
// the replicas keep what is the same.
//
// # What may wait
//
// Everything that waits is bounded. While the controller is busy it reads no connection; a replica that keeps up so
// badly that its commands pile up is given up, and its next connection is told only what still matters. A replica reads
// shards only as fast as its workers work, and answers peeks only while there is room for answers. What is too long for
// a message, or for the room that there is, fails alone: a peek with a [*PeekError], a subscribe with a
// [*SubscribeError] or [ErrFellBehind], a dataflow or a peek that is asked for with host.ErrTooLong.
//
// What a replica tells of itself, how far its collections are, what its operators hold and which peeks are under
// way, is read with [Controller.PeekLog].
//
// The design is that of Materialize's compute controller, from its public documentation. Left out are
// replicas of several processes, one-shot exports, and subscribes aimed at one replica.
package compute
