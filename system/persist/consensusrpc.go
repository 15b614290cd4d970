package persist

import (
	"context"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// The methods of a Consensus service.
const (
	methodHead     rpc.Method[keyRequest, Versioned]    = "consensus/head"
	methodCAS      rpc.Method[casRequest, bool]         = "consensus/compare-and-set"
	methodScan     rpc.Method[scanRequest, []Versioned] = "consensus/scan"
	methodTruncate rpc.Method[truncateRequest, int]     = "consensus/truncate"
	methodListKeys rpc.Method[struct{}, []string]       = "consensus/list-keys"
)

type keyRequest struct {
	_   struct{} `cbor:",toarray"`
	Key string
}

type casRequest struct {
	_        struct{} `cbor:",toarray"`
	Key      string
	Expected SeqNo
	Next     Versioned
}

type scanRequest struct {
	_     struct{} `cbor:",toarray"`
	Key   string
	From  SeqNo
	Limit int
}

type truncateRequest struct {
	_     struct{} `cbor:",toarray"`
	Key   string
	SeqNo SeqNo
}

// HandleConsensus adds the methods of a Consensus to a service, answered from c.
func HandleConsensus(s *rpc.Service, c Consensus) {
	methodHead.Handle(s, func(ctx context.Context, r keyRequest) (Versioned, error) {
		v, err := c.Head(ctx, r.Key)
		return v, toWire(err)
	})
	methodCAS.Handle(s, func(ctx context.Context, r casRequest) (bool, error) {
		committed, err := c.CompareAndSet(ctx, r.Key, r.Expected, r.Next)
		return committed, toWire(err)
	})
	methodScan.Handle(s, func(ctx context.Context, r scanRequest) ([]Versioned, error) {
		versions, err := c.Scan(ctx, r.Key, r.From, r.Limit)
		return versions, toWire(err)
	})
	methodTruncate.Handle(s, func(ctx context.Context, r truncateRequest) (int, error) {
		dropped, err := c.Truncate(ctx, r.Key, r.SeqNo)
		return dropped, toWire(err)
	})
	methodListKeys.Handle(s, func(ctx context.Context, _ struct{}) ([]string, error) {
		keys, err := c.ListKeys(ctx)
		return keys, toWire(err)
	})
}

// ServeConsensus serves a [DiskConsensus] in the root of the host's disk.
func ServeConsensus(h host.Host, port string) (*DiskConsensus, *rpc.Server, error) {
	c, err := OpenDiskConsensus(h, "")
	if err != nil {
		return nil, nil, err
	}
	s := rpc.NewService()
	HandleConsensus(s, c)
	server, err := rpc.Serve(h, port, s, serverOptions(h))
	return c, server, err
}

// ConsensusClient is a Consensus that is served elsewhere.
type ConsensusClient struct{ c *rpc.Client }

// NewConsensusClient returns a client of the Consensus served at addr.
func NewConsensusClient(h host.Host, addr string) *ConsensusClient {
	return NewConsensusClientOf(rpc.NewClient(h, addr, rpc.ClientOptions{}))
}

// NewConsensusClientOf returns a client that makes its calls with c.
func NewConsensusClientOf(c *rpc.Client) *ConsensusClient { return &ConsensusClient{c: c} }

// Head is part of Consensus.
func (c *ConsensusClient) Head(ctx context.Context, key string) (Versioned, error) {
	v, err := methodHead.Call(ctx, c.c, keyRequest{Key: key})
	return v, fromWire("head", key, err)
}

// CompareAndSet is part of Consensus.
func (c *ConsensusClient) CompareAndSet(ctx context.Context, key string, expected SeqNo, next Versioned) (bool, error) {
	committed, err := methodCAS.Call(ctx, c.c, casRequest{Key: key, Expected: expected, Next: next})
	return committed, fromWire("compare-and-set", key, err)
}

// Scan is part of Consensus.
func (c *ConsensusClient) Scan(ctx context.Context, key string, from SeqNo, limit int) ([]Versioned, error) {
	versions, err := methodScan.Call(ctx, c.c, scanRequest{Key: key, From: from, Limit: limit})
	return versions, fromWire("scan", key, err)
}

// Truncate is part of Consensus.
func (c *ConsensusClient) Truncate(ctx context.Context, key string, seqno SeqNo) (int, error) {
	dropped, err := methodTruncate.Call(ctx, c.c, truncateRequest{Key: key, SeqNo: seqno})
	return dropped, fromWire("truncate", key, err)
}

// ListKeys is part of Consensus.
func (c *ConsensusClient) ListKeys(ctx context.Context) ([]string, error) {
	keys, err := methodListKeys.Call(ctx, c.c, struct{}{})
	return keys, fromWire("list", "", err)
}
