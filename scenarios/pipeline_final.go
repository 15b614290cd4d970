package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/pipeline"
)

// Bounds of what a healed pipeline may take, in virtual time.
const (
	// arriveWithin is until all that was committed has come to every end.
	arriveWithin = 60 * time.Second
	// introspectWithin is until the collections about the pipeline itself say so.
	introspectWithin = 20 * time.Second
	// letGoWithin is until history goes that nobody holds any more: the leases of those who died must run out first, by
	// clocks that faults have set back.
	letGoWithin = 3 * forgottenAfter
)

func (s *pipelineCluster) addFinal() {
	var arrived model.Ts
	s.r.Final(func() error { s.restore(); return nil })
	s.r.Final(func() error { s.arrive(); arrived = s.model.Checkpoint(); return nil })
	s.r.Final(func() error { s.peekAll(); return nil })
	s.r.Final(func() error { s.introspect(); return nil })
	s.r.Final(func() error { s.letGo(arrived); return nil })
}

// within waits until nothing is missing, for so long at most; what is missing then is a violation. When one was found
// before, it does not wait: what is wrong once is wrong for good, and what depends on it may not come true.
func (s *pipelineCluster) within(limit time.Duration, oracle string, missing func() string) (took time.Duration) {
	w := s.r.World
	began, limit := w.Now(), s.slow(limit)
	for {
		if s.model.Failed() {
			return 0
		}
		problem := missing()
		if problem == "" || w.Now() >= began+limit {
			s.model.Holds(oracle, problem == "", s.watch.now(), "%v after the faults: %s", limit, problem)
			return w.Now() - began
		}
		w.Sleep(s.slow(50 * time.Millisecond))
	}
}

// restore makes what was dropped anew, and gives the flows their first queries again. What is found to be gone then was
// dropped by a statement that nobody waited for any more.
func (s *pipelineCluster) restore() {
	s.insist(s.setUp)
	for _, f := range pipelineFlows {
		s.insist(func(ctx context.Context) error {
			_, err := s.sql.Execute(ctx, f.replacement(f.SQL))
			if errors.Is(err, frontend.ErrNotFound) {
				err = errors.Join(err, s.setUp(ctx))
			}
			return err
		})
	}
	s.watch.results[sumsSink].Replaced(pipelineFlows[0].Name)
}

// arrive waits until everything has come to where the source was when the faults ended.
func (s *pipelineCluster) arrive() {
	var target model.Ts
	s.insist(func(ctx context.Context) (err error) {
		target, err = s.upstream.Now(ctx)
		return err
	})
	figure := func(name string, took time.Duration) { s.r.Figure(name, took.Milliseconds()) }
	figure("pipeline_checkpoint_ms", s.within(arriveWithin, models.OraclePipelineProgress, func() string {
		if at := s.model.Checkpoint(); at < target {
			return fmt.Sprintf("the checkpoint is %d, and the source was at %d when the faults ended", at, target)
		}
		return ""
	}))
	figure("pipeline_tables_ms", s.within(arriveWithin, models.OraclePipelineProgress, func() string {
		for _, name := range slices.Sorted(maps.Keys(s.watch.tables)) {
			if at := s.watch.tables[name].Upper(); at <= target {
				return fmt.Sprintf("%s is written up to %d, and the source was at %d", name, at, target)
			}
		}
		return ""
	}))
	figure("pipeline_sinks_ms", s.within(arriveWithin, models.OraclePipelineProgress, func() string {
		for _, f := range pipelineFlows {
			if at := s.watch.results[f.Sink].Mark(); at < target {
				return fmt.Sprintf("sink %s has the mark %d, and the source was at %d", f.Sink, at, target)
			}
		}
		return ""
	}))
	figure("pipeline_views_ms", s.within(arriveWithin, models.OraclePipelineProgress, func() string { return s.behind(target) }))
	// From here on the flow that was replaced has had its first query for longer than its results take.
	s.watch.results[sumsSink].Settled()
}

// peekAll reads every view as of one moment, and the sinks' once more when they have moved on.
func (s *pipelineCluster) peekAll() {
	client := pipeline.NewClient(s.r.World.Host(), s.cfg)
	at := s.model.Checkpoint()
	for _, v := range pipelineViews {
		s.within(arriveWithin, models.OraclePipelineProgress, func() string {
			ctx, cancel := s.r.World.Host().Clock().WithTimeout(context.Background(), 2*s.cfg.CallTimeout)
			defer cancel()
			answer, err := client.Peek(ctx, v.Name, at)
			if errors.Is(err, pipeline.ErrNotReadable) {
				at = s.model.Checkpoint() // it has become too old
			}
			if err != nil {
				return fmt.Sprintf("view %s can't be peeked as of %d: %v", v.Name, at, err)
			}
			s.model.Peeked(v.Name, at, answer.Rows, s.watch.now())
			return ""
		})
	}
	s.within(arriveWithin, models.OraclePipelineProgress, func() string {
		if upper := s.watch.results[sumsSink].Upper(); upper <= at {
			return fmt.Sprintf("sink %s is written up to %d, and was peeked as of %d", sumsSink, upper, at)
		}
		return ""
	})
}

