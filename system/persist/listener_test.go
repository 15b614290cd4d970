package persist_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// event is an Event as a test compares it: no updates is nil.
func event(progress persist.Frontier, updates ...persist.Update) persist.Event {
	return persist.Event{Updates: updates, Progress: progress}
}

func nextEvent(t *testing.T, l *persist.Listener) persist.Event {
	e, err := l.Next(background)
	require.NoError(t, err)
	require.Equal(t, e.Progress, l.Frontier())
	if len(e.Updates) == 0 {
		e.Updates = nil
	}
	return e
}

func TestListen(t *testing.T) {
	inWorld(t, 4, func(w *sim.World) {
		s := inMemory(w)
		_, writer, reader := opened(t, w, s, persist.Config{NoMaintenance: true})
		append := func(from, to uint64, updates ...persist.Update) {
			require.NoError(t, writer.CompareAndAppend(background, updates, at(from), at(to)))
		}
		append(0, 5, update("old", 1, 1), update("b", 3, 1), update("a", 3, 2), update("c", 4, 1))
		append(5, 9)
		append(9, 12, update("a", 9, -1))

		clone, err := reader.Clone(background)
		require.NoError(t, err)
		l, err := reader.Listen(background, 2)
		require.NoError(t, err)
		require.Equal(t, uint64(2), l.AsOf())
		require.Equal(t, shard, l.Shard())
		require.Equal(t, at(2), l.Since())
		require.Equal(t, event(at(5), update("a", 3, 2), update("b", 3, 1), update("c", 4, 1)), nextEvent(t, l))
		require.Equal(t, event(at(9)), nextEvent(t, l))
		require.Equal(t, event(at(12), update("a", 9, -1)), nextEvent(t, l))

		sub, err := clone.Subscribe(background, 3)
		require.NoError(t, err)
		require.Equal(t, persist.Event{
			Snapshot: true, Progress: at(3),
			Updates: []persist.Update{update("a", 3, 2), update("b", 3, 1), update("old", 3, 1)},
		}, nextEvent(t, sub))
		require.Equal(t, event(at(5), update("c", 4, 1)), nextEvent(t, sub))

		ctx, cancel := w.Host().Clock().WithTimeout(background, time.Second)
		defer cancel()
		_, err = l.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		w.Go("close", func() {
			w.Sleep(time.Second)
			require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("last", 1000, 1)}, at(12), persist.Empty()))
		})
		require.Equal(t, event(persist.Empty(), update("last", 1000, 1)), nextEvent(t, l))
		for range 2 {
			_, err = l.Next(background)
			require.ErrorIs(t, err, io.EOF)
		}
	})
}

func TestListenErrors(t *testing.T) {
	inWorld(t, 4, func(w *sim.World) {
		c, writer, reader := opened(t, w, inMemory(w), persist.Config{})
		require.NoError(t, writer.CompareAndAppend(background, nil, at(0), at(10)))
		_, err := reader.DowngradeSince(background, at(5))
		require.NoError(t, err)
		var since *persist.SinceError
		_, err = reader.Listen(background, 4)
		require.ErrorAs(t, err, &since)
		require.Equal(t, &persist.SinceError{AsOf: 4, Since: at(5)}, since)

		l, err := reader.Listen(background, 50)
		require.NoError(t, err, "beyond the upper")
		require.Equal(t, at(50), reader.Since())
		for name, call := range map[string]func() error{
			"listen":    func() error { _, err := reader.Listen(background, 60); return err },
			"subscribe": func() error { _, err := reader.Subscribe(background, 60); return err },
			"snapshot":  func() error { _, err := reader.Snapshot(background, 60); return err },
			"downgrade": func() error { _, err := reader.DowngradeSince(background, at(60)); return err },
			"maybe":     func() error { _, err := reader.MaybeDowngradeSince(background, at(60)); return err },
			"clone":     func() error { _, err := reader.Clone(background); return err },
		} {
			require.ErrorIs(t, call(), persist.ErrHandleConsumed, name)
		}
		require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", 20, 1), update("y", 50, 1), update("z", 51, 1)}, at(10), at(60)))
		require.Equal(t, event(at(60), update("z", 51, 1)), nextEvent(t, l))
		require.NoError(t, l.Expire(background))
		_, err = l.Next(background)
		require.ErrorIs(t, err, persist.ErrHandleClosed)

		other, err := c.OpenReader(background, shard)
		require.NoError(t, err)
		l, err = other.Listen(background, 70)
		require.NoError(t, err)
		l.Close()
		_, err = l.Next(background)
		require.ErrorIs(t, err, persist.ErrHandleClosed)
	})
}

// A listener that waits for longer than its lease keeps it, and lets go of the history that it
// is past, also where nothing but the upper moves.
func TestListenerKeepsItsLeaseAndFollows(t *testing.T) {
	inWorld(t, 4, func(w *sim.World) {
		cfg := persist.Config{ReaderLease: 10 * time.Second}
		s := inMemory(w)
		_, writer, reader := opened(t, w, s, cfg)
		l, err := reader.Listen(background, 0)
		require.NoError(t, err)
		for i := range uint64(6) {
			w.Go("tick", func() {
				w.Sleep(25 * time.Second)
				require.NoError(t, writer.CompareAndAppend(background, nil, at(10*i), at(10*i+10)))
			})
			require.Equal(t, event(at(10*i+10)), nextEvent(t, l))
		}
		w.Sleep(cfg.ReaderLease)
		fresh, err := s.client(w.Host(), cfg).OpenReader(background, shard)
		require.NoError(t, err)
		require.Equal(t, at(50), l.Since(), "strictly before its frontier")
		require.Equal(t, at(50), fresh.Since())
	})
}

