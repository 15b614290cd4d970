package frontend_test

import (
	"context"
	"fmt"
	"strings"
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

func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() {
		defer w.Stop()
		h := w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		f := frontend.New(h, client, frontend.Config{})
		results, err := f.Execute(context.Background(), `
			CREATE TABLE t (k STRING, v BIGINT, PRIMARY KEY (k));
			INSERT INTO t VALUES ('a', 1), ('b', 2), ('a', 3);
			SELECT * FROM t ORDER BY v DESC LIMIT 5`)
		for _, r := range results {
			fmt.Println(r)
		}
		fmt.Println(err)
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// created table t
	// inserted 3 rows
	// k | v
	// a | 3
	// b | 2
	// <nil>
}

// TestWritesAreDoneOnceInOrder: a write under a stamp that is not later than the last does nothing,
// whichever frontend it comes to.
func TestWritesAreDoneOnceInOrder(t *testing.T) {
	inWorld(t, func(w *sim.World, client *persist.Client) {
		ctx := context.Background()
		one, two := frontend.New(w.Host(), client, frontend.Config{}), frontend.New(w.Host(), client, frontend.Config{})
		_, err := one.Execute(ctx, "CREATE TABLE t (k STRING, v BIGINT, PRIMARY KEY (k))")
		require.NoError(t, err)
		def, err := two.Table(ctx, catalog.Public("t"))
		require.NoError(t, err)
		write := func(f *frontend.Frontend, epoch, n uint64, v int64) {
			require.NoError(t, f.Write(ctx, flow.WriteRequest{
				Table: def.ID, Stamp: flow.Stamp{Writer: "node", Epoch: epoch, N: n},
				Requests: []flow.DiffRequest{{Rows: []dataflow.Row{dataflow.Pack(dataflow.String("a"), dataflow.Int(v))}}},
			}))
		}
		holds := func(v int64) {
			rows, _, err := one.Snapshot(ctx, def.ID)
			require.NoError(t, err)
			require.Equal(t, []dataflow.RowCount{{Row: dataflow.Pack(dataflow.String("a"), dataflow.Int(v)), Count: 1}}, rows)
		}
		write(one, 1, 1, 10)
		write(two, 1, 2, 20)
		write(one, 1, 1, 10) // repeated, and late
		write(one, 1, 2, 20)
		holds(20)
		write(two, 2, 1, 30) // the next life begins to count anew
		write(one, 1, 3, 40) // of the life before
		holds(30)
		gone := func(n uint64, v int64) {
			require.NoError(t, one.Write(ctx, flow.WriteRequest{Table: def.ID, Stamp: flow.Stamp{Writer: "node", Epoch: 2, N: n},
				Requests: []flow.DiffRequest{{Delete: true, Whole: true, Rows: []dataflow.Row{dataflow.Pack(dataflow.String("a"), dataflow.Int(v))}}}}))
		}
		gone(2, 20) // it is not that row any more
		holds(30)
		gone(3, 30)
		rows, _, err := one.Snapshot(ctx, def.ID)
		require.NoError(t, err)
		require.Empty(t, rows)

		err = one.Write(ctx, flow.WriteRequest{Table: def.ID, Stamp: flow.Stamp{Writer: "node", Epoch: 2, N: 4},
			Requests: []flow.DiffRequest{{Rows: []dataflow.Row{dataflow.Pack(dataflow.Int(1))}}}})
		require.ErrorIs(t, err, flow.ErrInvalidInsert)
		err = one.Write(ctx, flow.WriteRequest{Table: 999})
		require.ErrorIs(t, err, flow.ErrTableNotFound)
	})
}

func TestErrorsAreDefiniteOrNot(t *testing.T) {
	inWorld(t, func(w *sim.World, client *persist.Client) {
		f := frontend.New(w.Host(), client, frontend.Config{Nodes: []string{"nowhere"}})
		for text, want := range map[string]error{
			"SELEC":                               frontend.ErrSyntax,
			"SELECT * FROM nothing":               frontend.ErrNotFound,
			"SELECT 1 FROM a, b":                  flow.ErrUnsupported,
			"SELECT 'a' + true":                   flow.ErrInvalidQuery,
			"DROP FLOW f":                         frontend.ErrNotFound,
			"CREATE FLOW f SINK TO s AS SELECT 1": flow.ErrInvalidQuery,
		} {
			_, err := f.Execute(context.Background(), text)
			require.ErrorIs(t, err, want, text)
			require.True(t, frontend.Definite(err), text)
		}
		_, err := f.Execute(context.Background(), "CREATE TABLE t (a BIGINT); CREATE FLOW f SINK TO s AS SELECT a FROM t")
		require.ErrorIs(t, err, frontend.ErrUnknown, "the node can't be reached")
		require.False(t, frontend.Definite(err))
	})
}

func BenchmarkInsert(b *testing.B) {
	b.ReportAllocs()
	inWorld(b, func(w *sim.World, client *persist.Client) {
		ctx := context.Background()
		f := frontend.New(w.Host(), client, frontend.Config{})
		if _, err := f.Execute(ctx, "CREATE TABLE t (k STRING, v BIGINT) WITH (append_mode = true)"); err != nil {
			w.Fail("benchmark", "%v", err)
		}
		text := "INSERT INTO t VALUES " + strings.Repeat("('a', 1), ", 99) + "('b', 2)"
		for b.Loop() {
			if _, err := f.Execute(ctx, text); err != nil {
				w.Fail("benchmark", "%v", err)
			}
		}
	})
}
