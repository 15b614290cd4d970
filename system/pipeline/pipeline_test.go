package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/pipeline"
)

// world is a pipeline of orders and who uses it.
type world struct {
	*sim.World
	t      *testing.T
	cfg    pipeline.Config
	writes *source.Client
	peeks  *pipeline.Client
	orders map[int]order
	txns   int
}

type order struct {
	customer string
	amount   int64
}

// inWorld runs a test in a world with a pipeline.
func inWorld(t *testing.T, seed uint64, cfg pipeline.Config, test func(w *world)) {
	t.Helper()
	s := sim.New(sim.Config{Seed: seed, MaxTime: 10 * time.Minute})
	defer s.Close()
	deploy(s, cfg)
	h := s.Host()
	w := &world{World: s, t: t, cfg: cfg, writes: pipeline.DialSource(h, cfg), peeks: pipeline.NewClient(h, cfg), orders: map[int]order{}}
	done := false
	s.Go("test", func() {
		defer s.Stop()
		setUp(s, cfg, w.writes)
		test(w)
		done = true
	})
	require.NoError(t, s.Run())
	require.True(t, done)
}

// commit changes a few orders, and returns when.
func (w *world) commit() model.Ts {
	w.txns++
	var mutations []source.Mutation
	for k := range 3 {
		id := (w.txns*7 + k*3) % 20
		key := fmt.Sprintf("orders/%d", id)
		if w.txns%3 == 0 && k == 0 {
			mutations = append(mutations, source.Delete(key))
			delete(w.orders, id)
			continue
		}
		o := order{fmt.Sprintf("customer %d", (w.txns+k)%4), int64(w.txns)}
		mutations = append(mutations, source.Put(key, pipeline.EncodeValue(dataflow.String(o.customer), dataflow.Int(o.amount))))
		w.orders[id] = o
	}
	for {
		at, err := w.writes.Commit(context.Background(), fmt.Sprint(w.txns), mutations)
		if err == nil {
			return at
		}
		w.Sleep(50 * time.Millisecond)
	}
}

// total are the sums by customer that there must be.
func (w *world) total() map[string]int64 {
	sums := map[string]int64{}
	for _, o := range w.orders {
		sums[o.customer] += o.amount
	}
	return sums
}

// view reads a view that is complete up to a ts.
func (w *world) view(name string, at model.Ts) map[string]int64 {
	answer, err := w.peeks.Peek(context.Background(), name, 0)
	for err != nil || answer.At < at {
		w.Sleep(100 * time.Millisecond)
		answer, err = w.peeks.Peek(context.Background(), name, 0)
	}
	sums := map[string]int64{}
	for _, r := range answer.Rows {
		data, err := r.Row.Unpack()
		require.NoError(w.t, err)
		require.EqualValues(w.t, 1, r.Count)
		sums[data[0].Text()] = data[1].Int()
	}
	return sums
}

// arrives requires both engines to come to what the source has.
func (w *world) arrives(at model.Ts) {
	w.t.Helper()
	require.Equal(w.t, w.total(), w.view("spent", at))
	require.Equal(w.t, w.total(), w.view("reported", at))
}

// Whatever process dies, and whenever, what is served is what the source has.
func TestAnyProcessMayDie(t *testing.T) {
	cfg := orders()
	cfg.SessionTTL, cfg.Capture.SessionTTL = 2*time.Second, 2*time.Second
	for i, victim := range []string{"blob", "consensus", "coord", "source", "capture", "frontend", "flow", "mirror", "controller", "replica"} {
		inWorld(t, uint64(i), cfg, func(w *world) {
			for round := range 6 {
				w.commit()
				w.Sleep(time.Duration(37+round*53) * time.Millisecond)
				w.Node(victim).Crash()
				at := w.commitWhileDown(victim)
				w.Sleep(100 * time.Millisecond)
				w.Node(victim).Restart()
				if round%3 == 2 {
					w.arrives(at)
				}
			}
		})
	}
}

func (w *world) commitWhileDown(victim string) model.Ts {
	if victim == "source" {
		w.Node(victim).Restart()
	}
	return w.commit()
}

// A mirror that was cut off from the coordination service goes on for a while beside the one that took over, and does
// no harm; nor does a controller.
func TestLeadersThatDoNotKnow(t *testing.T) {
	cfg := orders()
	cfg.SessionTTL = 2 * time.Second
	cfg.Topology.Mirrors, cfg.Topology.Controllers = []string{"mirror-1", "mirror-2"}, []string{"controller-1", "controller-2"}
	inWorld(t, 1, cfg, func(w *world) {
		w.arrives(w.commit())
		for range 2 {
			for _, pair := range [][]string{cfg.Topology.Mirrors, cfg.Topology.Controllers} {
				for _, name := range pair {
					n := w.Node(name)
					n.SetClock(n.ClockOffset(), -800_000) // it does not notice for a while
					heal := w.AddRule(sim.Rule{Key: name, From: []string{name}, To: []string{"coord"}, Both: true, Drop: true})
					for range 20 {
						w.commit()
						w.Sleep(200 * time.Millisecond)
					}
					w.arrives(w.commit())
					heal()
					n.SetClock(n.ClockOffset(), 0)
				}
			}
		}
		w.arrives(w.commit())
	})
}

