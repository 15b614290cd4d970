package scenarios

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// flowWatch knows the truth: it follows the shards of the source tables, from outside of the system, and
// tells the model what happens in them.
type flowWatch struct {
	c       *flowCluster
	h       host.Host
	client  *persist.Client
	catalog *catalog.Store
	mu      *host.Mutex
	tables  map[string]*watchedTable
	// earliest is when, in ms, a row of a group was first begun to be inserted, by the group's key in the
	// flows that expire.
	earliest map[string]int64
}

type watchedTable struct {
	id     catalog.TableID
	writer *persist.WriteHandle
	events *persist.Listener
}

func newFlowWatch(c *flowCluster) *flowWatch {
	h := c.r.World.Host()
	client := c.onlooker(h, clientConfig)
	return &flowWatch{
		c: c, h: h, client: client, catalog: catalog.OpenStore(h, client), mu: host.NewMutex(h, "watch"),
		tables: map[string]*watchedTable{}, earliest: map[string]int64{},
	}
}

// ask is a context for what is asked of the stores. Persist may dawdle here too, now and then.
func (w *flowWatch) ask() (context.Context, context.CancelFunc) {
	return w.h.Clock().WithTimeout(context.Background(), 6*opTimeout)
}

// open begins to follow a table, which nobody has changed yet.
func (w *flowWatch) open(name string) error {
	ctx, cancel := w.ask()
	defer cancel()
	t, err := w.catalog.Table(ctx, catalog.Public(name))
	if err != nil {
		return err
	}
	shard := frontend.Shard(t.ID)
	reader, err := w.client.OpenReader(ctx, shard)
	if err != nil {
		return err
	}
	events, err := reader.Listen(ctx, 0)
	if err != nil {
		return err
	}
	writer, err := w.client.OpenWriter(ctx, shard)
	if err != nil {
		return err
	}
	w.tables[name] = &watchedTable{t.ID, writer, events}
	return nil
}

// upper brings the model up to date with a source and returns the number of its next change.
func (w *flowWatch) upper(name string) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := w.ask()
	defer cancel()
	err := w.follow(ctx, name, w.tables[name])
	w.c.durable.check("watch", err)
	return w.c.model.Next(name), err
}

func (w *flowWatch) follow(ctx context.Context, name string, t *watchedTable) error {
	upper, err := t.writer.FetchRecentUpper(ctx)
	if err != nil {
		return err
	}
	for t.events.Frontier().Before(upper) {
		event, err := t.events.Next(ctx)
		if err != nil {
			return err
		}
		to, _ := event.Progress.Time()
		for next, i := w.c.model.Next(name), 0; next < to; next++ {
			var rows []models.Row
			for ; i < len(event.Updates) && event.Updates[i].Time == next; i++ {
				if u := event.Updates[i]; frontend.IsRow(u.Data) {
					rows = append(rows, models.Row{Data: u.Data, Diff: u.Diff})
				}
			}
			w.c.model.Changed(name, next, rows)
		}
	}
	return nil
}

// sinkState is what a sink holds, and the number of its next change. Changes that change no row, which are how a
// node keeps out what it has on its way, are none of its rows' business.
type sinkState struct {
	upper uint64
	rows  []models.Row // sorted
}

// sinkState reads a sink; ok is false if there is no such table.
func (w *flowWatch) sinkState(name string) (s sinkState, ok bool, err error) {
	ctx, cancel := w.ask()
	defer cancel()
	t, err := w.catalog.Table(ctx, catalog.Public(name))
	var missing *catalog.NotFoundError
	if errors.As(err, &missing) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	writer, err := w.client.OpenWriter(ctx, frontend.Shard(t.ID))
	if err != nil {
		return s, false, err
	}
	defer writer.Close()
	f, err := writer.FetchRecentUpper(ctx)
	open := false
	if s.upper, open = f.Time(); err != nil || s.upper == 0 {
		return s, open || err != nil, err // one that is closed has just been dropped
	}
	reader, err := w.client.OpenReader(ctx, frontend.Shard(t.ID))
	if err != nil {
		return s, false, err
	}
	defer reader.Close()
	updates, err := reader.SnapshotAndFetch(ctx, s.upper-1)
	for _, u := range updates {
		if frontend.IsRow(u.Data) {
			s.rows = append(s.rows, models.Row{Data: u.Data, Diff: u.Diff})
		}
	}
	slices.SortFunc(s.rows, func(a, b models.Row) int { return strings.Compare(a.Data, b.Data) })
	return s, true, err
}

// now is the true time in milliseconds.
func (w *flowWatch) now() int64 { return w.h.Clock().Now().UnixMilli() }

// group tells the state of a group of the flows that expire: by the start of its window, which is the
// first column of its key, and by when its rows were inserted.
func (w *flowWatch) group(key string) models.FlowGroup {
	data, err := dataflow.Row(key).Unpack()
	if err != nil || len(data) < 2 || data[0].IsNull() {
		return models.GroupFading
	}
	start := data[0].Int()
	if start >= w.now()+expireSlackMS-expireAfterMS {
		return models.GroupAlive
	}
	if at, ok := w.earliest[key]; !ok || start >= at-expireAfterMS-expireSlackMS {
		return models.GroupFading
	}
	return models.GroupExpired
}

// inserting notes that the insertion of a row of events begins.
func (w *flowWatch) inserting(k dataflow.Datum, ts int64) {
	start := ts - ((ts%4000)+4000)%4000
	key := string(dataflow.Pack(dataflow.Timestamp(start), k))
	if _, ok := w.earliest[key]; !ok {
		w.earliest[key] = w.now()
	}
}
