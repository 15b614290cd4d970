package persist_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// built is a batch in [from, to).
func built(t *testing.T, writer *persist.WriteHandle, from, to uint64, updates ...persist.Update) *persist.Batch {
	builder := writer.NewBatch(at(from))
	require.NoError(t, builder.Add(background, updates...))
	b, err := builder.Finish(background, at(to))
	require.NoError(t, err)
	require.Equal(t, at(from), b.Lower())
	require.Equal(t, at(to), b.Upper())
	return b
}

func TestBatchBuilder(t *testing.T) {
	withFixture(t, persist.Config{PartUpdates: 3}, func(f *fixture) {
		var rows []persist.Update
		for i := range uint64(20) {
			rows = append(rows, update("x", i, 1))
		}
		b := built(f.t, f.writer, 0, 20, rows...)
		require.Equal(t, 20, b.Updates())
		require.Equal(t, 7, f.blobs(), "parts of three")
		require.NoError(t, f.writer.CompareAndAppendBatch(background, []*persist.Batch{b}, at(0), at(20), true))
		got, err := f.reader.SnapshotAndFetch(background, 19)
		require.NoError(t, err)
		require.Equal(t, []persist.Update{update("x", 19, 20)}, got)

		empty := built(f.t, f.writer, 20, 25, update("x", 21, 1), update("x", 21, -1))
		require.Zero(t, empty.Updates())
		require.Equal(t, 7, f.blobs())

		builder := f.writer.NewBatch(at(5))
		require.ErrorIs(t, builder.Add(background, update("y", 5, 1), update("y", 4, 1)), persist.ErrUpdateNotBeyondLower)
		require.NoError(t, builder.Add(background, update("y", 5, 1), update("y", 8, 1), update("y", 6, 1), update("y", 7, 1)))
		_, err = builder.Finish(background, at(4))
		require.ErrorIs(t, err, persist.ErrInvalidBounds)
		_, err = builder.Finish(background, at(8))
		require.ErrorIs(t, err, persist.ErrUpdateBeyondUpper)
		b, err = builder.Finish(background, at(9))
		require.NoError(t, err, "a failed call can be mended")
		require.Equal(t, 4, b.Updates())
		require.ErrorIs(t, builder.Add(background, update("y", 5, 1)), persist.ErrBatchConsumed)
		require.Equal(t, 9, f.blobs())
		b.Discard()
		b.Discard()
		require.ErrorIs(t, f.writer.CompareAndAppendBatch(background, []*persist.Batch{b}, at(20), at(21), false), persist.ErrBatchConsumed)
		if f.w.Seed()%2 == 0 { // without Buggify
			require.Equal(t, 7, f.blobs())
		}
		require.ErrorIs(t, f.writer.NewBatch(persist.Empty()).Add(background), persist.ErrClosedLower)
		ctx, cancel := host.WithCancel(f.w.Host(), background)
		cancel()
		builder = f.writer.NewBatch(at(0))
		require.NoError(t, builder.Add(ctx, update("y", 5, 1)))
		_, err = builder.Finish(ctx, at(9))
		require.ErrorIs(t, err, persist.ErrDeterminate)
		require.ErrorIs(t, err, context.Canceled)
		builder.Discard()
		_, err = builder.Finish(background, at(9))
		require.ErrorIs(t, err, persist.ErrBatchConsumed)
	})
}

func TestCompareAndAppendBatch(t *testing.T) {
	withFixture(t, persist.Config{}, func(f *fixture) {
		a := built(t, f.writer, 0, 10, update("a", 0, 1), update("a", 9, 1), update("both", 5, 1))
		b := built(t, f.writer, 2, 6, update("b", 2, 1), update("both", 5, 1))
		appendBatches := func(from, to uint64, enforce bool, batches ...*persist.Batch) error {
			return f.writer.CompareAndAppendBatch(background, batches, at(from), at(to), enforce)
		}
		var mismatch *persist.UpperMismatch
		require.ErrorIs(t, appendBatches(0, 10, true, a, b), persist.ErrBatchBounds, "b knows nothing before 2")
		require.ErrorIs(t, appendBatches(2, 7, true, a, b), persist.ErrBatchBounds, "nor from 6 on")
		require.ErrorIs(t, appendBatches(5, 5, true, a), persist.ErrEmptyInterval)
		require.ErrorIs(t, appendBatches(5, 4, true, a), persist.ErrInvalidBounds)
		require.ErrorIs(t, f.writer.CompareAndAppendBatch(background, nil, persist.Empty(), persist.Empty(), true), persist.ErrClosedLower)
		require.ErrorAs(t, appendBatches(2, 6, true, a, b), &mismatch)
		require.Equal(t, at(0), mismatch.Current)

		require.NoError(t, appendBatches(0, 3, false), "without batches it moves the upper")
		require.NoError(t, appendBatches(3, 6, true, a, b))
		for range 2 {
			require.ErrorIs(t, appendBatches(6, 10, true, a), persist.ErrBatchConsumed)
		}
		got, err := f.reader.SnapshotAndFetch(background, 5)
		require.NoError(t, err)
		require.Equal(t, []persist.Update{update("both", 5, 2)}, got, "what lies outside is not there")

		c, d := built(t, f.writer, 0, 8, update("c", 7, 1), update("early", 1, 1)), built(t, f.writer, 8, 9, update("d", 8, 1))
		require.NoError(t, appendBatches(6, 20, false, c, d), "batches that meet")
		got, err = f.reader.SnapshotAndFetch(background, 19)
		require.NoError(t, err)
		require.Equal(t, []persist.Update{update("both", 19, 2), update("c", 19, 1), update("d", 19, 1)}, got)

		e := built(t, f.writer, 20, 30, update("e", 20, 1))
		require.ErrorIs(t, appendBatches(20, 30, true, e, e), persist.ErrBatchConsumed, "twice in one call")
		elsewhere, err := f.stores.client(f.w.Host(), persist.Config{}).OpenWriter(background, "elsewhere")
		require.NoError(t, err)
		require.ErrorIs(t, elsewhere.CompareAndAppendBatch(background, []*persist.Batch{e}, at(20), at(30), true), persist.ErrForeignBatch)
	})
}