// Key spans come and go, and their rows with them.
func TestSpansComeAndGo(t *testing.T) {
	cfg := orders()
	inWorld(t, 1, cfg, func(w *world) {
		w.arrives(w.commit())
		at, err := w.writes.DropSpan(context.Background(), 1)
		require.NoError(t, err)
		clear(w.orders)
		w.arrives(at)
		_, err = w.writes.AddSpan(context.Background(), 2, "orders/", "orders0")
		require.NoError(t, err)
		w.arrives(w.commit())
	})
}

func TestPeek(t *testing.T) {
	cfg := orders()
	cfg.Retention = 5000
	inWorld(t, 1, cfg, func(w *world) {
		first := w.commit()
		w.arrives(first)
		before := w.total()
		second := w.commit()
		w.arrives(second)
		peek := func(view string, at model.Ts) (map[string]int64, error) {
			answer, err := w.peeks.Peek(context.Background(), view, at)
			sums := map[string]int64{}
			for _, r := range answer.Rows {
				data, _ := r.Row.Unpack()
				sums[data[0].Text()] = data[1].Int()
			}
			return sums, err
		}
		sums, err := peek("spent", second-1)
		require.NoError(t, err)
		require.Equal(t, before, sums, "what there was before the second transaction")
		_, err = peek("nothing", 0)
		require.ErrorIs(t, err, pipeline.ErrUnknownView)
		_, err = peek("spent", second+model.ComposeTs(time.Hour.Milliseconds(), 0))
		require.ErrorIs(t, err, pipeline.ErrUnavailable)
		w.Sleep(40 * time.Second)
		w.arrives(w.commit())
		_, err = peek("spent", first)
		require.ErrorIs(t, err, pipeline.ErrNotReadable)
	})
}

func TestSubscribe(t *testing.T) {
	cfg := orders()
	cfg.Topology.Controllers = nil
	s := sim.New(sim.Config{Seed: 1, MaxTime: 10 * time.Minute})
	defer s.Close()
	deploy(s, cfg)
	cfg.Topology.Controllers = []string{"controller"}
	var c *pipeline.Controller
	s.NewNode("controller", func(h host.Host) {
		var err error
		c, err = pipeline.StartController(h, cfg, pipeline.Dial(h, cfg))
		require.NoError(t, err)
	})
	s.Go("test", func() {
		defer s.Stop()
		w := &world{World: s, t: t, cfg: cfg, writes: pipeline.DialSource(s.Host(), cfg), peeks: pipeline.NewClient(s.Host(), cfg), orders: map[int]order{}}
		setUp(s, cfg, w.writes)
		ctx := context.Background()
		if c.Leading() == nil {
			_, err := c.Subscribe(ctx, "spent", true)
			require.ErrorIs(t, err, pipeline.ErrNotLeading)
		}
		w.arrives(w.commit())
		_, err := c.Subscribe(ctx, "nothing", true)
		require.ErrorIs(t, err, pipeline.ErrUnknownView)
		sub, err := c.Subscribe(ctx, "spent", true)
		require.NoError(t, err)
		at := w.commit()
		rows := map[dataflow.Row]int64{}
		for upper := uint64(0); upper <= at; {
			batch, err := sub.Next(ctx)
			require.NoError(t, err)
			upper, _ = batch.Upper.Time()
			for _, u := range batch.Updates {
				if rows[u.Row] += u.Diff; rows[u.Row] == 0 {
					delete(rows, u.Row)
				}
			}
		}
		want := map[dataflow.Row]int64{}
		for customer, sum := range w.total() {
			want[dataflow.Pack(dataflow.String(customer), dataflow.Int(sum))] = 1
		}
		require.Equal(t, want, rows)
		c.Drop(sub)
		_, err = sub.Next(ctx)
		require.Error(t, err)
	})
	require.NoError(t, s.Run())
}

