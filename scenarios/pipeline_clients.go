package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/pipeline"
)

func (s *pipelineCluster) startWorkload() {
	s.task("transactions", s.transact, s.r.Duration("write-pace"))
	s.task("operator", s.operate, s.r.Duration("operator-pace"))
	s.task("data definition", s.define, 2*s.r.Duration("operator-pace"))
	for i := range s.r.Int("clients") {
		client := pipeline.NewClient(s.r.World.Host(), s.cfg)
		s.task(fmt.Sprintf("client %d", i+1), func(draw *sim.Stream) { s.peek(client, draw) }, s.r.Duration("peek-pace"))
	}
}

// task does something over and over while the workload runs.
func (s *pipelineCluster) task(name string, do func(draw *sim.Stream), pace time.Duration) {
	choices := s.r.World.NewStream("workload", name)
	s.workers++
	s.r.World.Go(name, func() {
		for s.r.Working() {
			draw := sim.NewStream(choices.Uint64(), "operation")
			for pause := sim.Exp(0, pace).Sample(draw.Uint64()); pause > 0 && s.r.Working(); pause -= s.slow(patience) {
				s.r.World.Sleep(min(pause, s.slow(patience)))
			}
			if s.created && s.r.Working() {
				do(draw)
			}
		}
		s.workers--
	})
}

// transact commits a transaction on some keys.
func (s *pipelineCluster) transact(draw *sim.Stream) {
	if !s.serving[sourceNode] {
		return
	}
	spans := s.upstream.SpanIDs()
	s.ops++
	var mutations []source.Mutation
	for n := draw.Between(1, 4); n > 0; n-- {
		id := spans[draw.N(uint64(len(spans)))]
		prefix, _ := pipelineSpan(id)
		var key, value string
		if id == labelsSpan {
			key = fmt.Sprintf("%sg%d", prefix, draw.N(itemGroups))
			value = pipeline.EncodeValue(dataflow.String(fmt.Sprintf("l%d", draw.N(3))), dataflow.Int(int64(draw.N(100))))
		} else {
			key = fmt.Sprintf("%s%d", prefix, draw.N(keysOfSpan))
			value = pipeline.EncodeValue(dataflow.String(fmt.Sprintf("g%d", draw.N(itemGroups))), dataflow.Int(int64(draw.N(100))))
		}
		if draw.N(4) == 0 {
			mutations = append(mutations, source.Delete(key))
		} else {
			mutations = append(mutations, source.Put(key, value))
		}
	}
	ctx, cancel := s.r.World.Host().Clock().WithTimeout(context.Background(), s.slow(time.Second))
	defer cancel()
	if _, err := s.writes.Commit(ctx, fmt.Sprintf("txn-%d", s.ops), mutations); err == nil {
		s.done++
	}
}

// operate moves key spans, and adds and drops them.
func (s *pipelineCluster) operate(draw *sim.Stream) {
	ctx, cancel := s.r.World.Host().Clock().WithTimeout(context.Background(), s.slow(time.Second))
	defer cancel()
	if !s.serving[sourceNode] {
		return
	}
	spans := s.upstream.SpanIDs()
	switch what := draw.N(8); {
	case what == 0:
		_ = s.admin.Rebalance(ctx, pipelineFeed)
	case what <= 3:
		captures, err := s.admin.Captures(ctx)
		if err != nil || len(captures) == 0 {
			return
		}
		_ = s.admin.MoveKeySpan(ctx, pipelineFeed, spans[draw.N(uint64(len(spans)))], captures[draw.N(uint64(len(captures)))].ID)
	case what <= 5:
		start, end := pipelineSpan(s.nextSpan)
		_, _ = s.writes.AddSpan(ctx, s.nextSpan, start, end)
		s.nextSpan++
	case len(spans) > 3:
		_, _ = s.writes.DropSpan(ctx, spans[1+draw.N(uint64(len(spans)-1))]) // the labels' stays
	}
}

// define creates, replaces and drops flows, and tables under them.
func (s *pipelineCluster) define(draw *sim.Stream) {
	h := s.r.World.Host()
	ctx, cancel := h.Clock().WithTimeout(context.Background(), s.slow(3*time.Second))
	defer cancel()
	what := draw.N(6)
	if what >= 4 && s.r.Phase() == PhaseStart {
		return // it waits for results in every sink
	}
	switch what {
	case 0:
		s.replace(ctx, draw.N(2) == 0)
	case 4:
		s.dropSink(ctx, draw)
	case 5:
		s.dropTable(ctx, draw)
	case 1, 2:
		if s.passing >= 2 {
			s.comeBack(ctx, draw)
			return
		}
		s.passing++
		f := passingFlow(s.passing)
		s.watch.followSink(f)
		_, _ = s.sql.Execute(ctx, f.Create())
	case 3:
		if s.passing > 0 {
			f := passingFlow(1 + int(draw.N(uint64(s.passing))))
			_, _ = s.sql.Execute(ctx, "DROP FLOW IF EXISTS "+f.Name)
			s.passAway(ctx, f)
		}
	}
}

