package coord

import (
	"context"
	"errors"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Handle adds the methods of the service to s, answered from a store on the host.
func Handle(h host.Host, s *rpc.Service, store *Store) {
	methodRange.Handle(s, func(ctx context.Context, r rangeRequest) (rangeReply, error) {
		snapshot, err := store.Range(ctx, r.Keys, r.At)
		var gone *CompactedError
		if errors.As(err, &gone) {
			return rangeReply{Oldest: gone.Oldest}, nil
		}
		return rangeReply{Snapshot: snapshot}, toWire(err)
	})
	methodTxn.Handle(s, func(ctx context.Context, t Txn) (TxnResult, error) {
		result, err := store.Txn(ctx, t)
		return result, toWire(err)
	})
	methodCompact.Handle(s, func(ctx context.Context, before Revision) (struct{}, error) {
		return struct{}{}, toWire(store.Compact(ctx, before))
	})
	methodGrant.Handle(s, func(ctx context.Context, r grantRequest) (struct{}, error) {
		return struct{}{}, toWire(store.Grant(ctx, r.ID, r.TTL))
	})
	methodKeepAlive.Handle(s, func(ctx context.Context, id LeaseID) (struct{}, error) {
		return struct{}{}, toWire(store.KeepAlive(ctx, id))
	})
	methodRevoke.Handle(s, func(ctx context.Context, id LeaseID) (struct{}, error) {
		return struct{}{}, toWire(store.Revoke(ctx, id))
	})
	methodLease.Handle(s, func(ctx context.Context, id LeaseID) (LeaseInfo, error) {
		info, err := store.Lease(ctx, id)
		return info, toWire(err)
	})
	methodWatch.Handle(s, func(ctx context.Context, r watchRequest) (watchReply, error) {
		if r.From == 0 {
			snapshot, err := store.Range(ctx, One(""), 0)
			return watchReply{Next: snapshot.Revision + 1}, toWire(err)
		}
		ctx, cancel := h.Clock().WithTimeout(ctx, min(max(r.Wait, 0), store.cfg.MaxWatchWait))
		defer cancel()
		if h.Buggify("coord/watchers wait for nothing") {
			cancel()
		}
		events, next, err := store.await(ctx, r.Keys, r.From)
		var gone *CompactedError
		if errors.As(err, &gone) {
			return watchReply{Oldest: gone.Oldest}, nil
		}
		return watchReply{Events: events, Next: next}, toWire(err)
	})
}

// Serve serves a [Store] in the root of the host's disk. While it returns an error nothing is served;
// it may be called again.
func Serve(h host.Host, port string, cfg StoreConfig) (*Store, *rpc.Server, error) {
	store, err := Open(h, "", cfg)
	if err != nil {
		return nil, nil, err
	}
	s := rpc.NewService()
	Handle(h, s, store)
	// A watcher that waits is a request that is being executed.
	server, err := rpc.Serve(h, port, s, rpc.ServerOptions{MaxInFlight: 1024})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, server, nil
}
