package pipeline

import (
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Links are how a process reaches the others. Nothing is dialled before it is used.
type Links struct {
	Persist   *persist.Client
	Consensus persist.Consensus
	Coord     coord.Client
	Source    source.Reader
	// Tables are the frontends, as flow nodes and mirrors use them.
	Tables flow.Backend
}

// Dial returns a process's links, as the configuration says.
func Dial(h host.Host, cfg Config) Links {
	cfg = cfg.withDefaults()
	blob := persist.NewBlobClientOf(dial(h, cfg, cfg.Topology.Blob, BlobPort))
	consensus := persist.NewConsensusClientOf(dial(h, cfg, cfg.Topology.Consensus, ConsensusPort))
	return Links{
		Persist: persist.NewClient(h, blob, consensus, cfg.Persist), Consensus: consensus,
		Coord: DialCoord(h, cfg), Source: DialSource(h, cfg), Tables: DialFrontends(h, cfg),
	}
}

// DialCoord returns a client of the coordination service.
func DialCoord(h host.Host, cfg Config) *coord.Remote {
	cfg = cfg.withDefaults()
	return coord.NewRemote(h, dial(h, cfg, cfg.Topology.Coord, CoordPort), coord.RemoteConfig{Patience: 2 * cfg.CallTimeout, Poll: cfg.CallTimeout / 2})
}

// DialSource returns a client of the source, which also writes to it.
func DialSource(h host.Host, cfg Config) *source.Client {
	cfg = cfg.withDefaults()
	return source.NewClient(dial(h, cfg, cfg.Topology.Source, SourcePort))
}

// DialFrontends returns a client of the frontends, which also executes SQL.
func DialFrontends(h host.Host, cfg Config) *frontend.Client {
	cfg = cfg.withDefaults()
	return frontend.NewClient(h, cfg.CallTimeout, cfg.frontends()...)
}

func dial(h host.Host, cfg Config, machine, port string) *rpc.Client {
	return rpc.NewClient(h, host.JoinAddr(machine, port), rpc.ClientOptions{DialTimeout: cfg.CallTimeout / 2, CallTimeout: cfg.CallTimeout})
}
