package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/pipeline"
)

// What happens in a long haul besides what happens in the scenario full: bursts, jobs that come and go and leave their
// leases behind, tables that are dropped, and clocks of which each is a little wrong, all the time.

const (
	visitorNode   = "visitor"
	visitorPrefix = "/visitors/"
	// visitorTTL is how long what a visitor leaves in the coordination service stays there.
	visitorTTL = 10 * time.Minute
	// maxDrift is by how much the clocks of machines are wrong, in parts per million: those of cheap crystals are. In a week
	// it is a minute.
	maxDrift = 100
)

// drift gives each machine a clock that runs a little too fast or too slow.
func (s *pipelineCluster) drift() {
	draw := s.r.World.NewStream("workload", "drift")
	for _, n := range s.r.World.Nodes() {
		if n.Name() != reaperNode { // whose clock is what it is for a purpose
			n.SetClock(0, int(draw.Between(-maxDrift, maxDrift)))
		}
	}
}

// burst commits many transactions, one after the other.
func (s *pipelineCluster) burst(draw *sim.Stream) {
	for n := draw.Between(20, 60); n > 0 && s.r.Working(); n-- {
		s.transact(sim.NewStream(draw.Uint64(), "transaction"))
		s.r.World.Sleep(time.Duration(draw.Between(0, int64(4*time.Second))))
	}
}

// addVisitors adds a machine on which one job after the other reads something, under a lease in the coordination service
// and one of a shard, and is gone: killed, mostly, so that its leases have to run out.
func (s *pipelineCluster) addVisitors() {
	node := s.r.AddNode(visitorNode, "visitor", s.visit)
	s.task("visitors", func(draw *sim.Stream) {
		node.Restart() // if no fault has
		s.r.World.Sleep(time.Duration(draw.Between(int64(10*time.Second), int64(4*time.Minute))))
		node.Crash()
	}, s.r.Duration("visit-pace"))
}

func (s *pipelineCluster) visit(h host.Host) {
	if !s.created || !s.r.Working() {
		return
	}
	draw := s.r.World.NewStream("workload", "visit", fmt.Sprint(h.Incarnation()))
	s.ops++
	if err := s.look(h, draw); err != nil {
		h.Logf("a visit: %v", err)
		return
	}
	s.done++
}

// look reads a table as of the latest time, and holds it, by a reader of which it may never let go.
func (s *pipelineCluster) look(h host.Host, draw *sim.Stream) error {
	ctx, cancel := h.Clock().WithTimeout(context.Background(), s.slow(opTimeout))
	defer cancel()
	links := s.links(h)
	session, err := coord.NewSession(ctx, h, links.Coord, coord.SessionConfig{TTL: visitorTTL})
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%s%d", visitorPrefix, h.Incarnation())
	if _, err := coord.Write(ctx, links.Coord, coord.PutLeased(key, h.Name(), session.Lease())); err != nil {
		return err
	}
	table := pipelineTables[draw.N(uint64(len(pipelineTables)))]
	reader, err := links.Persist.OpenReader(ctx, pipeline.TableShard(table.Name))
	if err != nil {
		return err
	}
	at, rows, err := latest(ctx, links.Persist, reader)
	if err != nil {
		return err
	}
	s.watch.read(table.Name, at, rows)
	if draw.N(4) == 0 { // in good order
		reader.Close()
		return session.Close(ctx)
	}
	return nil
}

// latest is what a shard holds as of the latest time.
func latest(ctx context.Context, client *persist.Client, reader *persist.ReadHandle) (at uint64, rows []persist.Update, err error) {
	w, err := client.OpenWriter(ctx, reader.Shard())
	if err != nil {
		return 0, nil, err
	}
	defer w.Close()
	if at, err = readable(ctx, w); err != nil {
		return 0, nil, err
	}
	rows, err = reader.SnapshotAndFetch(ctx, at)
	return at, rows, err
}

// comeBack creates a flow again that was there before, if the run is long enough for that.
func (s *pipelineCluster) comeBack(ctx context.Context, draw *sim.Stream) {
	if s.slowness > 1 {
		f := passingFlow(1 + int(draw.N(uint64(s.passing))))
		_, _ = s.sql.Execute(ctx, f.Create())
	}
}

// passAway drops the table of a flow that was dropped, so that it is another one when the flow comes back.
func (s *pipelineCluster) passAway(ctx context.Context, f pipelineFlow) {
	if s.slowness > 1 {
		_, _ = s.sql.Execute(ctx, "DROP TABLE IF EXISTS "+f.Sink)
	}
}
