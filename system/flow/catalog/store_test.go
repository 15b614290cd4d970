package catalog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/sql"
)

func inWorld(t testing.TB, body func(w *sim.World, client *persist.Client)) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		h := w.Host()
		body(w, persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{}))
	})
	require.NoError(t, w.Run())
}

var aTable = catalog.Table{
	Name: catalog.Public("t"), TimeIndex: catalog.NoColumn, PrimaryKey: []int{0},
	Columns: []catalog.Column{{Name: "k", Kind: dataflow.KindString}, {Name: "v", Kind: dataflow.KindInt64, Nullable: true, HasDefault: true, Default: dataflow.Int(7)}},
}

func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() {
		defer w.Stop()
		ctx, h := context.Background(), w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		store := catalog.OpenStore(h, client)
		t, err := store.CreateTable(ctx, aTable)
		fmt.Println(t.ID, err)
		_, err = catalog.OpenStore(h, client).CreateTable(ctx, aTable) // in another process
		fmt.Println(err)
		t, _ = store.Table(ctx, catalog.Public("t"))
		fmt.Println(t)
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// #1 <nil>
	// a table t exists already; drop it first, or say IF NOT EXISTS
	// CREATE TABLE t (k STRING NOT NULL, v INT64 DEFAULT 7, PRIMARY KEY (k))
}

func TestFlowsAreReplacedUnderTheirNumber(t *testing.T) {
	inWorld(t, func(w *sim.World, client *persist.Client) {
		ctx := context.Background()
		one, two := catalog.OpenStore(w.Host(), client), catalog.OpenStore(w.Host(), client)
		name := catalog.Public("f")
		put := func(s *catalog.Store, query string) (*catalog.Flow, *catalog.Flow) {
			f, old, err := s.PutFlow(ctx, name, func(*catalog.Flow) (*catalog.Flow, error) {
				return &catalog.Flow{Name: name, Query: query, ExpireAfter: catalog.NoExpiry}, nil
			})
			require.NoError(t, err)
			return f, old
		}
		first, old := put(one, "SELECT 1")
		require.Nil(t, old)
		second, old := put(two, "SELECT 2")
		require.Equal(t, first, old)
		require.Equal(t, first.ID, second.ID)
		require.Greater(t, second.Revision, first.Revision)

		require.NoError(t, one.UndoFlow(ctx, second, first))
		again, err := two.Flow(ctx, name)
		require.NoError(t, err)
		require.Equal(t, "SELECT 1", again.Query)
		require.Greater(t, again.Revision, second.Revision, "who has the second sees that it is not in force any more")

		require.NoError(t, one.UndoFlow(ctx, second, nil), "somebody has changed it since")
		_, err = two.Flow(ctx, name)
		require.NoError(t, err)

		dropped, revision, err := two.DropFlow(ctx, name)
		require.NoError(t, err)
		require.Equal(t, first.ID, dropped.ID)
		third, _ := put(one, "SELECT 3")
		require.Greater(t, uint64(third.ID), revision, "numbers are not used again")

		_, _, err = two.DropFlow(ctx, catalog.Public("nothing"))
		var missing *catalog.NotFoundError
		require.ErrorAs(t, err, &missing)
	})
}

// TestAFlowKnowsTheSinksThatItHad, as long as they are tables.
func TestAFlowKnowsTheSinksThatItHad(t *testing.T) {
	inWorld(t, func(w *sim.World, client *persist.Client) {
		ctx := context.Background()
		store := catalog.OpenStore(w.Host(), client)
		name := catalog.Public("f")
		put := func(sink string) []catalog.Name {
			f, _, err := store.PutFlow(ctx, name, func(*catalog.Flow) (*catalog.Flow, error) {
				return &catalog.Flow{Name: name, Sink: catalog.Public(sink), ExpireAfter: catalog.NoExpiry}, nil
			})
			require.NoError(t, err)
			return f.Earlier
		}
		for _, sink := range []string{"x", "y", "z"} {
			table := aTable
			table.Name = catalog.Public(sink)
			_, err := store.CreateTable(ctx, table)
			require.NoError(t, err)
		}
		require.Empty(t, put("x"))
		require.Empty(t, put("x"))
		require.Equal(t, []catalog.Name{catalog.Public("x")}, put("y"))
		require.Equal(t, []catalog.Name{catalog.Public("x"), catalog.Public("y")}, put("z"))
		require.Equal(t, []catalog.Name{catalog.Public("y"), catalog.Public("z")}, put("x"))
		_, err := store.DropTable(ctx, catalog.Public("y"))
		require.NoError(t, err)
		require.Equal(t, []catalog.Name{catalog.Public("z"), catalog.Public("x")}, put("new"))
	})
}

func TestLivesAreNumbered(t *testing.T) {
	inWorld(t, func(w *sim.World, client *persist.Client) {
		last := uint64(0)
		for range 5 {
			epoch, err := catalog.OpenStore(w.Host(), client).Enlist(context.Background(), "node")
			require.NoError(t, err)
			require.Greater(t, epoch, last)
			last = epoch
		}
	})
}

func BenchmarkTable(b *testing.B) {
	b.ReportAllocs()
	inWorld(b, func(w *sim.World, client *persist.Client) {
		ctx := context.Background()
		store := catalog.OpenStore(w.Host(), client)
		if _, err := store.CreateTable(ctx, aTable); err != nil {
			w.Fail("benchmark", "%v", err)
		}
		for b.Loop() {
			if _, err := store.Table(ctx, aTable.Name); err != nil {
				w.Fail("benchmark", "%v", err)
			}
		}
	})
}

// TestDefinitionsAreStatements: what SHOW tells can be executed.
func TestDefinitionsAreStatements(t *testing.T) {
	for _, text := range []string{
		"CREATE TABLE t (a INT64)",
		"CREATE TABLE x.`we ird` (`a b` STRING NOT NULL DEFAULT 'it''s', `select` FLOAT64 DEFAULT -1.5, `q``q` BOOL DEFAULT false, PRIMARY KEY (`a b`, `select`))",
		"CREATE TABLE c.s.t (ts TIMESTAMP NOT NULL DEFAULT now() TIME INDEX, i INTERVAL DEFAULT INTERVAL '1000 ms', u TIMESTAMP DEFAULT '2000-01-02T03:04:05.006Z') WITH (append_mode = true)",
	} {
		s, err := sql.ParseStatement(text)
		require.NoError(t, err, text)
		table, err := planner.Table(s.(*sql.CreateTable))
		require.NoError(t, err, text)
		require.Equal(t, text, table.String())
	}
	flow := catalog.Flow{Name: catalog.Public("order"), Sink: catalog.Public("s s"), ExpireAfter: 60, Comment: "it's", Query: "SELECT a FROM t"}
	require.Equal(t, "CREATE FLOW `order` SINK TO `s s` EXPIRE AFTER 60 COMMENT 'it''s' AS SELECT a FROM t", flow.String())
	s, err := sql.ParseStatement(flow.String())
	require.NoError(t, err)
	require.Equal(t, flow.String(), s.String())
}
