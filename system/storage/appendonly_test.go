package storage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

func (b *bench) appendConfig() storage.AppendOnlyConfig {
	cfg := b.config()
	return storage.AppendOnlyConfig{ID: cfg.ID, Writer: cfg.Writer, OpenReader: cfg.OpenReader, Now: cfg.Now}
}

func (b *bench) spawnAppendOnly() *storage.Handle {
	task := storage.SpawnAppendOnly(b.h, b.appendConfig())
	b.settle()
	return task
}

func TestAppendOnly(t *testing.T) {
	withBench(t, func(b *bench) {
		b.foreignAppend(50, rows("p")...)
		task := b.spawnAppendOnly()
		require.Equal(t, persist.At(50), b.upper(), "it learns the upper, and leaves it")
		require.NoError(t, task.Write(background, add("q", "q")))
		require.Equal(t, persist.At(61), b.upper(), "written at 60, which is now")
		require.Equal(t, []string{"p:1"}, b.contents(59))
		require.Equal(t, []string{"p:1", "q:2"}, b.contents(60))
		require.NoError(t, task.Write(background, add("r"))) // the clock stands still
		require.Equal(t, persist.At(62), b.upper())
		b.foreignAppend(90, rows("s")...)
		require.NoError(t, task.Write(background, add("t"))) // the clock is behind
		require.Equal(t, persist.At(91), b.upper())
		require.Equal(t, []string{"p:1", "q:2", "r:1", "s:1", "t:1"}, b.latest(), "what others wrote stays")
		require.Equal(t, []string{"p:1", "q:2", "r:1", "s:1"}, b.contents(89))
		require.NoError(t, task.Write(background, storage.Append{}))
		task.Shutdown()
		require.ErrorIs(t, task.Wait(background), storage.ErrShutdown)
	})
}

// A stale upper, as a handle keeps it that was opened long ago, does no harm.
func TestAppendOnlyBeginsAtTheRealUpper(t *testing.T) {
	withBench(t, func(b *bench) {
		cfg := b.appendConfig()
		b.foreignAppend(500, rows("p")...)
		require.Equal(t, persist.At(0), cfg.Writer.Upper())
		before := b.consensus.cas
		task := storage.SpawnAppendOnly(b.h, cfg)
		require.NoError(t, task.Write(background, add("q")))
		require.Equal(t, before+1, b.consensus.cas)
		require.Equal(t, []string{"p:1", "q:1"}, b.contents(500))
	})
}

func TestAppendOnlyTicks(t *testing.T) {
	withBench(t, func(b *bench) {
		b.ms = 0
		b.spawnAppendOnly()
		b.w.Sleep(time.Second)
		first, _ := b.upper().Time()
		require.Positive(t, first)
		b.foreignAppend(0, rows("p")...)
		b.w.Sleep(3 * time.Second)
		upper, _ := b.upper().Time()
		require.Greater(t, upper, first+2000)
		require.Equal(t, []string{"p:1"}, b.latest())
		b.ms = 1 // time that goes back moves nothing
		before := b.upper()
		b.w.Sleep(3 * time.Second)
		require.Equal(t, before, b.upper())
	})
}

// Commands that arrive together are written together; those that follow wait a second.
func TestAppendOnlyBatches(t *testing.T) {
	withBench(t, func(b *bench) {
		cfg := b.appendConfig()
		cfg.BatchSize = 3
		a, task := newAnswers(t), storage.SpawnAppendOnly(b.h, cfg)
		b.settle()
		before := b.consensus.cas
		for i := range 7 {
			task.Send(add(fmt.Sprint("x", i)), a.to(fmt.Sprint(i)))
		}
		task.Send(add("nobody asks"), nil)
		for batch, want := range []int{3, 6, 8} {
			b.settle()
			require.Len(t, b.latest(), want)
			require.Equal(t, before+batch+1, b.consensus.cas)
			b.w.Sleep(950 * time.Millisecond)
		}
		for name := range a.got {
			require.NoError(t, a.only(name))
		}
	})
}

func TestAppendOnlyRefuses(t *testing.T) {
	withBench(t, func(b *bench) {
		a, task := newAnswers(t), b.spawnAppendOnly()
		task.Send(remove("x"), a.to("delete"))
		task.Send(storage.Append{Updates: []storage.RowDiff{{Row: "y", Diff: 1}, {Row: "x", Diff: -1}}}, a.to("negative"))
		task.Send(storage.Append{Updates: []storage.RowDiff{{Row: "x", Diff: 0}}}, a.to("zero"))
		task.Send(add("good"), a.to("good"))
		b.settle()
		b.w.Sleep(2 * time.Second)
		require.NoError(t, a.only("good"))
		require.Equal(t, []string{"good:1"}, b.latest())
		for name, diff := range map[string]int64{"delete": 0, "negative": -1, "zero": 0} {
			var invalid *storage.InvalidAppend
			require.ErrorAs(t, a.only(name), &invalid, name)
			require.Equal(t, diff, invalid.Diff)
			require.ErrorContains(t, invalid, "append-only")
		}
		task.Send(remove("x"), a.to("alone"))
		b.w.Sleep(2 * time.Second)
		require.Error(t, a.only("alone"))
	})
}

