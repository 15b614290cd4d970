package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	computereplica "github.com/simrun-dev/simrun/system/compute/replica"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/pipeline"
)

// pipelineWatch tells the model what the system does: what the source commits, what captures know to be durable, what is
// published, and all that is in shards, which it follows with a reader of its own.
type pipelineWatch struct {
	s     *pipelineCluster
	model *models.Pipeline
	// attempts are how far key spans were when somebody last set out to publish a checkpoint.
	attempts map[model.Ts]models.PipelineProgress
	seen     coord.Revision // of the status, as far as it was looked at

	client *persist.Client
	// rawClient follows the key spans' shards, and followed are those spans.
	rawClient *persist.Client
	followed  map[model.KeySpanID]bool

	tables  map[string]*models.PipelineFollower
	results map[string]*models.PipelineSink
}

func newPipelineWatch(s *pipelineCluster) *pipelineWatch {
	w := &pipelineWatch{
		s: s, model: s.model, attempts: map[model.Ts]models.PipelineProgress{}, tables: map[string]*models.PipelineFollower{}, results: map[string]*models.PipelineSink{},
		followed: map[model.KeySpanID]bool{},
	}
	world := s.r.World
	cfg := s.persist()
	cfg.ReaderLease, cfg.HeartbeatInterval = s.slow(cfg.ReaderLease), s.slow(cfg.HeartbeatInterval) // no fault is to end its leases
	cfg.PollMin = s.slow(400 * time.Millisecond)                                                    // nobody waits for it
	w.client = s.c.onlooker(world.Host(), cfg)
	for _, t := range pipelineTables {
		world.Go("follow "+t.Name, func() { w.followTable(t.Name, pipeline.TableShard(t.Name)) })
	}
	cfg.PollMin, cfg.PollMax = s.slow(time.Second), s.slow(2*time.Second) // they are many
	w.rawClient = s.c.onlooker(world.Host(), cfg)
	for _, v := range pipelineViews {
		if v.sink != "" {
			w.model.DefinedOn(v.Name, v.sink, sumsColumns, v.meaning)
			continue
		}
		w.model.Defined(v.Name, v.meaning)
		if v.Materialized {
			world.Go("follow "+v.Name, func() { w.followTable(v.Name, pipeline.ViewShard(v.Name)) })
		}
	}
	for _, f := range pipelineFlows {
		w.followSink(f)
	}
	w.followRoll(pipeline.SystemReplicas, s.cfg.Topology.Replicas)
	w.followRoll(pipeline.SystemFlows, []string{pipelineFlows[0].Name, pipelineFlows[1].Name})
	world.Go("look at checkpoints", w.poll)
	return w
}

func (w *pipelineWatch) now() models.Moment {
	return models.Moment{Event: w.s.r.World.Events(), NS: int64(w.s.r.World.Now())}
}

// begun tells whether everything that is followed has come to something.
func (w *pipelineWatch) begun() bool {
	for _, t := range pipelineTables {
		if w.tables[t.Name] == nil {
			return false
		}
	}
	for _, f := range pipelineFlows {
		if w.results[f.Sink].Mark() == 0 {
			return false
		}
	}
	return w.tables[joinedView] != nil && w.s.behind(0) == ""
}

// committed observes a commit of the source, as the source's store tells it.
func (w *pipelineWatch) committed(c source.Commit) {
	var changes []models.PipelineChange
	for _, row := range c.Rows {
		for i := range pipelineTables {
			t := &pipelineTables[i]
			r, err := t.Row(row.Key, row.Value)
			if row.Deleted {
				r, err = "", nil
			}
			if len(row.Key) > len(t.Prefix) && row.Key[:len(t.Prefix)] == t.Prefix && err == nil {
				changes = append(changes, models.PipelineChange{Table: dataflow.SourceID(t.Name), Key: row.Key, Row: r})
			}
		}
	}
	w.s.r.World.Op(fmt.Sprintf("the source commits %d rows at %d", len(c.Rows), c.Ts))
	w.model.Committed(c.Ts, changes, w.now())
	if c.Added != nil {
		w.model.SpanAdded(c.Added.ID, c.Ts)
		w.followSpan(c.Added.ID)
	}
	if c.Dropped != nil {
		w.model.SpanDropped(c.Dropped.ID, c.Ts)
	}
}

