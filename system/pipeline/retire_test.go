package pipeline_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/pipeline"
)

// remains are how many blobs a key span's shard has left.
func remains(w *sim.World, span model.KeySpanID) (n int) {
	prefix := "blob/" + strings.ReplaceAll(string(pipeline.RawShard(span)), "/", "%2F") + "%2F"
	for name := range w.Node("blob").DiskFiles() {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

// Of a dropped key span's shard nothing is left but that it is closed, whichever processes died in between; and the
// source forgets the key span only then.
func TestDroppedSpansLeaveNothing(t *testing.T) {
	cfg := orders()
	cfg.Persist.ReaderLease = 20 * time.Second
	inWorld(t, 1, cfg, func(w *world) {
		ctx := context.Background()
		client := pipeline.Dial(w.Host(), cfg).Persist
		for id := model.KeySpanID(1); id < 4; id++ {
			for range 5 {
				w.arrives(w.commit())
			}
			require.Greater(t, remains(w.World, id), 1)
			held, err := client.OpenReader(ctx, pipeline.RawShard(id)) // of somebody who dies
			require.NoError(t, err)
			require.False(t, held.Since().IsEmpty())
			client.Close()
			client = pipeline.Dial(w.Host(), cfg).Persist
			at, err := w.writes.DropSpan(ctx, id)
			require.NoError(t, err)
			clear(w.orders)
			w.arrives(at)
			w.Node("mirror").Crash()
			w.Sleep(time.Second)
			var refused *persist.FinalizationError
			require.ErrorAs(t, client.Finalize(ctx, pipeline.RawShard(id)), &refused)
			require.False(t, refused.Since.IsEmpty(), "somebody holds it")
			spans, err := w.writes.Spans(ctx)
			require.NoError(t, err)
			require.Equal(t, []model.KeySpanID{id}, ids(spans), "the source still knows what is to be done")
			w.Node("mirror").Restart()
			w.Node("capture").Crash()
			w.Node("capture").Restart()
			w.Sleep(50 * time.Second)
			require.Equal(t, 1, remains(w.World, id), "the rollup of the tombstone")
			spans, err = w.writes.Spans(ctx)
			require.NoError(t, err)
			require.Empty(t, ids(spans))
			_, err = w.writes.AddSpan(ctx, id+1, "orders/", "orders0")
			require.NoError(t, err)
		}
		w.arrives(w.commit())
	})
}

func ids(spans source.Spans) (ids []model.KeySpanID) {
	for _, s := range spans.Spans {
		ids = append(ids, s.ID)
	}
	return ids
}

// A capture that is late finds a key span's shard closed, and takes it for written: the changefeed goes on.
func TestLateCaptures(t *testing.T) {
	inWorld(t, 1, orders(), func(w *world) {
		ctx, h := context.Background(), w.Host()
		client := pipeline.Dial(h, w.cfg).Persist
		sinks, err := pipeline.RawSinks(h, client)(ctx, w.cfg.Feed, model.ChangeFeedInfo{})
		require.NoError(t, err)
		late, base, err := sinks.Open(ctx, 7, 0)
		require.NoError(t, err)
		require.False(t, base)
		row := source.Row{Span: 7, Key: "orders/a", Value: "v", CommitTs: 5}
		n, err := late.Write(ctx, []source.Row{row}, 5)
		require.NoError(t, err)
		require.Equal(t, 1, n)

		writer, err := client.OpenWriter(ctx, pipeline.RawShard(7))
		require.NoError(t, err)
		require.NoError(t, writer.CompareAndAppend(ctx, nil, persist.At(6), persist.Empty()))
		row.CommitTs = 8
		n, err = late.Write(ctx, []source.Row{row}, 8)
		require.NoError(t, err)
		require.Zero(t, n)
		late.Close()
		late, base, err = sinks.Open(ctx, 7, 5)
		require.NoError(t, err)
		require.False(t, base, "nothing has to be read of it")
		n, err = late.Write(ctx, []source.Row{row}, 8)
		require.NoError(t, err)
		require.Zero(t, n)
		late.Close()
	})
}
