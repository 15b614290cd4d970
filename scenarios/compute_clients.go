package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
)

// startClients starts the clients of a life of the controller's process.
func (s *computeCluster) startClients(h host.Host) {
	for i := range s.r.Int("clients") {
		choices := s.r.World.NewStream("workload", "client", fmt.Sprint(i), fmt.Sprint(h.Incarnation()))
		h.Go("client", func() {
			s.whileWorking(h, choices, s.r.Duration("peek-pace")/s.shape.hurry, func(d *sim.Stream) { s.peekOne(h, i+1, d) })
		})
	}
	choices := s.r.World.NewStream("workload", "subscriber", fmt.Sprint(h.Incarnation()))
	h.Go("subscriber", func() { s.whileWorking(h, choices, time.Second, func(d *sim.Stream) { s.subscribe(h, d) }) })
	if s.opt.churn {
		choices := s.r.World.NewStream("workload", "operator", fmt.Sprint(h.Incarnation()))
		h.Go("operator", func() { s.whileWorking(h, choices, 700*time.Millisecond, func(d *sim.Stream) { s.operate(h, d) }) })
	}
}

// whileWorking does something now and then while there is a controller.
func (s *computeCluster) whileWorking(h host.Host, choices *sim.Stream, pace time.Duration, do func(*sim.Stream)) {
	for s.r.Working() {
		draw := sim.NewStream(choices.Uint64(), "act")
		h.Clock().Sleep(sim.Exp(0, pace).Sample(draw.Uint64()))
		if s.current == nil || s.current.Err() != nil || !s.r.Working() {
			continue
		}
		s.pending++
		do(draw)
		s.pending--
	}
}

// peekOne peeks a collection as of the latest write, or a little before.
func (s *computeCluster) peekOne(h host.Host, client int, draw *sim.Stream) {
	col := s.pick(draw)
	if draw.N(2) == 0 {
		col = s.catalog[0]
	}
	req := compute.PeekRequest{Target: col.desc.ID, Timestamp: s.tables.applied}
	var keep func(dataflow.Row) bool
	whole := col.desc.ID == baseID
	if whole && draw.N(4) == 0 {
		keep = s.restrict(&req, int(draw.N(models.TableKeys)), draw.N(2) == 0)
		whole = false
	}
	if !whole && draw.N(4) == 0 {
		req.Timestamp -= min(req.Timestamp, draw.N(2000))
	}
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	var cancelAfter time.Duration
	switch draw.N(8) {
	case 0:
		cancel()
		ctx, cancel = h.Clock().WithTimeout(context.Background(), time.Duration(draw.Between(1, 100))*time.Millisecond)
	case 1: // then there is no other end
		cancel()
		ctx, cancel = context.Background(), func() {}
		cancelAfter = time.Duration(draw.Between(1, 400)) * time.Millisecond
	}
	defer cancel()
	if !whole {
		_, _ = s.peek(ctx, s.current, req, keep, cancelAfter)
		return
	}
	token := s.rec.begin(client, models.KindTablePeek, "")
	rows, err := s.peek(ctx, s.current, req, nil, cancelAfter)
	if err != nil {
		s.rec.end(token, client, models.Fail, nil)
		return
	}
	state, ok := tableState(rows)
	if !ok {
		s.r.World.Fail(models.OraclePeekCorrect, "a peek of the table gives %v", rows)
	}
	s.rec.end(token, client, models.Ok, state)
}

// restrict makes a peek one of the rows with a key, by looking it up or by a plan.
func (s *computeCluster) restrict(req *compute.PeekRequest, key int, lookup bool) (keep func(dataflow.Row) bool) {
	k := dataflow.Pack(dataflow.Int(int64(key)))
	if lookup {
		req.Key = &k
	} else {
		plan := dataflow.Get(protocol.PeekSource).Filter(dataflow.Eq(dataflow.Col(0), dataflow.Lit(dataflow.Int(int64(key)))))
		req.Plan = &plan
	}
	return func(r dataflow.Row) bool { return len(r) >= len(k) && r[:len(k)] == k }
}

// peek peeks, and tells the model what came of it. If cancelAfter is not 0, somebody else cancels the peek by
// then.
func (s *computeCluster) peek(ctx context.Context, controller *compute.Controller, req compute.PeekRequest, keep func(dataflow.Row) bool, cancelAfter time.Duration) ([]dataflow.RowCount, error) {
	p, err := controller.Peek(req)
	if err != nil {
		return nil, err
	}
	if cancelAfter > 0 {
		h := s.r.World.Node(controllerNode).Host()
		h.Go("cancel peek", func() {
			h.Clock().Sleep(cancelAfter)
			p.Cancel()
		})
	}
	rows, err := p.Wait(ctx)
	var failed *compute.PeekError
	switch {
	case err == nil:
		s.watch.model.PeekRows(string(p.ID()), rows, keep, s.watch.now())
	case errors.As(err, &failed):
		s.watch.model.PeekFailed(string(p.ID()), failed.Message, s.watch.now())
	}
	return rows, err
}