// introspect compares what the pipeline says of itself with what is so.
func (s *pipelineCluster) introspect() {
	h := s.r.World.Host()
	for _, name := range pipeline.SystemCollections() {
		s.within(introspectWithin, models.OraclePipelineIntrospection, func() string {
			ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
			defer cancel()
			want, err := s.actual(ctx, name)
			if err != nil {
				return err.Error()
			}
			got, err := s.read(ctx, pipeline.SystemShard(name))
			if err != nil {
				return fmt.Sprintf("collection %s can't be read: %v", name, err)
			}
			if !slices.Equal(got, want) {
				return fmt.Sprintf("collection %s says %q, and %q is so", name, got, want)
			}
			return ""
		})
	}
}

// actual is what an introspection collection must say, sorted.
func (s *pipelineCluster) actual(ctx context.Context, name string) (rows []string, err error) {
	row := func(columns ...string) {
		data := make([]dataflow.Datum, len(columns))
		for i, c := range columns {
			data[i] = dataflow.String(c)
		}
		rows = append(rows, string(dataflow.Pack(data...)))
	}
	switch name {
	case pipeline.SystemReplicas:
		for _, name := range s.cfg.Topology.Replicas {
			row(name, "connected", "hydrated")
		}
	case pipeline.SystemSpans:
		scheduled, err := s.admin.Scheduled(ctx, pipelineFeed)
		if err != nil {
			return nil, err
		}
		running := map[model.KeySpanID]bool{}
		for _, capture := range slices.Sorted(maps.Keys(scheduled)) {
			for _, span := range scheduled[capture].Running {
				row(strconv.FormatUint(span, 10), capture)
				running[span] = true
			}
		}
		for _, span := range s.upstream.SpanIDs() {
			if !running[span] {
				return nil, fmt.Errorf("key span %d does not run", span)
			}
		}
	case pipeline.SystemFlows:
		flows, _, err := s.sql.Flows(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range flows {
			row(f.Name.String(), f.Sink.String(), f.Node)
		}
	}
	slices.Sort(rows)
	return rows, nil
}

// read is what a shard holds as of the latest time, sorted.
func (s *pipelineCluster) read(ctx context.Context, shard persist.ShardID) (rows []string, err error) {
	reader, err := s.watch.client.OpenReader(ctx, shard)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	w, err := s.watch.client.OpenWriter(ctx, shard)
	if err != nil {
		return nil, err
	}
	at, err := readable(ctx, w)
	if err != nil {
		return nil, err
	}
	updates, err := reader.SnapshotAndFetch(ctx, at)
	for _, u := range updates {
		for range u.Diff {
			rows = append(rows, u.Data)
		}
	}
	slices.Sort(rows)
	return rows, err
}

// letGo waits until history that was old at the checkpoint began is given up: of views, and, where readers that died are
// forgotten in time, of all shards, whoever holds them.
func (s *pipelineCluster) letGo(began model.Ts) {
	kept := began - min(began, milliseconds(s.cfg.Retention)+1)
	s.within(arriveWithin, models.OraclePipelineReadable, func() string {
		_, controller := s.leading()
		if controller == nil {
			return "no controller leads"
		}
		for _, v := range pipelineViews {
			since, write, err := controller.Frontiers(protocol.GlobalID(v.ID))
			if err != nil {
				return err.Error()
			}
			if since.LessEqual(kept) {
				return fmt.Sprintf("view %s, written up to %v, can be read from %v on, and only %d ms are to be kept", v.Name, write, since, s.cfg.Retention)
			}
		}
		return ""
	})
	if !s.forgets {
		return
	}
	left := s.shards()
	figure := s.within(letGoWithin, models.OraclePipelineReadable, func() string {
		for ; len(left) > 0; left = left[1:] {
			since, err := s.since(left[0])
			if err != nil {
				return fmt.Sprintf("shard %s can't be read: %v", left[0], err)
			}
			if since.LessEqual(kept) {
				s.r.World.Sleep(s.slow(time.Second)) // holds are moved every few seconds
				return fmt.Sprintf("shard %s can be read from %v on, and only %d ms before %d are to be kept", left[0], since, s.cfg.Retention, began)
			}
		}
		return ""
	})
	s.r.Figure("pipeline_history_ms", figure.Milliseconds())
}

// shards are those whose history must go: of the key spans that there are, of tables, and of sinks.
func (s *pipelineCluster) shards() (all []persist.ShardID) {
	for _, id := range s.upstream.SpanIDs() {
		all = append(all, pipeline.RawShard(id))
	}
	for _, t := range pipelineTables {
		all = append(all, pipeline.TableShard(t.Name))
	}
	return append(all, pipeline.SinkShard(sumsSink))
}

// since is from where on a shard can be read.
func (s *pipelineCluster) since(shard persist.ShardID) (persist.Frontier, error) {
	ctx, cancel := s.r.World.Host().Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	reader, err := s.watch.client.OpenReader(ctx, shard)
	if err != nil {
		return persist.Frontier{}, err
	}
	defer reader.Close()
	return reader.Since(), nil
}

func milliseconds(ms uint64) model.Ts { return model.ComposeTs(int64(ms), 0) }
