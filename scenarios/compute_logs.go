package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// peekLog peeks what some replica tells of itself.
func (s *computeCluster) peekLog(h host.Host, controller *compute.Controller, draw *sim.Stream) {
	name := s.replicas[draw.N(uint64(len(s.replicas)))]
	log := protocol.Logs[draw.N(uint64(len(protocol.Logs)))]
	_, _ = s.readLog(h, controller, name, log) // it fails when the replica is away, and is judged if not
}

// readLog waits for the rows of a log, and judges whether they can be: each is there once, and a worker's.
func (s *computeCluster) readLog(h host.Host, controller *compute.Controller, name string, log protocol.Log) ([][]dataflow.Datum, error) {
	p, err := controller.PeekLog(protocol.ReplicaID(name), log, nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	counts, err := p.Wait(ctx)
	if err != nil {
		return nil, err
	}
	var rows [][]dataflow.Datum
	for _, r := range counts {
		data, err := r.Row.Unpack()
		if err != nil || r.Count != 1 || data[0].Int() < 0 || data[0].Int() >= int64(s.r.Int("replica_workers")) {
			s.r.World.Fail(models.OraclePeekCorrect, "log %d of %s has the row %v (%v)", log, name, r, err)
		}
		rows = append(rows, data)
	}
	return rows, nil
}

// logs holds what each replica tells of its collections' frontiers against what the controller was told: all
// workers have a row of each, and none of them is behind what was told before.
func (s *computeCluster) logs() error {
	if s.shape.logging == 0 {
		return nil
	}
	return s.asController(func(controller *compute.Controller) error {
		for _, name := range s.replicas {
			h := s.r.World.Node(controllerNode).Host()
			before, err := controller.Replica(protocol.ReplicaID(name))
			if err != nil {
				return err
			}
			told := map[protocol.GlobalID]protocol.Frontier{}
			for _, f := range before.Frontiers {
				told[f.ID] = f.Write
			}
			what := s.within(func() string {
				rows, err := s.readLog(h, controller, name, protocol.LogFrontiers)
				var failed *compute.PeekError
				switch {
				case errors.Is(err, compute.ErrNoLog), errors.Is(err, compute.ErrReplicaLost), errors.As(err, &failed):
					return fmt.Sprintf("the log of %s can't be read: %v", name, err)
				case err != nil:
					return err.Error()
				}
				return s.lacks(name, rows, told)
			})
			s.reconnects.Holds(what == "", "%v after everything has settled, %s", settleLimit, what)
		}
		return nil
	})
}

// lacks tells what a log of frontiers does not have; "" if it has all.
func (s *computeCluster) lacks(name string, rows [][]dataflow.Datum, told map[protocol.GlobalID]protocol.Frontier) string {
	for _, col := range s.catalog {
		workers, write := 0, persist.Empty()
		for _, r := range rows {
			if r[1].Int() != int64(col.desc.ID) {
				continue
			}
			workers++
			if !r[2].IsNull() {
				write = write.Meet(persist.At(uint64(r[2].Int())))
			}
		}
		if workers != s.r.Int("replica_workers") {
			return fmt.Sprintf("the log of %s has %v of %d workers", name, col.desc.ID, workers)
		}
		if write.Before(told[col.desc.ID]) {
			return fmt.Sprintf("the log of %s has %v at %v, and %v was told", name, col.desc.ID, write, told[col.desc.ID])
		}
	}
	return ""
}