// sinks are sinks of captures, of which it is observed what they know to be durable.
func (w *pipelineWatch) sinks(open openSinks) openSinks {
	return func(ctx context.Context, id model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
		s, err := open(ctx, id, info)
		return &watchedSink{s, w}, err
	}
}

type openSinks = func(context.Context, model.ChangeFeedID, model.ChangeFeedInfo) (sink.Sink, error)

type watchedSink struct {
	sink.Sink
	w *pipelineWatch
}

func (s *watchedSink) Open(ctx context.Context, id model.KeySpanID, start model.Ts) (sink.Span, bool, error) {
	span, base, err := s.Sink.Open(ctx, id, start)
	return &watchedSpan{span, s.w, id}, base, err
}

type watchedSpan struct {
	sink.Span
	w  *pipelineWatch
	id model.KeySpanID
}

func (s *watchedSpan) Write(ctx context.Context, rows []source.Row, upTo model.Ts) (int, error) {
	n, err := s.Span.Write(ctx, rows, upTo)
	if err == nil {
		s.w.model.Durable(s.id, upTo)
	}
	return n, err
}

// watchedCoord is a capture's way to the coordination service, on which it is observed what is published.
type watchedCoord struct {
	coord.Client
	w *pipelineWatch
}

func (c *watchedCoord) Txn(ctx context.Context, t coord.Txn) (coord.TxnResult, error) {
	at, publishes := publishing(t)
	progress := c.w.model.Progress()
	if publishes {
		c.w.attempts[at] = progress
	}
	result, err := c.Client.Txn(ctx, t)
	if publishes && err == nil && result.Succeeded {
		c.w.published(at, result.Revision, progress)
	}
	return result, err
}

const pipelineFeed = "pipeline"

// publishing is the checkpoint that a transaction is to publish.
func publishing(t coord.Txn) (at model.Ts, publishes bool) {
	for _, op := range t.Then {
		if op.Kind == coord.OpPut && op.Keys.From == cdc.StatusKey(pipelineFeed) {
			return checkpointOf(op.Value), true
		}
	}
	return 0, false
}

func checkpointOf(value string) model.Ts {
	var status model.ChangeFeedStatus
	if err := json.Unmarshal([]byte(value), &status); err != nil {
		panic(err)
	}
	return status.CheckpointTs
}

func (w *pipelineWatch) published(at model.Ts, revision coord.Revision, progress models.PipelineProgress) {
	w.s.r.World.Op(fmt.Sprintf("checkpoint %d is published", at))
	w.model.Published(at, uint64(revision), progress, w.now())
	maps.DeleteFunc(w.attempts, func(ts model.Ts, _ models.PipelineProgress) bool { return ts < at })
}

// poll looks at what is published, for what nobody was told of.
func (w *pipelineWatch) poll() {
	for w.s.r.Phase() <= PhaseFinal {
		w.look()
		w.s.r.World.Sleep(w.s.slow(100 * time.Millisecond))
	}
}

func (w *pipelineWatch) look() {
	if !w.s.serving[coordNode] {
		return
	}
	kv, ok, err := coord.ReadKey(context.Background(), w.s.kv, cdc.StatusKey(pipelineFeed))
	if err != nil || !ok || kv.ModRevision <= w.seen {
		return
	}
	w.seen = kv.ModRevision
	at := checkpointOf(kv.Value)
	progress := w.attempts[at]
	if progress == nil {
		progress = w.model.Progress()
	}
	w.published(at, kv.ModRevision, progress)
}

// knows waits until a checkpoint that somebody acts on is known to have been published, in case they were faster. If
// it never was, the model will say so.
func (w *pipelineWatch) knows(at model.Ts) {
	pause := w.s.slow(50 * time.Millisecond)
	for waited := time.Duration(0); w.model.Checkpoint() < at && waited < 100*pause; waited += pause {
		if w.look(); w.model.Checkpoint() < at {
			w.s.r.World.Sleep(pause)
		}
	}
}

