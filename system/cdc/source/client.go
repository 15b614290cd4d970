package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Reader is what capturing changes takes: a [Store], or a [Client] of one.
type Reader interface {
	Spans(ctx context.Context) (Spans, error)
	Changes(ctx context.Context, from Cursor) (Changes, error)
	Snapshot(ctx context.Context, id model.KeySpanID, asOf model.Ts) ([]Row, error)
	Safepoint(ctx context.Context, service string, ts model.Ts, ttl time.Duration) (model.Ts, error)
	Release(ctx context.Context, service string) error
}

// The methods of the service.
const (
	methodCommit    rpc.Method[commitRequest, model.Ts]    = "source/commit"
	methodAdd       rpc.Method[KeySpan, model.Ts]          = "source/add-span"
	methodDrop      rpc.Method[model.KeySpanID, model.Ts]  = "source/drop-span"
	methodSpans     rpc.Method[struct{}, Spans]            = "source/spans"
	methodChanges   rpc.Method[Cursor, changesReply]       = "source/changes"
	methodSnapshot  rpc.Method[snapshotRequest, rowsReply] = "source/snapshot"
	methodSafepoint rpc.Method[safepointRequest, model.Ts] = "source/safepoint"
	methodRelease   rpc.Method[string, struct{}]           = "source/release"
)

type commitRequest struct {
	_         struct{} `cbor:",toarray"`
	ID        string
	Mutations []Mutation
}

type snapshotRequest struct {
	_    struct{} `cbor:",toarray"`
	ID   model.KeySpanID
	AsOf model.Ts
}

type safepointRequest struct {
	_       struct{} `cbor:",toarray"`
	Service string
	Ts      model.Ts
	TTL     time.Duration
}

// The replies carry a safepoint when history was given up.
type changesReply struct {
	_ struct{} `cbor:",toarray"`
	Changes
	GC        bool
	Safepoint model.Ts
}

type rowsReply struct {
	_         struct{} `cbor:",toarray"`
	Rows      []Row
	GC        bool
	Safepoint model.Ts
}

// codes are the errors on the wire.
var codes = []struct {
	code     string
	sentinel error
}{
	{"source/invalid", ErrInvalid},
	{"source/no-span", ErrNoSpan},
	{"source/span-exists", ErrSpanExists},
	{"source/not-done", ErrNotDone},
	{"source/unknown", ErrUnknown},
}

func toWire(err error) error {
	if err == nil {
		return nil
	}
	for _, c := range codes {
		if errors.Is(err, c.sentinel) {
			return &rpc.Error{Code: c.code, Message: err.Error()}
		}
	}
	return &rpc.Error{Code: "source/unknown", Message: err.Error()}
}