// When somebody always is faster, rows are given up and forgotten; the sender sends them again.
func TestAppendOnlyGivesUp(t *testing.T) {
	withBench(t, func(b *bench) {
		a, task := newAnswers(t), b.spawnAppendOnly()
		moved := 0
		b.beforeWrite = func() { b.foreignAppend(0); moved++ }
		respond := a.to("x")
		task.Send(add("x"), func(err error) { b.beforeWrite = nil; respond(err) })
		for len(a.got["x"]) == 0 {
			b.w.Sleep(100 * time.Millisecond)
		}
		var gaveUp *storage.GaveUp
		require.ErrorAs(t, a.only("x"), &gaveUp)
		require.GreaterOrEqual(t, moved, 21)
		require.True(t, persist.At(0).Before(gaveUp.Current) && !b.upper().Before(gaveUp.Current), "%v", gaveUp.Current)
		b.w.Sleep(5 * time.Second)
		require.Equal(t, []string{}, b.latest(), "not even later")
		require.NoError(t, task.Write(background, add("x")))
		require.Equal(t, []string{"x:1"}, b.latest())
	})
}

func TestAppendOnlyShutdownWhileRetrying(t *testing.T) {
	withBench(t, func(b *bench) {
		a, task := newAnswers(t), b.spawnAppendOnly()
		b.beforeWrite = func() { b.foreignAppend(0) }
		task.Send(add("x"), a.to("x"))
		b.w.Sleep(3 * time.Second)
		task.Send(add("y"), a.to("y"))
		require.Empty(t, a.got["x"])
		task.Shutdown()
		require.ErrorIs(t, task.Wait(background), storage.ErrShutdown)
		for _, name := range []string{"x", "y"} {
			var invalid *storage.IdentifierInvalid
			require.ErrorAs(t, a.only(name), &invalid)
		}
		b.beforeWrite = nil
		b.w.Sleep(5 * time.Second)
		require.Equal(t, []string{}, b.latest())
	})
}

func TestAppendOnlyEnds(t *testing.T) {
	lost := &persist.StoreError{Kind: persist.ErrIndeterminate, Err: errors.New("lost")}
	t.Run("abort", func(t *testing.T) {
		withBench(t, func(b *bench) {
			a, task := newAnswers(t), b.spawnAppendOnly()
			b.consensus.after = func() error { task.Abort(); return lost }
			task.Send(add("x"), a.to("x"))
			var aborted *storage.Aborted
			require.ErrorAs(t, task.Wait(background), &aborted)
			require.ErrorAs(t, a.only("x"), &aborted, "nobody knows")
			require.Equal(t, []string{"x:1"}, b.latest())
		})
	})
	t.Run("closed shard", func(t *testing.T) {
		withBench(t, func(b *bench) {
			a, task := newAnswers(t), b.spawnAppendOnly()
			require.NoError(t, b.foreign.CompareAndAppend(background, nil, b.upper(), persist.Empty()))
			task.Send(add("x"), a.to("x"))
			var closed *storage.ShardClosed
			require.ErrorAs(t, task.Wait(background), &closed)
			require.ErrorAs(t, a.only("x"), &closed)
			task = storage.SpawnAppendOnly(b.h, b.appendConfig())
			require.ErrorAs(t, task.Wait(background), &closed, "found at once")
		})
	})
	t.Run("closed sender", func(t *testing.T) {
		withBench(t, func(b *bench) {
			a, task := newAnswers(t), b.spawnAppendOnly()
			task.Send(add("x"), a.to("x"))
			task.CloseSend()
			require.ErrorIs(t, task.Wait(background), storage.ErrSenderDropped)
			require.NoError(t, a.only("x"))
		})
	})
	t.Run("damaged store", func(t *testing.T) {
		withBench(t, func(b *bench) {
			a, task := newAnswers(t), b.spawnAppendOnly()
			b.consensus.Consensus = brokenConsensus{b.consensus.Consensus, fmt.Errorf("disk: %w", persist.ErrCorrupt)}
			task.Send(add("x"), a.to("x"))
			require.ErrorIs(t, task.Wait(background), persist.ErrCorrupt)
			require.ErrorIs(t, a.only("x"), persist.ErrCorrupt)
		})
	})
	t.Run("without handles", func(t *testing.T) {
		require.Panics(t, func() { storage.SpawnAppendOnly(nil, storage.AppendOnlyConfig{}) })
	})
}