// followTable follows a shard that holds what a query of the source is.
func (w *pipelineWatch) followTable(name string, shard persist.ShardID) {
	asOf, listener := w.listen(w.client, shard)
	f := w.model.FollowTable(name, name, asOf)
	w.each(asOf, listener, shard, func(lower, upper model.Ts, updates []persist.Update) (goOn bool) {
		rows, _ := dataflow.FromShard(updates)
		w.knows(upper - 1)
		f.Advanced(lower, upper, rows, w.now())
		w.tables[name] = f
		return true
	})
}

// followSpan follows the shard that captures write a key span to, as long as the span is there.
func (w *pipelineWatch) followSpan(id model.KeySpanID) {
	if w.followed[id] {
		return // the source tells its log again when it starts
	}
	w.followed[id] = true
	start, end := pipelineSpan(id)
	table := &pipelineTables[slices.IndexFunc(pipelineTables, func(t pipeline.Table) bool { return strings.HasPrefix(start, t.Prefix) })]
	shard := pipeline.RawShard(id)
	w.model.DefinedSpan(string(shard), dataflow.SourceID(table.Name), start, end)
	w.s.r.World.Go("follow "+string(shard), func() {
		asOf, listener := w.listen(w.rawClient, shard)
		if listener == nil {
			return // it was dropped, and its shard closed, before there was anything to be seen
		}
		defer listener.Close()
		f := w.model.FollowSpan(string(shard), string(shard), asOf)
		w.each(asOf, listener, shard, func(lower, upper model.Ts, updates []persist.Update) (goOn bool) {
			rows := make([]dataflow.Update, len(updates))
			for i, u := range updates {
				row, err := rowOf(table, u.Data)
				if !w.model.Holds(models.OraclePipelineCheckpoint, err == nil, w.now(), "%s holds %q: %v", shard, u.Data, err) {
					return false
				}
				rows[i] = dataflow.Update{Row: row, Time: u.Time, Diff: u.Diff}
			}
			f.Advanced(lower, upper, rows, w.now())
			return !w.model.SpanEnds(id, upper)
		})
	})
}

// rowOf is the row of a table that a raw shard tells.
func rowOf(table *pipeline.Table, data string) (dataflow.Row, error) {
	key, value, err := sink.Decode(data)
	if err != nil {
		return "", err
	}
	return table.Row(key, value)
}

// each reads what a listener has from a ts on, as long as it is wanted. One that fails is a violation: it holds what it
// has not read.
func (w *pipelineWatch) each(lower model.Ts, listener *persist.Listener, shard persist.ShardID, advanced func(lower, upper model.Ts, updates []persist.Update) (goOn bool)) {
	asOf := lower
	for {
		event, err := listener.Next(context.Background())
		w.s.c.durable.check("follow "+string(shard), err)
		if !w.model.Holds(models.OraclePipelineReadable, err == nil, w.now(), "the reader of %s, whose history is held, can't go on: %v", shard, err) {
			return
		}
		upper, open := event.Progress.Time()
		if event.Snapshot {
			upper, open = asOf+1, true
		}
		if !open { // closed, with what there was before that
			upper = lower
			for _, u := range event.Updates {
				upper = max(upper, u.Time+1)
			}
		}
		if !advanced(lower, upper, event.Updates) || !open {
			return
		}
		lower = upper
	}
}

// read observes what somebody has read in a table's shard as of a ts.
func (w *pipelineWatch) read(table string, at model.Ts, updates []persist.Update) {
	rows := make([]dataflow.RowCount, len(updates))
	for i, u := range updates {
		rows[i] = dataflow.RowCount{Row: dataflow.Row(u.Data), Count: u.Diff}
	}
	w.model.Peeked(table, at, rows, w.now())
}

// listen begins to read a shard as of the last time that is there, when there is one. The listener is nil when the shard is
// closed.
func (w *pipelineWatch) listen(client *persist.Client, shard persist.ShardID) (model.Ts, *persist.Listener) {
	for {
		asOf, listener, err := subscribe(client, shard)
		if err == nil || errors.Is(err, errShardClosed) {
			return asOf, listener
		}
		w.s.r.World.Sleep(w.s.slow(300 * time.Millisecond))
	}
}

var errShardClosed = errors.New("the shard is closed")

