package pipeline

import (
	"context"
	"errors"

	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/compute/replica"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/rpc"
)

// The processes. Each Start function runs one on its machine, and returns once it can be reached; what it
// does is done by tasks that end with the process. Started again after an error, or after a crash, it takes
// up from what is in the shards, in the coordination service and on its disk.

// StartBlob serves the persist shards' data.
func StartBlob(h host.Host) (*rpc.Server, error) { return persist.ServeBlob(h, BlobPort) }

// StartConsensus serves the persist shards' state.
func StartConsensus(h host.Host) (*rpc.Server, error) {
	_, server, err := persist.ServeConsensus(h, ConsensusPort)
	return server, err
}

// StartCoord serves the coordination service.
func StartCoord(h host.Host, cfg coord.StoreConfig) (*coord.Store, error) {
	store, _, err := coord.Serve(h, CoordPort, cfg)
	return store, err
}

// StartSource serves the source.
func StartSource(h host.Host, cfg source.Config) (*source.Store, error) {
	store, _, err := source.Serve(h, SourcePort, cfg)
	return store, err
}

// StartCapture takes part in replicating the source into the shards RawShard.
func StartCapture(h host.Host, cfg Config, links Links) (*cdc.Capture, error) {
	c := cfg.Capture
	c.Coord, c.Upstream = links.Coord, links.Source
	if c.Sinks == nil {
		c.Sinks = RawSinks(h, links.Persist)
	}
	return cdc.Start(h, c)
}

// RawSinks are the sinks of captures: shards whose history is held for the mirror before there is any.
func RawSinks(h host.Host, client *persist.Client) func(context.Context, model.ChangeFeedID, model.ChangeFeedInfo) (sink.Sink, error) {
	return func(context.Context, model.ChangeFeedID, model.ChangeFeedInfo) (sink.Sink, error) {
		return &heldSink{sink.NewShards(h, client, rawPrefix), h, client}, nil
	}
}

// heldSink sees to it that the mirror can read a key span from its beginning, though others may read it earlier, and
// be done with it; and that whoever is late to write finds one that a mirror has closed to be written already.
type heldSink struct {
	sink.Sink
	h      host.Host
	client *persist.Client
}

// Open is part of sink.Sink.
func (s *heldSink) Open(ctx context.Context, id model.KeySpanID, start model.Ts) (sink.Span, bool, error) {
	if _, err := s.client.OpenCritical(ctx, RawShard(id), mirrorHolder, holdOpaque); err != nil {
		return nil, false, err
	}
	span, base, err := s.Sink.Open(ctx, id, start)
	switch {
	case errors.Is(err, sink.ErrClosed):
		return spentSpan{}, false, nil
	case err != nil:
		return nil, false, err
	}
	return &orSpent{span, s.h}, base, nil
}

// StartFrontend serves SQL, and the tables of flows.
func StartFrontend(h host.Host, cfg Config, links Links) (*frontend.Frontend, error) {
	c := cfg.Frontend
	c.Nodes = cfg.Topology.FlowNodes
	f := frontend.New(h, links.Persist, c)
	_, err := frontend.Serve(f, frontend.Port)
	return f, err
}

// StartFlowNode runs flows.
func StartFlowNode(h host.Host, cfg Config, links Links, observer flow.Observer) (*flow.Node, error) {
	return flow.StartNode(h, links.Tables, cfg.Flow, observer)
}

// StartReplica maintains views.
func StartReplica(h host.Host, cfg Config, links Links, observer replica.Observer) (*replica.Server, error) {
	return replica.Serve(h, replica.Config{
		Port: ReplicaPort, Build: cfg.Compute.Build, Persist: links.Persist, Workers: cfg.Workers, Conn: cfg.Replica.Conn, Observer: observer,
	})
}