// The collections about the pipeline itself say what is so, and go on doing so when another controller takes over.
func TestIntrospection(t *testing.T) {
	cfg := orders()
	cfg.SessionTTL = 2 * time.Second
	cfg.Topology.Controllers = []string{"controller-1", "controller-2"}
	inWorld(t, 1, cfg, func(w *world) {
		client := pipeline.Dial(w.Host(), cfg).Persist
		says := func(name string) []string {
			ctx, cancel := w.Host().Clock().WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			writer, err := client.OpenWriter(ctx, pipeline.SystemShard(name))
			require.NoError(t, err)
			reader, err := client.OpenReader(ctx, pipeline.SystemShard(name))
			require.NoError(t, err)
			defer reader.Close()
			upper, err := writer.FetchRecentUpper(ctx)
			require.NoError(t, err)
			at, _ := upper.Time()
			updates, err := reader.SnapshotAndFetch(ctx, max(at, 1)-1)
			require.NoError(t, err)
			var rows []string
			for _, u := range updates {
				rows = append(rows, dataflow.Row(u.Data).String())
			}
			return rows
		}
		for _, dies := range []string{"", "controller-1", "controller-2"} {
			if dies != "" {
				w.Node(dies).Crash()
			}
			w.arrives(w.commit())
			w.Sleep(15 * time.Second)
			require.Equal(t, []string{"('replica', 'connected', 'hydrated')"}, says(pipeline.SystemReplicas))
			require.Equal(t, []string{"('report', 'reports', 'flow')"}, says(pipeline.SystemFlows))
			require.Len(t, says(pipeline.SystemSpans), 1)
			if dies != "" {
				w.Node(dies).Restart()
			}
		}
	})
}

// Raw shards and tables do not keep history for ever.
func TestHistoryIsLetGo(t *testing.T) {
	cfg := orders()
	cfg.Persist = persist.Config{CriticalDowngradeInterval: time.Second, DowngradeInterval: time.Second}
	cfg.Retention = 1000
	inWorld(t, 1, cfg, func(w *world) {
		client := pipeline.Dial(w.Host(), cfg).Persist
		first := w.commit()
		for range 30 {
			w.arrives(w.commit())
			w.Sleep(time.Second)
		}
		for _, shard := range []persist.ShardID{pipeline.RawShard(1), pipeline.TableShard("orders"), pipeline.SinkShard("reports")} {
			reader, err := client.OpenReader(context.Background(), shard)
			require.NoError(t, err)
			require.False(t, reader.Since().LessEqual(first), "%s can be read from %v on", shard, reader.Since())
			reader.Close()
		}
	})
}

// unlucky are frontends with which a mirror's second write, the first with rows, comes to a bad end: nobody knows what
// became of it, and said again it is refused.
type unlucky struct {
	flow.Backend
	writes int
}

func (u *unlucky) Write(ctx context.Context, r flow.WriteRequest) error {
	switch u.writes++; u.writes {
	case 2:
		return context.DeadlineExceeded
	case 3:
		return flow.ErrInvalidInsert
	}
	return u.Backend.Write(ctx, r)
}

// A write that is given up leaves nobody behind who holds the table's history.
func TestHistoryIsLetGoAfterARefusedWrite(t *testing.T) {
	cfg := orders()
	cfg.Persist = persist.Config{CriticalDowngradeInterval: time.Second, DowngradeInterval: time.Second}
	cfg.Retention = 1000
	cfg.Topology.Mirrors = nil
	inWorld(t, 1, cfg, func(w *world) {
		var tables *unlucky
		w.NewNode("mirror", func(h host.Host) {
			links := pipeline.Dial(h, cfg)
			tables = &unlucky{Backend: links.Tables}
			links.Tables = tables
			_, err := pipeline.StartMirror(h, cfg, links)
			require.NoError(t, err)
		})
		first := w.commit()
		for range 30 {
			w.arrives(w.commit())
			w.Sleep(time.Second)
		}
		require.Greater(t, tables.writes, 3)
		reader, err := pipeline.Dial(w.Host(), cfg).Persist.OpenReader(context.Background(), pipeline.TableShard("orders"))
		require.NoError(t, err)
		defer reader.Close()
		require.False(t, reader.Since().LessEqual(first), "the table can be read from %v on, and its first transaction was at %d", reader.Since(), first)
	})
}

// Somebody else who reads a raw shard, and lets its history go, does not take it from a mirror that has not begun to.
func TestHistoryIsHeldForTheMirror(t *testing.T) {
	cfg := orders()
	cfg.Persist = persist.Config{CriticalDowngradeInterval: time.Second, DowngradeInterval: 100 * time.Millisecond}
	cfg.Topology.Mirrors = nil
	inWorld(t, 1, cfg, func(w *world) {
		ctx := context.Background()
		reader, err := pipeline.Dial(w.Host(), cfg).Persist.OpenReader(ctx, pipeline.RawShard(1))
		require.NoError(t, err)
		listener, err := reader.Listen(ctx, 0)
		require.NoError(t, err)
		for range 5 {
			for at := w.commit(); listener.Frontier().LessEqual(at); {
				_, err := listener.Next(ctx)
				require.NoError(t, err)
			}
			w.Sleep(time.Second)
		}
		w.NewNode("mirror", func(h host.Host) {
			_, err := pipeline.StartMirror(h, cfg, pipeline.Dial(h, cfg))
			require.NoError(t, err)
		})
		at := w.commit()
		ctx, cancel := w.Host().Clock().WithTimeout(ctx, time.Minute)
		defer cancel()
		for err = errors.New("not yet"); err != nil && ctx.Err() == nil; _, err = w.peeks.Peek(ctx, "spent", 0) {
			w.Sleep(100 * time.Millisecond)
		}
		require.NoError(t, err)
		w.arrives(at)
	})
}