// The writer is forgotten by its shard while the answer to an append is awaited. Whether it is in
// can't be told then, and it is not tried again.
func TestAppendOnlyLeavesOpenWhatCantBeTold(t *testing.T) {
	withBench(t, func(b *bench) {
		client := persist.NewClient(b.h, b.blob, b.consensus, persist.Config{WriterLease: time.Second})
		writer, err := client.OpenWriter(background, shard)
		require.NoError(t, err)
		cfg := b.appendConfig()
		cfg.Writer, cfg.UpperTickInterval = writer, time.Hour
		task := storage.SpawnAppendOnly(b.h, cfg)
		b.settle()
		b.consensus.after = func() error {
			b.consensus.after = nil
			b.w.Sleep(5 * time.Second)
			b.foreignAppend(1000)
			b.w.Sleep(5 * time.Second)
			b.foreignAppend(2000) // its version no longer knows the writer
			return &persist.StoreError{Kind: persist.ErrIndeterminate, Err: errors.New("lost")}
		}
		// Without rows there is no blob by which it could be found.
		var uncertain *storage.Uncertain
		err = task.Write(background, storage.Append{})
		require.ErrorAs(t, err, &uncertain)
		require.ErrorIs(t, err, persist.ErrIndeterminate)
		require.NoError(t, task.Write(background, add("x")), "it goes on")
		require.Equal(t, []string{"x:1"}, b.latest())
		require.Positive(t, b.w.Sometimes()["storage: an append was left open"])
	})
}

// Rows grown old are taken out before the first append: those that are there when they are, once.
func TestAppendOnlyPrepare(t *testing.T) {
	withBench(t, func(b *bench) {
		b.foreignAppend(50, rows("old", "old", "young")...)
		cfg := b.appendConfig()
		var shown [][]storage.RowDiff
		cfg.Prepare = func(_ context.Context, contents []storage.RowDiff) ([]storage.RowDiff, error) {
			shown = append(shown, contents)
			if len(shown) < 4 {
				// Somebody writes between the look and the write.
				b.foreignAppend(0, rows("old")...)
			}
			var gone []storage.RowDiff
			for _, r := range contents {
				if r.Row == "old" {
					gone = append(gone, storage.RowDiff{Row: r.Row, Diff: -r.Diff})
				}
			}
			return gone, nil
		}
		task := storage.SpawnAppendOnly(b.h, cfg)
		require.NoError(t, task.Write(background, add("new"))) // queues up meanwhile
		require.Equal(t, []string{"new:1", "young:1"}, b.latest())
		require.Len(t, shown, 4)
		require.Equal(t, []storage.RowDiff{{Row: "old", Diff: 5}, {Row: "young", Diff: 1}}, shown[3])
		task.Shutdown()
		require.ErrorIs(t, task.Wait(background), storage.ErrShutdown)

		// Again and again: there is nothing more to take out.
		for range 3 {
			upper := b.upper()
			cfg := b.appendConfig()
			cfg.Prepare = func(_ context.Context, contents []storage.RowDiff) ([]storage.RowDiff, error) {
				require.Equal(t, []storage.RowDiff{{Row: "new", Diff: 1}, {Row: "young", Diff: 1}}, contents)
				return []storage.RowDiff{{Row: "x", Diff: 1}, {Row: "x", Diff: -1}}, nil
			}
			task := storage.SpawnAppendOnly(b.h, cfg)
			b.settle()
			require.Equal(t, upper, b.upper(), "nothing is written")
			task.Shutdown()
			require.ErrorIs(t, task.Wait(background), storage.ErrShutdown)
		}
		broken := errors.New("broken")
		cfg = b.appendConfig()
		cfg.Prepare = func(context.Context, []storage.RowDiff) ([]storage.RowDiff, error) { return nil, broken }
		require.ErrorIs(t, storage.SpawnAppendOnly(b.h, cfg).Wait(background), broken)
	})
}

func TestAppendOnlyReadOnly(t *testing.T) {
	withBench(t, func(b *bench) {
		b.foreignAppend(50, rows("p")...)
		cfg := b.appendConfig()
		cfg.ReadOnly = true
		prepared := 0
		cfg.Prepare = func(context.Context, []storage.RowDiff) ([]storage.RowDiff, error) { prepared++; return nil, nil }
		before := b.consensus.cas
		task := storage.SpawnAppendOnly(b.h, cfg)
		for range 3 {
			var readOnly *storage.ReadOnly
			require.ErrorAs(t, task.Write(background, add("early")), &readOnly)
			b.w.Sleep(2 * time.Second)
		}
		require.Equal(t, before, b.consensus.cas)
		require.Zero(t, prepared)
		task.AllowWrites()
		task.AllowWrites()
		require.NoError(t, task.Write(background, add("late")))
		require.Equal(t, 1, prepared)
		require.Equal(t, []string{"late:1", "p:1"}, b.latest())
	})
}