// replace gives the flow into the sink of sums another query, or the one it had before.
func (s *pipelineCluster) replace(ctx context.Context, great bool) {
	f, name := pipelineFlows[0], pipelineFlows[0].Name
	query := f.SQL
	if great {
		query, name = greatQuery, "great"
		s.model.Defined(name, greatMeaning)
	}
	s.watch.results[f.Sink].Replaced(name)
	_, _ = s.sql.Execute(ctx, f.replacement(query))
}

// dropSink drops a flow's sink, and mostly has the flow make it anew, some time after.
func (s *pipelineCluster) dropSink(ctx context.Context, draw *sim.Stream) {
	if draw.N(3) == 0 && s.passing > 0 {
		f := passingFlow(1 + int(draw.N(uint64(s.passing))))
		_, _ = s.sql.Execute(ctx, "DROP FLOW IF EXISTS "+f.Name+"; DROP TABLE IF EXISTS "+f.Sink)
		return
	}
	f := pipelineFlows[draw.N(uint64(len(pipelineFlows)))]
	_, _ = s.sql.Execute(ctx, "DROP TABLE IF EXISTS "+f.Sink)
	s.repair(ctx, draw)
}

// dropTable drops a table that flows read. What they made of it stays, and goes on with the table that takes its place.
func (s *pipelineCluster) dropTable(ctx context.Context, draw *sim.Stream) {
	t := pipelineTables[draw.N(uint64(len(pipelineTables)))]
	_, _ = s.sql.Execute(ctx, "DROP TABLE IF EXISTS "+t.Name)
	s.repair(ctx, draw)
}

// repair makes the tables anew that are gone, and defines the flows anew that read them or wrote them. At the end of the
// run that is done in any case.
func (s *pipelineCluster) repair(ctx context.Context, draw *sim.Stream) {
	h := s.r.World.Host()
	h.Clock().Sleep(sim.Exp(0, s.slow(time.Second)).Sample(draw.Uint64()))
	if draw.N(4) == 0 {
		return
	}
	_ = s.setUp(ctx)
	s.replace(ctx, draw.N(2) == 0)
	for _, f := range pipelineFlows[1:] {
		_, _ = s.sql.Execute(ctx, f.replacement(f.SQL))
	}
}

// peek reads a view, as of the latest checkpoint, of a while ago, or of whatever is there.
func (s *pipelineCluster) peek(client *pipeline.Client, draw *sim.Stream) {
	v := pipelineViews[draw.N(uint64(len(pipelineViews)))]
	at := s.model.Checkpoint()
	switch draw.N(4) {
	case 0:
		at = 0
	case 1:
		at -= min(at, uint64(s.slowness)*draw.N(500)<<18)
	}
	s.ops++
	ctx, cancel := s.r.World.Host().Clock().WithTimeout(context.Background(), 2*s.cfg.CallTimeout)
	defer cancel()
	answer, err := client.Peek(ctx, v.Name, at)
	if err != nil {
		return
	}
	s.done++
	s.r.World.Op(fmt.Sprintf("peek of %s as of %d: %d rows", v.Name, answer.At, len(answer.Rows)))
	s.model.Holds(models.OraclePipelineEndToEnd, at == 0 || answer.At == at, s.watch.now(), "a peek of %s as of %d is answered as of %d", v.Name, at, answer.At)
	s.model.Peeked(v.Name, answer.At, answer.Rows, s.watch.now())
}

// startSubscriber has a controller's process subscribe to views, whenever it leads.
func (s *pipelineCluster) startSubscriber(h host.Host, c *pipeline.Controller) {
	choices := s.r.World.NewStream("workload", "subscriber", h.Name(), fmt.Sprint(h.Incarnation()))
	h.Go("subscriber", func() {
		for s.r.Working() {
			draw := sim.NewStream(choices.Uint64(), "subscription")
			h.Clock().Sleep(s.slow(500 * time.Millisecond))
			if c.Leading() != nil {
				s.subscribe(h, c, draw)
			}
		}
	})
}

func (s *pipelineCluster) subscribe(h host.Host, c *pipeline.Controller, draw *sim.Stream) {
	v := pipelineViews[draw.N(3)]
	snapshot := draw.N(2) == 0
	ctx, cancel := h.Clock().WithTimeout(context.Background(), s.cfg.CallTimeout)
	sub, err := c.Subscribe(ctx, v.Name, snapshot)
	cancel()
	if err != nil {
		h.Logf("subscribe to %s: %v", v.Name, err)
		return
	}
	f := s.model.FollowSubscription("a subscription to "+v.Name, v.Name, sub.AsOf(), snapshot)
	ctx, cancel = h.Clock().WithTimeout(context.Background(), s.slow(time.Duration(draw.Between(500, 6000))*time.Millisecond))
	defer cancel()
	for s.r.Working() {
		batch, err := sub.Next(ctx)
		if err != nil {
			break
		}
		lower, _ := batch.Lower.Time()
		if upper, open := batch.Upper.Time(); open {
			s.watch.knows(upper - 1)
			f.Advanced(lower, upper, batch.Updates, s.watch.now())
		}
	}
	c.Drop(sub)
}
