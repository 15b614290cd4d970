package scenarios

import (
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/rpc"
)

// cdcShape is what a run of change data capture draws for itself: how large it is, how restless, how
// patient, and how narrow its limits are. Runs that are all alike would come by the same situations only.
type cdcShape struct {
	captures, spans int

	// operators is the mean time between two acts of an operator, stay the mean time for which a capture
	// stays, and interrupted that between two stops of a changefeed.
	operators, stay, interrupted time.Duration

	// patience is how long calls wait for an answer.
	patience time.Duration

	config cdc.Config // without those whom captures talk to
	coord  coord.StoreConfig
	// database is about how long an external database takes for a statement.
	database time.Duration
	// bulk and recreated are the mean times between two bulk loads and between two removals of a changefeed,
	// 0 where there are none.
	bulk, recreated time.Duration
	// dropsAll: now and then there is no key span left.
	dropsAll bool
	// archive is the mean time for which history is held at one place for changefeeds that start below the others,
	// 0 where it is held at the beginning for good.
	archive time.Duration
	// mended is the mean time until an operator looks after changefeeds that have failed.
	mended time.Duration
	// persist is how sinks in shards use persist.
	persist persist.Config
	// sourceRewriteAt is the size of the source's log at which it is rewritten.
	sourceRewriteAt int64
}

func drawCDCShape(r *Run) cdcShape {
	draw := r.World.NewStream("workload", "shape")
	s := cdcShape{captures: r.Int("captures"), spans: r.Int("spans")}
	if draw.N(3) == 0 {
		s.captures = int(draw.Between(1, int64(s.captures)))
	}
	if draw.N(2) == 0 {
		s.spans = int(draw.Between(1, int64(s.spans)))
	}
	s.operators = slower(draw, r.Duration("operator-pace"), 5)
	s.stay = slower(draw, 8*time.Second, 4)
	s.interrupted = slower(draw, 4*time.Second, 3)
	s.config.SessionTTL = r.Duration("session-ttl") >> draw.N(4)
	s.config.RestartDelay = 100 * time.Millisecond
	s.patience = 2 * time.Second >> draw.N(4)
	s.config.Timeout = s.patience
	s.config.Peer.Timeout = s.patience
	quick := draw.N(3)
	s.config.OwnerInterval = 200 * time.Millisecond >> quick
	s.config.ProcessorInterval = 100 * time.Millisecond >> quick
	s.config.ReportInterval = s.config.ProcessorInterval
	if draw.N(3) == 0 {
		s.config.ReportInterval <<= draw.Between(1, 4) // then what owners go by is old
	}
	s.config.FlushInterval = 100 * time.Millisecond >> draw.N(3)
	if draw.N(3) == 0 {
		s.config.MaxBuffered = int(draw.Between(1, 4))
	}
	if draw.N(3) == 0 {
		s.config.Peer.Queue, s.config.Peer.Batch = int(draw.Between(5, 12)), int(draw.Between(1, 4))
	}
	s.coord.Retain = int(draw.Between(4, 120))
	s.coord.RewriteAt = 1 << draw.Between(11, 16)
	s.sourceRewriteAt = 1 << draw.Between(10, 16)
	s.database = time.Millisecond << draw.Between(0, 7)
	if draw.N(3) == 0 {
		s.bulk = slower(draw, time.Second, 3)
	}
	if draw.N(2) == 0 {
		s.recreated = slower(draw, 2*time.Second, 3)
	}
	s.dropsAll = draw.N(3) == 0
	if draw.N(3) != 0 {
		s.archive = slower(draw, time.Second, 3)
	}
	s.mended = slower(draw, 500*time.Millisecond, 3)
	if s.persist = clientConfig; draw.N(4) == 0 {
		s.persist.WriterLease = shortLeases.WriterLease // whoever is not heard of for longer can't tell what it has appended
	}
	s.config.SafepointTTL = r.Duration("safepoint-ttl")
	if draw.N(4) == 0 && r.Int("recreate") == 1 {
		// An owner that is away for longer loses the changefeed, for which nothing helps but to begin anew.
		s.config.SafepointTTL = time.Second << draw.N(3)
	}
	return s
}

// slower is d, or up to 2^most times d.
func slower(draw *sim.Stream, d time.Duration, most int64) time.Duration {
	return d << draw.Between(0, most)
}

func (s *cdcShape) dialCoord(h host.Host) *coord.Remote {
	return coord.NewRemote(h, s.dial(h, coordNode, coordPort), coord.RemoteConfig{Patience: 4 * s.patience, Poll: s.patience})
}

func (s *cdcShape) dialSource(h host.Host) *source.Client {
	return source.NewClient(s.dial(h, sourceNode, sourcePort))
}

func (s *cdcShape) dial(h host.Host, node, port string) *rpc.Client {
	return rpc.NewClient(h, host.JoinAddr(node, port), rpc.ClientOptions{DialTimeout: s.patience, CallTimeout: 2 * s.patience})
}