func subscribe(client *persist.Client, shard persist.ShardID) (model.Ts, *persist.Listener, error) {
	ctx := context.Background()
	writer, err := client.OpenWriter(ctx, shard) // which leaves no trace as long as nothing is written
	if err != nil {
		return 0, nil, err
	}
	// A reader is a version of the shard, and its going another: there is none before there is something to read.
	if _, err := readable(ctx, writer); err != nil {
		return 0, nil, err
	}
	reader, err := client.OpenReader(ctx, shard)
	if err != nil {
		return 0, nil, err
	}
	asOf, err := readable(ctx, writer)
	if err != nil {
		reader.Close()
		return 0, nil, err
	}
	listener, err := reader.Subscribe(ctx, asOf)
	if err != nil {
		reader.Close()
	}
	return asOf, listener, err
}

// readable is the last time that a shard can be read as of. It fails with errShardClosed.
func readable(ctx context.Context, writer *persist.WriteHandle) (model.Ts, error) {
	upper, err := writer.FetchRecentUpper(ctx)
	if err != nil {
		return 0, err
	}
	at, open := upper.Time()
	switch {
	case !open:
		return 0, fmt.Errorf("%w: %s", errShardClosed, writer.Shard())
	case at == 0:
		return 0, fmt.Errorf("nothing is written to shard %s yet", writer.Shard())
	}
	return at - 1, nil
}

// followSink begins to follow a flow's sink.
func (w *pipelineWatch) followSink(f pipelineFlow) {
	query := f.Name
	w.model.Defined(query, f.meaning)
	asOf := slices.IndexFunc(f.Columns, func(c dataflow.Column) bool { return c.Name == pipeline.AsOfColumn })
	s := w.model.FollowSink(f.Sink, asOf, query)
	w.results[f.Sink] = s
	w.follow(pipeline.SinkShard(f.Sink), func(lower, upper model.Ts, rows []dataflow.Update) { s.Advanced(lower, upper, rows, w.now()) })
}

// followRoll begins to follow an introspection collection that has a row for each of some names.
func (w *pipelineWatch) followRoll(name string, names []string) {
	roll := w.model.FollowRoll(name, names)
	w.follow(pipeline.SystemShard(name), func(_, _ model.Ts, rows []dataflow.Update) { roll.Advanced(rows, w.now()) })
}

// follow follows a shard from its beginning. Nothing is at time 0.
func (w *pipelineWatch) follow(shard persist.ShardID, advanced func(lower, upper model.Ts, rows []dataflow.Update)) {
	w.s.r.World.Go("follow "+string(shard), func() {
		reader, err := w.client.OpenReader(context.Background(), shard)
		for ; err != nil; reader, err = w.client.OpenReader(context.Background(), shard) {
			w.s.r.World.Sleep(w.s.slow(300 * time.Millisecond))
		}
		listener, err := reader.Listen(context.Background(), 0)
		if !w.model.Holds(models.OraclePipelineReadable, err == nil, w.now(), "%s can't be read from its beginning: %v", shard, err) {
			return
		}
		lower := model.Ts(0)
		for {
			event, err := listener.Next(context.Background())
			w.s.c.durable.check("follow "+string(shard), err)
			if !w.model.Holds(models.OraclePipelineReadable, err == nil, w.now(), "the reader of %s, whose history is held, can't go on: %v", shard, err) {
				return
			}
			upper, open := event.Progress.Time()
			if !open {
				return
			}
			rows, _ := dataflow.FromShard(event.Updates)
			w.knows(upper - 1)
			advanced(lower, upper, rows)
			lower = upper
		}
	})
}

// replicaReads observes a replica.
type replicaReads struct {
	w    *pipelineWatch
	name string
}

// Observe implements computereplica.Observer.
func (o *replicaReads) Observe(e computereplica.Event) {
	switch e := e.(type) {
	case computereplica.Rendered:
		o.w.model.Holds(models.OraclePipelineReadable, true, o.w.now(), "")
	case computereplica.ReadRefused:
		// A peek may be refused, of a time that was not held for it.
		o.w.model.Holds(models.OraclePipelineReadable, e.ID == 0, o.w.now(), "%s can't read %s for c%d as of %d: its since is %v", o.name, e.From, e.ID, e.AsOf, e.Since)
	}
}
