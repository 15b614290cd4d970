package coord

import (
	"context"
	"errors"
	"time"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// RemoteConfig are the limits of a [Remote]. The zero value means the defaults.
type RemoteConfig struct {
	// Patience is for how long a call that can be repeated is repeated, unless its context ends before. Default
	// 5 s.
	Patience time.Duration
	// Poll is how long a watcher waits for one answer. Default 2 s. It must be less than the
	// CallTimeout of the rpc client.
	Poll time.Duration
}

// Remote is a Client of a service that is served elsewhere.
//
// Calls that change nothing, or may be executed twice (Range, KeepAlive, Grant, Revoke, Compact and
// transactions that only read), are repeated until they succeed, within the Patience. A transaction
// that writes is repeated only as long as it surely was not sent.
type Remote struct {
	h   host.Host
	c   *rpc.Client
	cfg RemoteConfig
}

// Dial returns a client of the service at addr ("name:port"). It does nothing until the first call.
func Dial(h host.Host, addr string) *Remote {
	return NewRemote(h, rpc.NewClient(h, addr, rpc.ClientOptions{DialTimeout: time.Second, CallTimeout: 4 * time.Second}), RemoteConfig{})
}

// NewRemote returns a client that makes its calls with c.
func NewRemote(h host.Host, c *rpc.Client, cfg RemoteConfig) *Remote {
	if cfg.Patience <= 0 {
		cfg.Patience = 5 * time.Second
	}
	if cfg.Poll <= 0 {
		cfg.Poll = 2 * time.Second
	}
	return &Remote{h: h, c: c, cfg: cfg}
}

// Close ends the connection, and all calls and watches with it: they fail with rpc.ErrClosed.
func (r *Remote) Close() { r.c.Close() }

// repeat makes a call until it is answered, ctx ends or the patience does. May tells whether to
// repeat it after a failure.
func (r *Remote) repeat(ctx context.Context, op string, may func(error) bool, call func(context.Context) error) error {
	ctx, cancel := r.h.Clock().WithTimeout(ctx, r.cfg.Patience)
	defer cancel()
	wait := backoff{h: r.h}
	kind := ErrNotDone
	for {
		err := fromWire(op, call(ctx))
		if err == nil || !open(err) {
			return err
		}
		if errors.Is(err, ErrUnknown) {
			kind = ErrUnknown
		}
		if !passing(err) || !may(err) || wait.wait(ctx) != nil {
			// The call as a whole is not done only if no attempt of it may be.
			return &CallError{Op: op, Kind: kind, Err: plain{err}}
		}
	}
}

// plain is a cause that no longer says what is known of the call.
type plain struct{ cause error }

func (p plain) Error() string { return p.cause.Error() }

func (p plain) Unwrap() error {
	for _, err := range []error{context.Canceled, context.DeadlineExceeded, rpc.ErrClosed} {
		if errors.Is(p.cause, err) {
			return err
		}
	}
	return nil
}

func always(error) bool { return true }

func onlyUnsent(err error) bool { return errors.Is(err, ErrNotDone) }

// Range is part of Client.
func (r *Remote) Range(ctx context.Context, keys Keys, at Revision) (Snapshot, error) {
	var reply rangeReply
	err := r.repeat(ctx, "range", always, func(ctx context.Context) (err error) {
		reply, err = methodRange.Call(ctx, r.c, rangeRequest{Keys: keys, At: at})
		return err
	})
	if err == nil && reply.Oldest > 0 {
		err = &CompactedError{Asked: at, Oldest: reply.Oldest}
	}
	return reply.Snapshot, err
}

// Txn is part of Client.
func (r *Remote) Txn(ctx context.Context, t Txn) (result TxnResult, err error) {
	if err := t.check(); err != nil {
		return TxnResult{}, err
	}
	may := onlyUnsent
	if !t.Writes() {
		may = always
	}
	err = r.repeat(ctx, "txn", may, func(ctx context.Context) (err error) {
		result, err = methodTxn.Call(ctx, r.c, t)
		if err == nil && t.Writes() && r.h.Buggify("coord/the answer to a transaction is lost") {
			return rpc.ErrUnknown
		}
		return err
	})
	r.h.Sometimes("coord: a client does not know what became of a transaction", errors.Is(err, ErrUnknown))
	return result, err
}

// Compact is part of Client.
func (r *Remote) Compact(ctx context.Context, before Revision) error {
	return r.repeat(ctx, "compact", always, func(ctx context.Context) error {
		_, err := methodCompact.Call(ctx, r.c, before)
		return err
	})
}

// Grant is part of Client.
func (r *Remote) Grant(ctx context.Context, id LeaseID, ttl time.Duration) error {
	return r.repeat(ctx, "grant", always, func(ctx context.Context) error {
		_, err := methodGrant.Call(ctx, r.c, grantRequest{ID: id, TTL: ttl})
		return err
	})
}

// KeepAlive is part of Client.
func (r *Remote) KeepAlive(ctx context.Context, id LeaseID) error {
	return r.repeat(ctx, "keep-alive", always, func(ctx context.Context) error {
		_, err := methodKeepAlive.Call(ctx, r.c, id)
		return err
	})
}

// Revoke is part of Client.
func (r *Remote) Revoke(ctx context.Context, id LeaseID) error {
	return r.repeat(ctx, "revoke", always, func(ctx context.Context) error {
		_, err := methodRevoke.Call(ctx, r.c, id)
		return err
	})
}

// Lease is part of Client.
func (r *Remote) Lease(ctx context.Context, id LeaseID) (info LeaseInfo, err error) {
	err = r.repeat(ctx, "lease", always, func(ctx context.Context) (err error) {
		info, err = methodLease.Call(ctx, r.c, id)
		return err
	})
	return info, err
}

// Watch is part of Client. A watch from 0 begins when the server is first reached, in the first call
// of Next.
func (r *Remote) Watch(keys Keys, from Revision) Watcher {
	return &remoteWatcher{r: r, keys: keys, next: from}
}

// remoteWatcher asks again and again, each time for what comes after what it has: so nothing is
// missed or repeated, whatever becomes of the connection.
type remoteWatcher struct {
	r    *Remote
	keys Keys
	next Revision // 0 until it is known
	gone error    // why it can't go on
}

func (w *remoteWatcher) Next(ctx context.Context) ([]Event, error) {
	wait := backoff{h: w.r.h}
	for w.gone == nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		reply, err := methodWatch.Call(ctx, w.r.c, watchRequest{Keys: w.keys, From: w.next, Wait: w.r.cfg.Poll})
		switch err := fromWire("watch", err); {
		case err == nil && reply.Oldest > 0:
			w.r.h.Sometimes("coord: a watcher fell behind what is kept", true)
			w.gone = &CompactedError{Asked: w.next, Oldest: reply.Oldest}
		case err == nil:
			wait.reset()
			w.next = reply.Next
			if len(reply.Events) > 0 {
				return reply.Events, nil
			}
		case !passing(err):
			return nil, err
		default:
			if err := wait.wait(ctx); err != nil {
				return nil, err
			}
			w.r.h.Sometimes("coord: a watch went on after it was broken off", true)
		}
	}
	return nil, w.gone
}

func (w *remoteWatcher) Close() {}
