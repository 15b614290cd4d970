// Package scheduler decides which capture replicates which key span of a changefeed, and how far all
// of it has come.
//
// The owner of a changefeed has a [BaseScheduleDispatcher]. It calls Tick again and again with the
// global checkpoint, the key spans that are to be replicated and the captures that are alive, and gets
// the next checkpoint, or [CheckpointCannotProceed]. In between it passes on what the captures say:
//
//	OnAgentSyncTaskStatuses            what a capture replicates, all of it
//	OnAgentFinishedKeySpanOperation    a span was added or removed, as dispatched
//	OnAgentCheckpoint                  how far the capture has come
//
// The dispatcher speaks to captures through a [ScheduleDispatcherCommunicator]: it announces itself to
// each, and dispatches the adding and removing of spans. It holds no durable state. A new owner begins
// with nothing, asks everybody what they replicate, and does nothing until all have answered: this is
// what keeps a span from being replicated twice.
//
// A span is recorded as being added from when that was dispatched, as running when the capture has
// finished it, as being removed from when that was dispatched, and is free when that has finished, or
// when its capture is gone. The checkpoint stands still unless all spans run.
//
// The package has the interface and the behaviour of TiKV-CDC's of the same name, with differences:
// where that goes through a map in any order, this goes in the order of ids; and a span that was to be
// moved to a capture that is gone goes where the balancer says, instead of being kept for it for ever.
//
// What can't happen as long as captures keep to the protocol makes the dispatcher panic.
package scheduler