func fromWire(err error) error {
	var coded *rpc.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		for _, c := range codes {
			if c.code == coded.Code {
				return fmt.Errorf("%w: %w", c.sentinel, err)
			}
		}
		if coded.Code == rpc.CodeNoMethod || coded.Code == rpc.CodeBadRequest {
			return fmt.Errorf("%w: %w", ErrNotDone, err)
		}
	case errors.Is(err, rpc.ErrNotSent):
		return fmt.Errorf("%w: %w", ErrNotDone, err)
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// Handle adds the methods of a store to a service.
func Handle(s *rpc.Service, store *Store) {
	methodCommit.Handle(s, func(ctx context.Context, r commitRequest) (model.Ts, error) {
		ts, err := store.Commit(ctx, r.ID, r.Mutations)
		return ts, toWire(err)
	})
	methodAdd.Handle(s, func(ctx context.Context, r KeySpan) (model.Ts, error) {
		ts, err := store.AddSpan(ctx, r.ID, r.Start, r.End)
		return ts, toWire(err)
	})
	methodDrop.Handle(s, func(ctx context.Context, id model.KeySpanID) (model.Ts, error) {
		ts, err := store.DropSpan(ctx, id)
		return ts, toWire(err)
	})
	methodSpans.Handle(s, func(ctx context.Context, _ struct{}) (Spans, error) {
		spans, err := store.Spans(ctx)
		return spans, toWire(err)
	})
	methodChanges.Handle(s, func(ctx context.Context, from Cursor) (changesReply, error) {
		changes, err := store.Changes(ctx, from)
		var gc *GCError
		if errors.As(err, &gc) {
			return changesReply{GC: true, Safepoint: gc.Safepoint}, nil
		}
		return changesReply{Changes: changes}, toWire(err)
	})
	methodSnapshot.Handle(s, func(ctx context.Context, r snapshotRequest) (rowsReply, error) {
		rows, err := store.Snapshot(ctx, r.ID, r.AsOf)
		var gc *GCError
		if errors.As(err, &gc) {
			return rowsReply{GC: true, Safepoint: gc.Safepoint}, nil
		}
		return rowsReply{Rows: rows}, toWire(err)
	})
	methodSafepoint.Handle(s, func(ctx context.Context, r safepointRequest) (model.Ts, error) {
		ts, err := store.Safepoint(ctx, r.Service, r.Ts, r.TTL)
		return ts, toWire(err)
	})
	methodRelease.Handle(s, func(ctx context.Context, service string) (struct{}, error) {
		return struct{}{}, toWire(store.Release(ctx, service))
	})
}

// Serve serves a [Store] in the root of the host's disk.
func Serve(h host.Host, port string, cfg Config) (*Store, *rpc.Server, error) {
	store, err := Open(h, "", cfg)
	if err != nil {
		return nil, nil, err
	}
	s := rpc.NewService()
	Handle(s, store)
	// A reader that waits for changes is a request that is being executed.
	server, err := rpc.Serve(h, port, s, rpc.ServerOptions{MaxInFlight: 1024})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, server, nil
}

// Client is a client of a store that is served elsewhere. Its methods are those of [Store], with their errors, each
// one attempt: a transaction with an id, and everything else, may be called again after a failure.
//
// Each can fail besides with ErrNotDone, when the store was not reached, or ErrUnknown, when no answer came: within
// ctx, and for a client of [Dial] within 2 s.
type Client struct{ c *rpc.Client }

// Dial returns a client of the store at addr ("name:port").
func Dial(h host.Host, addr string) *Client {
	return NewClient(rpc.NewClient(h, addr, rpc.ClientOptions{DialTimeout: time.Second, CallTimeout: 2 * time.Second}))
}

// NewClient returns a client that makes its calls with c.
func NewClient(c *rpc.Client) *Client { return &Client{c} }

// Close ends the connection.
func (c *Client) Close() { c.c.Close() }

// Commit executes a transaction and returns its commit ts. It fails with ErrNoSpan.
func (c *Client) Commit(ctx context.Context, id string, mutations []Mutation) (model.Ts, error) {
	ts, err := methodCommit.Call(ctx, c.c, commitRequest{ID: id, Mutations: mutations})
	return ts, fromWire(err)
}

// AddSpan adds the key span of the keys from start up to but not including end, "" for no end, and returns its AddTs.
// It fails with ErrSpanExists.
func (c *Client) AddSpan(ctx context.Context, id model.KeySpanID, start, end string) (model.Ts, error) {
	ts, err := methodAdd.Call(ctx, c.c, KeySpan{ID: id, Start: start, End: end})
	return ts, fromWire(err)
}

// DropSpan drops a key span and returns its DropTs. It fails with ErrNoSpan.
func (c *Client) DropSpan(ctx context.Context, id model.KeySpanID) (model.Ts, error) {
	ts, err := methodDrop.Call(ctx, c.c, id)
	return ts, fromWire(err)
}

// Spans returns the key spans, the ts as of which they are all, and from where on history is kept.
func (c *Client) Spans(ctx context.Context) (Spans, error) {
	spans, err := methodSpans.Call(ctx, c.c, struct{}{})
	return spans, fromWire(err)
}

// Now is [Store.Now].
func (c *Client) Now(ctx context.Context) (model.Ts, error) {
	spans, err := c.Spans(ctx)
	return spans.AsOf, err
}

// Changes returns rows of a key span after a cursor, at once when there are any, and otherwise a new resolved ts after
// the store's ResolvedInterval. It fails with ErrNoSpan or *GCError.
func (c *Client) Changes(ctx context.Context, from Cursor) (Changes, error) {
	r, err := methodChanges.Call(ctx, c.c, from)
	if err == nil && r.GC {
		err = &GCError{Asked: from.After, Safepoint: r.Safepoint}
		return Changes{}, err
	}
	return r.Changes, fromWire(err)
}

// Snapshot returns the contents of a key span at a ts, sorted by key, and waits until that is resolved. It fails with
// ErrNoSpan or *GCError.
func (c *Client) Snapshot(ctx context.Context, id model.KeySpanID, asOf model.Ts) ([]Row, error) {
	r, err := methodSnapshot.Call(ctx, c.c, snapshotRequest{ID: id, AsOf: asOf})
	if err == nil && r.GC {
		return nil, &GCError{Asked: asOf, Safepoint: r.Safepoint}
	}
	return r.Rows, fromWire(err)
}

// Safepoint holds history from ts on for a service, for as long as ttl without another call, by the store's clock. It
// returns from where on history is kept: if that is beyond ts, it came too late. It fails with ErrInvalid for a ts in
// the future.
func (c *Client) Safepoint(ctx context.Context, service string, ts model.Ts, ttl time.Duration) (model.Ts, error) {
	safepoint, err := methodSafepoint.Call(ctx, c.c, safepointRequest{Service: service, Ts: ts, TTL: ttl})
	return safepoint, fromWire(err)
}

// Release ends a service's hold on history.
func (c *Client) Release(ctx context.Context, service string) error {
	_, err := methodRelease.Call(ctx, c.c, service)
	return fromWire(err)
}

var (
	_ Reader = (*Store)(nil)
	_ Reader = (*Client)(nil)
)
