// Package cdc captures the changes of an upstream store and replicates them into sinks, by several
// processes that share the work: captures.
//
// A changefeed is one such replication. Its key spans, which may come and go, are each replicated by one
// capture at a time. What is replicated everywhere is told by two numbers in the coordination service:
// the checkpoint, up to which everything is durable in the sink and from which replication goes on after
// any crash, and the resolved ts, up to which every capture has received everything.
//
//	capture, err := cdc.Start(h, cdc.Config{Coord: client, Upstream: upstream, Sinks: sinks})
//	admin := cdc.NewAdmin(h, client, upstream)
//	err = admin.Create(ctx, "feed", model.ChangeFeedInfo{StartTs: ts})
//
// # Who does what
//
// Each process is a [Capture]. Its lives have ids: it begins one by opening a session with the
// coordination service, and ends it when the session is lost. In each life
//
//   - a view follows what the service holds, and may lag;
//   - it campaigns to be the owner. The owner has, for each changefeed, a scheduler (package scheduler) and
//     an adapter that speaks to the captures; it reads the service at each tick and stores what the
//     scheduler returns;
//   - a processor for each changefeed runs a pipeline for each key span that it was given: puller, sorter,
//     sink. Its agent speaks to the owner.
//
// Owner and agents talk through package peer: in order, and each message once as long as both live.
//
// # What keeps it right
//
// The scheduler takes for granted that what it hears is about what it dispatched. That is so because:
//
//   - Every message carries the owner's epoch, the revision of its election. Captures ignore lower ones than
//     they know, for all their life; owners ignore messages to others. An agent that learns of a new owner
//     forgets what the old one dispatched and was not begun.
//   - Every message carries the changefeed's incarnation, the revision of its creation: one that is removed
//     and created again under the same id is another, with schedulers, processors and checkpoints of its own.
//   - Every Sync draws a new number, which dispatches and answers carry from then on: what was sent
//     before it counts no more.
//   - A dispatch carries the checkpoint from which the span starts, so that a view that lags does not
//     matter. A span counts as added when it is no longer behind what the owner was told.
//   - A span counts as removed when its pipeline has ended, and nothing of the sink's is kept for it.
//   - The checkpoint is stored on condition that the owner still holds the election and its session, and
//     that nobody wrote it since it was read. A write of unknown outcome is settled before anything
//     else happens.
//   - The list of key spans comes with the ts as of which it is complete, and the checkpoint does not go
//     beyond that, nor beyond a dropped span's end before it was replicated to its end.
//   - History upstream is given up only before the checkpoint as it was read from the service. Each
//     incarnation of a changefeed holds it under a name of its own, so that no late call passes another.
//     Whether it was given up all the same, and with it key spans that were dropped, shows in the list
//     of key spans: the changefeed fails then.
//
// # What can't go on
//
// A processor that fails is made anew, later and later while that does not help, for as long as its changefeed
// is wanted: what may pass does not call for an operator. But not when it
// would never help: the history that it needs was given up, or its sink is closed, or lacks rows. Then the capture
// stores the error, as its position, in the coordination service; the owner puts the changefeed into
// model.StateFailed, with the error, and everybody stops. [Feed.Err] tells why, and [Admin.Resume] has it go on
// from its checkpoint.
//
// An [Observer] is told what happens, for oracles.
//
// The design is that of TiKV-CDC and TiCDC, from their public sources' behaviour and issues.
package cdc