// Tables and sinks that somebody drops are followed to those that take their place.
func TestTablesAreMadeAnew(t *testing.T) {
	cfg := orders()
	inWorld(t, 1, cfg, func(w *world) {
		w.arrives(w.commit())
		sql := pipeline.DialFrontends(w.Host(), cfg)
		execute := func(text string) {
			for {
				_, err := sql.Execute(context.Background(), text)
				if err == nil {
					return
				}
				w.Sleep(100 * time.Millisecond)
			}
		}
		execute("DROP FLOW IF EXISTS report; DROP TABLE IF EXISTS reports")
		w.Sleep(3 * time.Second)
		setUp(w.World, cfg, w.writes)
		w.arrives(w.commit())
		execute("DROP FLOW IF EXISTS report; DROP TABLE IF EXISTS reports; DROP TABLE IF EXISTS orders")
		w.Sleep(3 * time.Second)
		setUp(w.World, cfg, w.writes)
		w.arrives(w.commit())
	})
}

// dropping are frontends of which a mirror finds that a table was dropped just before it read it whole.
type dropping struct {
	flow.Backend
	t     *testing.T
	table string
	drop  func() // once
}

func (d *dropping) Snapshot(ctx context.Context, id catalog.TableID) ([]dataflow.RowCount, uint64, error) {
	if t, err := d.TableByID(ctx, id); err == nil && d.drop != nil && t.Name == catalog.Public(d.table) {
		d.drop()
		d.drop = nil
		_, err := d.TableByID(ctx, id) // else the frontend may answer from what it remembers
		require.Error(d.t, err)
	}
	return d.Backend.Snapshot(ctx, id)
}

// So they are if they are gone before the mirror has read them even once.
func TestTablesAreGoneAtTheFirstLook(t *testing.T) {
	for _, table := range []string{"orders", "reports"} {
		t.Run(table, func(t *testing.T) {
			cfg := orders()
			cfg.Topology.Mirrors = nil
			inWorld(t, 1, cfg, func(w *world) {
				sql := pipeline.DialFrontends(w.Host(), cfg)
				var tables *dropping
				w.NewNode("mirror", func(h host.Host) {
					links := pipeline.Dial(h, cfg)
					tables = &dropping{links.Tables, t, table, func() {
						_, err := sql.Execute(context.Background(), "DROP FLOW report; DROP TABLE reports; DROP TABLE IF EXISTS orders")
						require.NoError(t, err)
					}}
					links.Tables = tables
					_, err := pipeline.StartMirror(h, cfg, links)
					require.NoError(t, err)
				})
				w.commit()
				for tables == nil || tables.drop != nil {
					w.Sleep(100 * time.Millisecond)
				}
				setUp(w.World, cfg, w.writes)
				w.arrives(w.commit())
			})
		})
	}
}

// Setup may be called by several, and again.
func TestSetupTwice(t *testing.T) {
	cfg := orders()
	inWorld(t, 1, cfg, func(w *world) {
		setUp(w.World, cfg, w.writes)
		w.arrives(w.commit())
		wrong := cfg
		wrong.Views = append(slices.Clone(cfg.Views), cfg.Views[0])
		var bad *pipeline.ConfigError
		links := pipeline.Dial(w.Host(), cfg)
		require.ErrorAs(t, pipeline.Setup(context.Background(), w.Host(), wrong, links, pipeline.DialFrontends(w.Host(), cfg)), &bad)
		for _, start := range []func() error{
			func() error { _, err := pipeline.StartMirror(w.Host(), wrong, links); return err },
			func() error { _, err := pipeline.StartController(w.Host(), wrong, links); return err },
		} {
			require.ErrorAs(t, start(), &bad)
		}
		_, err := pipeline.Checkpoint(context.Background(), links.Coord, "nothing")
		require.True(t, errors.Is(err, pipeline.ErrNoCheckpoint))
		at, err := pipeline.Checkpoint(context.Background(), links.Coord, "pipeline")
		require.NoError(t, err)
		require.NotZero(t, at)
	})
}
