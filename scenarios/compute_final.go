package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// within waits for a condition that is told by what is missing.
func (s *computeCluster) within(missing func() string) string {
	for deadline := s.r.World.Now() + settleLimit; ; s.r.World.Sleep(poll) {
		what := missing()
		if what == "" || s.r.World.Now() > deadline {
			return what
		}
	}
}

// advances waits until every replica has computed beyond now.
func (s *computeCluster) advances() error {
	at := s.tables.applied
	what := s.within(func() string { return s.behind(at) })
	s.reconnects.Holds(what == "", "%v after the faults have ended, %s", settleLimit, what)
	return nil
}

// eachReplica peeks everything from each replica alone: what the fastest answers hides what the others would.
func (s *computeCluster) eachReplica() error {
	return s.asController(func(controller *compute.Controller) error {
		for _, only := range s.replicas {
			for _, name := range s.replicas {
				s.setReplica(controller, name, name == only)
			}
			if err := s.peekAll(controller); err != nil {
				return fmt.Errorf("on %s alone: %w", only, err)
			}
			// What is asked without a connection must reach the replica over the next one.
			s.r.World.ResetConns(controllerNode, only)
			s.r.World.Sleep(poll)
			if err := s.askAll(controller); err != nil {
				return fmt.Errorf("on %s alone, its connection cut: %w", only, err)
			}
		}
		for _, name := range s.replicas {
			s.setReplica(controller, name, true)
		}
		return nil
	})
}

// askAll peeks everything, and follows a table, and what reads an index that is there and full, meanwhile.
func (s *computeCluster) askAll(controller *compute.Controller) error {
	h := s.r.World.Node(controllerNode).Host()
	followed := append([]*computeCollection{s.catalog[0]}, s.fed()...)
	errs := make([]error, len(followed))
	subscriptions := host.NewWaitGroup(h, "final subscriptions")
	for i, col := range followed {
		subscriptions.Go(h, "final subscription", func() {
			if err := s.subscribeAtLast(controller, col); err != nil {
				errs[i] = fmt.Errorf("subscription to %v: %w", col.desc.ID, err)
			}
		})
	}
	peeked := s.peekAll(controller)
	subscriptions.Wait()
	return errors.Join(append(errs, peeked)...)
}

// asController does something as a task of the controller's process, and waits for it.
func (s *computeCluster) asController(do func(*compute.Controller) error) (err error) {
	done := false
	s.r.World.Node(controllerNode).Host().Go("final", func() {
		err = do(s.current)
		done = true
	})
	for !done {
		s.r.World.Sleep(poll)
	}
	return err
}

// peekAll peeks everything at once.
func (s *computeCluster) peekAll(controller *compute.Controller) error {
	h := s.r.World.Node(controllerNode).Host()
	cols := slices.SortedFunc(slices.Values(s.catalog), byID)
	errs := make([]error, len(cols))
	peeks := host.NewWaitGroup(h, "final peeks")
	for i, col := range cols {
		peeks.Go(h, "final peek", func() {
			if err := s.peekAtLast(controller, col); err != nil {
				errs[i] = fmt.Errorf("peek of %v: %w", col.desc.ID, err)
			}
		})
	}
	peeks.Wait()
	return errors.Join(errs...)
}

// letGo waits until shards can be read only from a time on that was not over when the faults ended: nobody holds
// them any more but those who are to, and by little.
func (s *computeCluster) letGo() error {
	what := s.within(func() string {
		if since := s.watch.sinces[valueTable]; !persist.At(s.healed).Before(since) {
			return fmt.Sprintf("the since of %s is still %v, faults ended at %d", valueTable, since, s.healed)
		}
		return ""
	})
	s.reconnects.Holds(what == "", "%v after everything has settled, %s", settleLimit, what)
	return nil
}

// withOneLeft lets all replicas but one die, which must not be noticed.
func (s *computeCluster) withOneLeft() error {
	if len(s.replicas) == 1 {
		return nil
	}
	for _, name := range s.replicas[1:] {
		s.r.World.Node(name).PowerOff()
	}
	return s.asController(func(controller *compute.Controller) error {
		at := s.tables.applied
		what := s.within(func() string {
			for _, col := range s.catalog {
				if _, write, err := controller.Frontiers(col.desc.ID); err != nil || write.LessEqual(at) {
					return fmt.Sprintf("%v is written up to %v, and not beyond %d (%v)", col.desc.ID, write, at, err)
				}
			}
			return ""
		})
		s.reconnects.Holds(what == "", "%v after all replicas but one have died, %s", settleLimit, what)
		if err := s.peekAll(controller); err != nil {
			return fmt.Errorf("with one replica left: %w", err)
		}
		return nil
	})
}

// away is how long the controller tries to reach a replica that has died before it comes back. Were the waits to
// double for ever, the next attempt would be more than connectLimit away then, whether attempts fail at once or
// after the 2 s that they may take.
const away = 16500 * time.Millisecond