func TestAppend(t *testing.T) {
	rows := []persist.Update{update("a", 0, 1), update("b", 4, 1), update("c", 8, 1)}
	for _, c := range []struct {
		name         string
		lower, upper uint64
		written      []uint64 // uppers of the rival's appends of the same data
		current      uint64   // of a mismatch
		contents     []string
	}{
		{"all of it", 0, 9, nil, 0, []string{"a", "b", "c"}},
		{"what is left", 0, 9, []uint64{4}, 0, []string{"a", "b", "c"}},
		{"the last of it", 0, 9, []uint64{4, 8}, 0, []string{"a", "b", "c"}},
		{"nothing is left", 0, 9, []uint64{4, 9}, 0, []string{"a", "b", "c"}},
		{"others are ahead", 0, 9, []uint64{4, 9, 15}, 0, []string{"a", "b", "c"}},
		{"there is a gap", 4, 9, nil, 0, nil},
		{"there still is a gap", 4, 9, []uint64{2}, 2, []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			withFixture(t, persist.Config{}, func(f *fixture) {
				in := func(from, to uint64) (some []persist.Update) {
					for _, u := range rows {
						if u.Time >= from && u.Time < to {
							some = append(some, u)
						}
					}
					return some
				}
				from := uint64(0)
				for _, to := range c.written {
					require.NoError(t, f.rival.Append(background, in(from, to), at(from), at(to)))
					from = to
				}
				for range 2 { // the second time everything is there
					err := f.writer.Append(background, in(c.lower, c.upper), at(c.lower), at(c.upper))
					if from < c.lower {
						var mismatch *persist.UpperMismatch
						require.ErrorAs(t, err, &mismatch)
						require.Equal(t, &persist.UpperMismatch{Expected: at(c.lower), Current: at(from)}, mismatch)
						continue
					}
					require.NoError(t, err)
					require.Equal(t, max(from, c.upper), upperOf(f.writer.Upper()))
					require.Equal(t, f.writer.Upper(), f.writer.SharedUpper())
				}
				if c.contents != nil {
					require.Equal(t, c.contents, f.contents())
				}
				require.ErrorIs(t, f.writer.Append(background, rows, at(1), at(9)), persist.ErrUpdateNotBeyondLower)
				require.ErrorIs(t, f.writer.Append(background, rows, at(0), at(8)), persist.ErrUpdateBeyondUpper)
			})
		})
	}
}

// An append whose answer was lost, and that comes back to find its range written, succeeds. A
// batch whose fate is unknown can't be used again.
func TestAppendOfUnknownOutcome(t *testing.T) {
	withFixture(t, persist.Config{}, func(f *fixture) {
		f.script.cas = append(f.script.cas, after(lostReply, func() { f.rivalAppends(10, 20) }))
		require.NoError(t, f.writer.Append(background, []persist.Update{update("mine", 0, 1)}, at(0), at(10)))
		require.Equal(t, []string{"mine", "rival 10"}, f.contents())

		b := built(t, f.writer, 20, 30, update("open", 20, 1))
		ctx, cancel := host.WithCancel(f.w.Host(), background)
		f.script.cas = append(f.script.cas, after(lostReply, cancel))
		err := f.writer.CompareAndAppendBatch(ctx, []*persist.Batch{b}, at(20), at(30), true)
		require.ErrorIs(t, err, persist.ErrIndeterminate)
		b.Discard()
		require.ErrorIs(t, f.writer.CompareAndAppendBatch(background, []*persist.Batch{b}, at(20), at(30), true), persist.ErrBatchConsumed)
		require.Equal(t, []string{"mine", "open", "rival 10"}, f.contents(), "it was not deleted")
	})
}

func TestClosedWriter(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		client, writer, _ := opened(t, w, inMemory(w), persist.Config{})
		writer.Close()
		w.Sleep(time.Second)
		require.ErrorIs(t, writer.CompareAndAppend(background, nil, at(0), at(1)), persist.ErrHandleClosed)
		other, err := client.OpenWriter(background, shard)
		require.NoError(t, err)
		require.NoError(t, other.CompareAndAppend(background, nil, at(0), at(1)))
	})
}
