package frontend_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/persist"
)

// Nothing is left of a dropped table, though the frontend that dropped it is gone, another one has the table in memory and
// somebody who died holds its shard. Who still writes to it is told that it is not there.
func TestDroppedTablesLeaveNothing(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		ctx, h := context.Background(), w.Host()
		blob, consensus := persist.NewMemBlob(h), persist.NewMemConsensus(h)
		client := func() *persist.Client {
			return persist.NewClient(h, blob, consensus, persist.Config{ReaderLease: 20 * time.Second})
		}
		first := client()
		one := frontend.New(h, first, frontend.Config{})
		two := frontend.New(h, client(), frontend.Config{SweepInterval: time.Second})
		defs := catalog.OpenStore(h, client())
		_, err := one.Execute(ctx, "CREATE TABLE t (k STRING, v BIGINT, PRIMARY KEY (k)); INSERT INTO t VALUES ('a', 1), ('b', 2)")
		require.NoError(t, err)
		def, err := two.Table(ctx, catalog.Public("t"))
		require.NoError(t, err)
		rows, _, err := two.Snapshot(ctx, def.ID)
		require.NoError(t, err)
		require.Len(t, rows, 2)
		dead := client()
		_, err = dead.OpenReader(ctx, frontend.Shard(def.ID))
		require.NoError(t, err)
		dead.Close()

		_, err = one.Execute(ctx, "DROP TABLE t; CREATE TABLE t (k STRING, v BIGINT, PRIMARY KEY (k)); INSERT INTO t VALUES ('c', 3)")
		require.NoError(t, err)
		one.Close()
		first.Close() // the process is gone
		_, err = frontend.Serve(two, frontend.Port)
		require.NoError(t, err)
		w.Sleep(5 * time.Second)
		require.ErrorIs(t, two.Write(ctx, flow.WriteRequest{Table: def.ID, Stamp: flow.Stamp{Writer: "node", Epoch: 1, N: 1}}), flow.ErrTableNotFound)
		dropped, err := defs.Dropped(ctx)
		require.NoError(t, err)
		require.Equal(t, []catalog.TableID{def.ID}, dropped, "somebody holds it")

		w.Sleep(40 * time.Second)
		dropped, err = defs.Dropped(ctx)
		require.NoError(t, err)
		require.Empty(t, dropped)
		require.Empty(t, two.Tables(), "the old one is not kept in memory, and the new one was not asked for")
		left, err := blob.List(ctx, string(frontend.Shard(def.ID))+"/")
		require.NoError(t, err)
		require.Len(t, left, 1, "the rollup of the tombstone")
		require.NotContains(t, two.KnownTables(), def.ID)
		again, err := two.Table(ctx, catalog.Public("t"))
		require.NoError(t, err)
		require.Equal(t, []catalog.TableID{again.ID}, two.KnownTables())
		rows, _, err = two.Snapshot(ctx, again.ID)
		require.NoError(t, err)
		require.Equal(t, []dataflow.RowCount{{Row: dataflow.Pack(dataflow.String("c"), dataflow.Int(3)), Count: 1}}, rows)
	})
	require.NoError(t, w.Run())
}

// A statement that has found a table which is dropped and given up before it gets to the rows had no effect, and says so:
// its outcome is not unknown.
func TestStatementsAboutGivenUpTablesAreDefinite(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		ctx, h := context.Background(), w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		f := frontend.New(h, client, frontend.Config{})
		_, err := f.Execute(ctx, "CREATE TABLE t (k STRING, PRIMARY KEY (k))")
		require.NoError(t, err)
		def, err := f.Table(ctx, catalog.Public("t"))
		require.NoError(t, err)
		require.NoError(t, client.GiveUp(ctx, frontend.Shard(def.ID))) // as another frontend does, after a DROP TABLE there

		for _, statement := range []string{"INSERT INTO t VALUES ('a')", "DELETE FROM t WHERE k = 'a'", "SELECT * FROM t"} {
			_, err := f.Execute(ctx, statement)
			require.ErrorIs(t, err, frontend.ErrNotFound, statement)
			require.True(t, frontend.Definite(err), statement)
		}
	})
	require.NoError(t, w.Run())
}
