// Package coord is a coordination service: what etcd is to the systems that keep their membership,
// elections and small state in it.
//
// A [Client] is the service as one process sees it:
//
//   - a linearizable store of keys. Every change makes a new [Revision] of the whole store, and each
//     key knows the revisions at which it was created and last modified. A [Txn] compares and then
//     writes, all at one revision.
//   - leases. A key put under one is deleted when the lease is not kept alive for its time to live,
//     by the server's clock.
//   - watches. A [Watcher] returns every change of some keys from a revision on, in order, without
//     gaps or repetitions, or [CompactedError] when the history is gone.
//
// A [Session] is a lease kept alive, that tells when it is lost. An [Election] makes one of its
// participants the leader, and gives it a number greater than those of all leaders before it: its
// epoch, on which writes can be made conditional.
//
//	session, err := coord.NewSession(ctx, h, client, coord.SessionConfig{TTL: 10 * time.Second})
//	election := coord.NewElection(session, "cdc/owner/")
//	err = election.Campaign(ctx, "capture-1")          // until it leads
//	_, err = client.Txn(ctx, coord.Txn{
//		If:   []coord.Compare{election.Held()},          // unless somebody else does by now
//		Then: []coord.Op{coord.Put("checkpoint", "17")},
//	})
//
// # What an error says about a write
//
// A call that fails was surely not executed ([ErrNotDone]), or may have been, or may still be
// ([ErrUnknown]). Clients repeat by themselves only what may be executed twice.
//
// # Implementations
//
// [Open] keeps a [Store] on a disk: every command goes to a log and is synced before it is executed
// and answered, so that what was acknowledged, or seen by anyone, outlives crashes. [NewMemory] is
// one without a disk. [Serve] answers a [Remote] from a Store. One server is the whole service: when
// it is down the service is; there is no replication. What all implementations do alike is tested by
// package coordtest, which others than these can be held against.
//
// The semantics are those of etcd's version 3, from its public documentation.
package coord