func TestMaybeDowngradeSince(t *testing.T) {
	inWorld(t, 1, func(w *sim.World) {
		_, _, reader := opened(t, w, inMemory(w), persist.Config{DowngradeInterval: 10 * time.Second})
		downgrade := func(to uint64) persist.Frontier {
			held, err := reader.MaybeDowngradeSince(background, at(to))
			require.NoError(t, err)
			require.Equal(t, held, reader.Since())
			return held
		}
		require.Equal(t, at(0), downgrade(3))
		w.Sleep(11 * time.Second)
		require.Equal(t, at(4), downgrade(4))
		require.Equal(t, at(4), downgrade(5))
	})
	inWorld(t, 1, func(w *sim.World) {
		client, _, reader := opened(t, w, inMemory(w), persist.Config{CriticalDowngradeInterval: 10 * time.Second})
		_, err := reader.DowngradeSince(background, at(100))
		require.NoError(t, err)
		critical, err := client.OpenCritical(background, shard, "c", 0)
		require.NoError(t, err)
		downgrade := func(to uint64) (persist.Frontier, bool) {
			held, done, err := critical.MaybeCompareAndDowngradeSince(background, 0, 0, at(to))
			require.NoError(t, err)
			return held, done
		}
		held, done := downgrade(101)
		require.True(t, done, "the first")
		require.Equal(t, at(101), held)
		_, done = downgrade(102)
		require.False(t, done)
		require.Equal(t, at(101), critical.Since())
		w.Sleep(11 * time.Second)
		held, done = downgrade(103)
		require.True(t, done)
		require.Equal(t, at(103), held)
	})
}

func TestCloneAndCriticalReaders(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		client, writer, reader := opened(t, w, inMemory(w), persist.Config{})
		require.NoError(t, writer.CompareAndAppend(background, nil, at(0), at(20)))
		critical, err := client.OpenCritical(background, shard, "c", 0)
		require.NoError(t, err)
		_, err = critical.CompareAndDowngradeSince(background, 0, 0, at(8))
		require.NoError(t, err)
		ahead, err := client.OpenReaderAtCritical(background, shard)
		require.NoError(t, err)
		require.Equal(t, at(8), ahead.Since())
		plain, err := client.OpenReader(background, shard)
		require.NoError(t, err)
		require.Equal(t, at(0), plain.Since())

		clone, err := ahead.Clone(background)
		require.NoError(t, err)
		require.Equal(t, at(8), clone.Since())
		for _, r := range []*persist.ReadHandle{reader, plain, ahead} {
			_, err = r.DowngradeSince(background, at(15))
			require.NoError(t, err)
		}
		_, err = critical.CompareAndDowngradeSince(background, 0, 0, at(15))
		require.NoError(t, err)
		_, err = clone.SnapshotAndFetch(background, 8)
		require.NoError(t, err, "the clone holds on its own")
		require.NoError(t, ahead.Expire(background))
		_, err = ahead.Clone(background)
		require.ErrorIs(t, err, persist.ErrHandleClosed)
	})
}

// A listener whose process was paused for longer than its lease is told so, before and after it
// notices on its own.
func TestListenerLeaseExpires(t *testing.T) {
	inWorld(t, 8, func(w *sim.World) {
		cfg := persist.Config{ReaderLease: 10 * time.Second}
		s := served(w)
		var l *persist.Listener
		var client *persist.Client
		asleep := w.NewNode("asleep", func(h host.Host) {
			client = s.client(h, cfg)
			reader, err := client.OpenReader(background, shard)
			require.NoError(t, err)
			l, err = reader.Listen(background, 0)
			require.NoError(t, err)
		})
		_, writer, other := opened(t, w, s, cfg)
		require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", 0, 1)}, at(0), at(20)))
		w.Sleep(time.Second)
		asleep.Pause()
		w.Sleep(11 * time.Second)
		for _, to := range []uint64{10, 15} { // finds the lease overdue, then moves the since
			_, err := other.DowngradeSince(background, at(to))
			require.NoError(t, err)
		}
		require.NoError(t, writer.CompareAndAppend(background, nil, at(20), at(30)))
		asleep.Resume()
		done := host.NewChan[struct{}](w.Host(), "done", 1)
		asleep.Host().Go("listen", func() {
			defer done.Send(struct{}{})
			asleep.Host().Clock().Sleep(time.Duration(w.Seed()) * 2 * time.Second)
			for range 2 {
				_, err := l.Next(background)
				for err == nil { // what it knew already
					_, err = l.Next(background)
				}
				require.ErrorIs(t, err, persist.ErrLeaseExpired)
			}
		})
		done.Recv()
	})
}