// subscribe follows a collection's definition for a while.
func (s *computeCluster) subscribe(h host.Host, draw *sim.Stream) {
	controller := s.current
	of := s.pick(draw)
	// What reads an index that is there is fed at once, by all workers.
	if fed := s.fed(); len(fed) > 0 && draw.N(2) == 0 {
		of = fed[draw.N(uint64(len(fed)))]
	}
	s.nextID++
	d := of.desc
	d.ID, d.Sink, d.Policy = s.nextID, protocol.Sink{Kind: protocol.Subscribe, Snapshot: draw.N(2) == 0}, nil
	d.Transient = draw.N(2) == 0
	s.watch.model.Defined(uint64(d.ID), of.meaning)
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	sub, err := controller.Subscribe(ctx, d)
	cancel()
	if err != nil {
		h.Logf("subscribe: %v", err)
		return
	}
	ctx, cancel = h.Clock().WithTimeout(context.Background(), time.Duration(draw.Between(200, 8000))*time.Millisecond)
	defer cancel()
	if draw.N(4) == 0 { // it is in no hurry to take anything
		host.Select(h, host.OnDone(ctx))
	}
	for s.r.Working() {
		if _, err := sub.Next(ctx); err != nil {
			break
		}
	}
	_ = controller.DropCollections(d.ID) // it fails when the controller has ended, and when the subscription has
}

// fed are the collections of the catalog that read indexes.
func (s *computeCluster) fed() (fed []*computeCollection) {
	for _, col := range s.catalog {
		if len(col.indexes) > 0 {
			fed = append(fed, col)
		}
	}
	return fed
}

// operate changes something about the instance.
func (s *computeCluster) operate(h host.Host, draw *sim.Stream) {
	controller := s.current
	switch draw.N(7) {
	case 0, 1:
		name := s.replicas[draw.N(uint64(len(s.replicas)))]
		wanted := !slices.Contains(s.wanted, name)
		if !wanted && len(s.wanted) == 1 {
			return
		}
		s.wanted = slices.DeleteFunc(s.wanted, func(o string) bool { return o == name })
		if wanted {
			s.wanted = append(s.wanted, name)
			slices.Sort(s.wanted)
		}
		s.setReplica(controller, name, wanted)
	case 2:
		s.comeAndGo(h, controller, draw)
	case 3:
		_ = controller.SetReadPolicy(sumsID, compute.LagBy(1+draw.N(4000), 1+draw.N(500)))
	case 4:
		controller.UpdateConfiguration(protocol.Parameters{
			ReportInterval: time.Duration(1+draw.N(100)) * time.Millisecond,
			MaxBatchSize:   []int{300, 1000, protocol.MaxMessage}[draw.N(3)],
		})
	case 5:
		s.holdOn(h, controller, draw)
	case 6:
		s.peekLog(h, controller, draw)
	}
}

// comeAndGo creates a collection, peeks it now and then, and drops it.
func (s *computeCluster) comeAndGo(h host.Host, controller *compute.Controller, draw *sim.Stream) {
	plan := *computePlans[draw.N(4)]
	if len(s.catalog) < len(computePlans) {
		plan = *computePlans[0]
	}
	plan.id = 0
	col := s.define(&plan)
	col.desc.Transient = draw.N(2) == 0
	defer s.undefine(col)
	if err := s.create(h, controller, col, 1+draw.N(1000)); err != nil {
		h.Logf("create: %v", err)
		return
	}
	for range draw.N(4) {
		h.Clock().Sleep(time.Duration(draw.N(1000)) * time.Millisecond)
		ctx, cancel := h.Clock().WithTimeout(context.Background(), time.Second)
		_, _ = s.peek(ctx, controller, compute.PeekRequest{Target: col.desc.ID, Timestamp: s.tables.applied}, nil, 0)
		cancel()
	}
	s.undefine(col)
	_ = controller.DropCollections(col.desc.ID)
	if s.current != nil && s.current != controller {
		_ = s.current.DropCollections(col.desc.ID)
	}
}

// holdOn holds a collection readable for a while, and reads it at the end as of the time held.
func (s *computeCluster) holdOn(h host.Host, controller *compute.Controller, draw *sim.Stream) {
	col := s.pick(draw)
	if col.desc.Sink.Kind != protocol.Index {
		return
	}
	hold, err := controller.AcquireReadHold(col.desc.ID)
	if err != nil {
		return
	}
	defer hold.Release()
	h.Clock().Sleep(time.Duration(draw.N(4000)) * time.Millisecond)
	at, ok := hold.Since().Time()
	if !ok {
		return
	}
	ctx, cancel := h.Clock().WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err = s.peek(ctx, controller, compute.PeekRequest{Target: hold.ID(), Timestamp: at}, nil, 0)
	var since *compute.SinceError
	if errors.As(err, &since) {
		s.r.World.Fail(models.OracleSinceHeld, "c%d is held at %d and can't be read as of it: %v", hold.ID(), at, err)
	}
}