// comesBack lets one of the replicas that have died come back after long, which must be noticed soon: however often
// it was tried in vain, it is tried again.
func (s *computeCluster) comesBack() error {
	if len(s.replicas) == 1 || !s.shape.comesBack {
		return nil
	}
	name := s.replicas[1]
	status := func() compute.ReplicaStatus {
		status, _ := s.current.Replica(protocol.ReplicaID(name)) // nobody drops it
		return status
	}
	s.within(func() string { // until its end was noticed
		if status().Connected {
			return "it is connected"
		}
		return ""
	})
	s.r.World.Sleep(max(0, s.watch.connecting[name]+away-s.r.World.Now()))
	s.r.World.Node(name).Restart()
	back := s.r.World.Now()
	s.watch.healed = back
	for !status().Connected && s.r.World.Now() < back+connectLimit {
		s.r.World.Sleep(poll)
	}
	s.reconnects.Holds(status().Connected, "%v after %s has come back it is not connected", connectLimit, name)
	return nil
}

// subscribeAtLast follows a collection's definition for a little while.
func (s *computeCluster) subscribeAtLast(controller *compute.Controller, of *computeCollection) error {
	ctx, cancel := s.r.World.Node(controllerNode).Host().Clock().WithTimeout(context.Background(), settleLimit)
	defer cancel()
	for {
		err := s.subscribeOnce(ctx, controller, of)
		// Some runs have room for one batch only, and several may come at once.
		var refused *compute.SubscribeError
		if !errors.Is(err, compute.ErrFellBehind) && !errors.As(err, &refused) {
			return err
		}
	}
}

func (s *computeCluster) subscribeOnce(ctx context.Context, controller *compute.Controller, of *computeCollection) error {
	s.nextID++
	d := of.desc
	d.ID, d.Sink, d.Policy = s.nextID, protocol.Sink{Kind: protocol.Subscribe, Snapshot: true}, nil
	s.watch.model.Defined(uint64(d.ID), of.meaning)
	sub, err := controller.Subscribe(ctx, d)
	if err != nil {
		return err
	}
	for at := s.tables.applied; ; {
		b, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		if !b.Upper.LessEqual(at) {
			err := controller.DropCollections(d.ID)
			if errors.Is(err, compute.ErrUnknownCollection) {
				return nil // it fell behind after what was wanted
			}
			return err
		}
	}
}

func (s *computeCluster) peekAtLast(controller *compute.Controller, col *computeCollection) error {
	ctx, cancel := s.r.World.Node(controllerNode).Host().Clock().WithTimeout(context.Background(), settleLimit)
	defer cancel()
	for {
		_, err := s.peek(ctx, controller, compute.PeekRequest{Target: col.desc.ID, Timestamp: s.tables.applied}, nil, 0)
		var failed *compute.PeekError
		var since *compute.SinceError
		switch {
		case errors.As(err, &failed):
			return nil // the model has judged it
		case errors.As(err, &since) && ctx.Err() == nil: // a later write is in the making, and partly done
			s.r.World.Node(controllerNode).Host().Clock().Sleep(poll)
		default:
			return err
		}
	}
}

// shards reads what collections were written to directly, at every time that is still to be read.
func (s *computeCluster) shards() error {
	for _, col := range s.catalog {
		if col.desc.Sink.Kind != protocol.Shard {
			continue
		}
		if err := s.readShard(col); err != nil {
			return err
		}
	}
	return nil
}

func (s *computeCluster) readShard(col *computeCollection) error {
	h := s.r.World.Host()
	client := s.c.client(h, computeConfig)
	defer client.Close()
	ctx, cancel := h.Clock().WithTimeout(context.Background(), settleLimit)
	defer cancel()
	reader, err := client.OpenReader(ctx, col.shard)
	if err != nil {
		return err
	}
	defer reader.Close()
	since, _ := reader.Since().Time()
	for _, at := range []uint64{since, (since + s.tables.applied) / 2, s.tables.applied} {
		updates, err := reader.SnapshotAndFetch(ctx, at)
		var gone *persist.SinceError
		if errors.As(err, &gone) {
			continue
		}
		if err != nil {
			return err
		}
		rows, failures := dataflow.FromShard(updates)
		got := make([]dataflow.RowCount, len(rows))
		for i, r := range rows {
			got[i] = dataflow.RowCount{Row: r.Row, Count: r.Diff}
		}
		want := s.watch.model.Contents(uint64(col.desc.ID), at)
		if !slices.Equal(got, want.Rows) || len(failures) != len(want.Errors) {
			s.r.World.Fail(models.OraclePeekCorrect, "shard %s holds, as of %d, %v, and not %v", col.shard, at, got, want.Rows)
		}
	}
	return nil
}
