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

// opened is a writer and a reader of a new shard, by one client.
func opened(t *testing.T, w *sim.World, s stores, cfg persist.Config) (*persist.Client, *persist.WriteHandle, *persist.ReadHandle) {
	c := s.client(w.Host(), cfg)
	writer, err := c.OpenWriter(background, shard)
	require.NoError(t, err)
	reader, err := c.OpenReader(background, shard)
	require.NoError(t, err)
	return c, writer, reader
}

func TestSnapshot(t *testing.T) {
	inWorld(t, 4, func(w *sim.World) {
		_, writer, reader := opened(t, w, inMemory(w), persist.Config{})
		append := func(from, to uint64, updates ...persist.Update) {
			require.NoError(t, writer.CompareAndAppend(background, updates, at(from), at(to)))
		}
		append(0, 5, update("b", 1, 1), update("a", 0, 2), update("gone", 2, 1))
		append(5, 9)
		append(9, 12, update("a", 9, -1), update("gone", 11, -1), update("negative", 11, -2))
		for asOf, want := range map[uint64][]persist.Update{
			0:  {update("a", 0, 2)},
			1:  {update("a", 1, 2), update("b", 1, 1)},
			2:  {update("a", 2, 2), update("b", 2, 1), update("gone", 2, 1)},
			8:  {update("a", 8, 2), update("b", 8, 1), update("gone", 8, 1)},
			9:  {update("a", 9, 1), update("b", 9, 1), update("gone", 9, 1)},
			11: {update("a", 11, 1), update("b", 11, 1), update("negative", 11, -2)},
		} {
			got, err := reader.SnapshotAndFetch(background, asOf)
			require.NoError(t, err)
			require.Equal(t, want, got, "as of %d", asOf)
		}
	})
}

func TestSnapshotWaitsForTheUpper(t *testing.T) {
	inWorld(t, 6, func(w *sim.World) {
		s := inMemory(w)
		_, mine, reader := opened(t, w, s, persist.Config{})
		_, other, _ := opened(t, w, s, persist.Config{})
		for i, writer := range []*persist.WriteHandle{mine, other} { // of the reader's client, and of another
			from := uint64(10 * i)
			appended := false
			w.Go("write later", func() {
				require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", from, 1)}, at(from), at(from+5)))
				w.Sleep(3 * time.Second)
				appended = true
				require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", from+6, 1)}, at(from+5), at(from+10)))
			})
			w.Sleep(time.Second)
			got, err := reader.SnapshotAndFetch(background, from+6)
			require.NoError(t, err)
			require.True(t, appended, "the snapshot was served before the upper passed")
			require.Equal(t, []persist.Update{update("x", from+6, int64(2*i+2))}, got)
		}
		require.Positive(t, w.Sometimes()["persist: a snapshot had to wait for the upper"])

		ctx, cancel := w.Host().Clock().WithTimeout(background, time.Second)
		defer cancel()
		_, err := reader.Snapshot(ctx, 1000)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		require.NoError(t, other.CompareAndAppend(background, nil, at(20), persist.Empty()))
		got, err := reader.SnapshotAndFetch(background, 1<<40)
		require.NoError(t, err, "a closed shard can be read at any time")
		require.Len(t, got, 1)
	})
}

func TestWaitForUpperPast(t *testing.T) {
	inWorld(t, 4, func(w *sim.World) {
		s := inMemory(w)
		_, mine, _ := opened(t, w, s, persist.Config{})
		_, other, _ := opened(t, w, s, persist.Config{})
		w.Go("write", func() {
			for i := range uint64(5) {
				w.Sleep(time.Second)
				require.NoError(t, other.CompareAndAppend(background, nil, at(i), at(i+1)))
			}
		})
		begun := w.Now()
		require.NoError(t, mine.WaitForUpperPast(background, at(2)))
		require.Equal(t, at(3), mine.Upper())
		require.GreaterOrEqual(t, w.Now()-begun, 3*time.Second)
		require.NoError(t, mine.WaitForUpperPast(background, at(1)), "past already")
		ctx, cancel := w.Host().Clock().WithTimeout(background, 10*time.Second)
		defer cancel()
		require.ErrorIs(t, mine.WaitForUpperPast(ctx, at(5)), context.DeadlineExceeded, "at it is not past it")
	})
}

func TestSince(t *testing.T) {
	inWorld(t, 4, func(w *sim.World) {
		s := inMemory(w)
		_, writer, reader := opened(t, w, s, persist.Config{})
		_, _, other := opened(t, w, s, persist.Config{})
		require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", 3, 1)}, at(0), at(20)))

		held, err := reader.DowngradeSince(background, at(10))
		require.NoError(t, err)
		require.Equal(t, at(10), held)
		held, err = reader.DowngradeSince(background, at(7))
		require.NoError(t, err)
		require.Equal(t, at(10), held, "never backwards")
		require.Equal(t, at(10), reader.Since())
		var since *persist.SinceError
		_, err = reader.Snapshot(background, 9)
		require.ErrorAs(t, err, &since, "the handle gave it up")
		require.Equal(t, &persist.SinceError{AsOf: 9, Since: at(10)}, since)
		_, err = reader.SnapshotAndFetch(background, 10)
		require.NoError(t, err)
		_, err = other.SnapshotAndFetch(background, 9)
		require.NoError(t, err, "the other holds it")

		late, err := s.client(w.Host(), persist.Config{}).OpenReader(background, shard)
		require.NoError(t, err)
		require.Equal(t, at(0), late.Since())

		for _, r := range []*persist.ReadHandle{other, late} {
			require.NoError(t, r.Expire(background))
			_, err = r.Snapshot(background, 10)
			require.ErrorIs(t, err, persist.ErrHandleClosed)
			_, err = r.DowngradeSince(background, at(10))
			require.ErrorIs(t, err, persist.ErrHandleClosed)
		}
		late, err = s.client(w.Host(), persist.Config{}).OpenReader(background, shard)
		require.NoError(t, err)
		require.Equal(t, at(0), late.Since(), "who leaves does not move the since")
		_, err = late.DowngradeSince(background, at(12))
		require.NoError(t, err)
		late, err = s.client(w.Host(), persist.Config{}).OpenReader(background, shard)
		require.NoError(t, err)
		require.Equal(t, at(10), late.Since(), "the next downgrade does")
		_, err = late.Snapshot(background, 9)
		require.ErrorAs(t, err, &since)

		_, err = reader.DowngradeSince(background, persist.Empty())
		require.NoError(t, err)
		_, err = reader.Snapshot(background, 10)
		require.ErrorAs(t, err, &since)
		require.Equal(t, persist.Empty(), since.Since)
	})
}

func TestLeaseIsKeptAlive(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		cfg := persist.Config{ReaderLease: 10 * time.Second}
		s := inMemory(w)
		_, writer, reader := opened(t, w, s, cfg)
		_, _, other := opened(t, w, s, cfg)
		for i := range uint64(20) {
			w.Sleep(7 * time.Second)
			require.NoError(t, writer.CompareAndAppend(background, nil, at(i), at(i+1)))
			_, err := other.DowngradeSince(background, at(i))
			require.NoError(t, err)
		}
		_, err := reader.SnapshotAndFetch(background, 0)
		require.NoError(t, err)
		require.Zero(t, w.Sometimes()["persist: a reader's lease expired"])
	})
}

// A reader whose registration is tried for longer than its lease is not born expired.
func TestRegistrationThatTakesLong(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		cfg := persist.Config{ReaderLease: 5 * time.Second, HeartbeatInterval: time.Hour, RetryMax: time.Second}
		s := inMemory(w)
		_, _, other := opened(t, w, s, persist.Config{})
		slow := &script{Consensus: s.consensus(w.Host())}
		client := persist.NewClient(w.Host(), s.blob(w.Host()), slow, cfg)
		_, err := client.OpenWriter(background, shard)
		require.NoError(t, err)
		for range 40 {
			slow.cas = append(slow.cas, refused)
		}
		begun := w.Now()
		reader, err := client.OpenReader(background, shard)
		require.NoError(t, err)
		require.Greater(t, w.Now()-begun, 2*cfg.ReaderLease)
		_, err = other.DowngradeSince(background, at(0))
		require.NoError(t, err)
		_, err = reader.DowngradeSince(background, at(0))
		require.NoError(t, err)
	})
}

// A process that is paused for longer than its lease comes back to find its hold gone, and is told so.
func TestLeaseExpires(t *testing.T) {
	inWorld(t, 8, func(w *sim.World) {
		cfg := persist.Config{ReaderLease: 10 * time.Second}
		s := served(w)
		var reader *persist.ReadHandle
		asleep := w.NewNode("asleep", func(h host.Host) {
			var err error
			reader, err = s.client(h, cfg).OpenReader(background, shard)
			require.NoError(t, err)
		})
		_, writer, other := opened(t, w, s, cfg)
		require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", 0, 1)}, at(0), at(20)))
		w.Sleep(time.Second)
		asleep.Pause()
		w.Sleep(11 * time.Second)
		_, err := other.DowngradeSince(background, at(10)) // finds the lease overdue
		require.NoError(t, err)
		_, err = other.DowngradeSince(background, at(15)) // moves the since
		require.NoError(t, err)
		asleep.Resume()
		done := host.NewChan[struct{}](w.Host(), "done", 1)
		asleep.Host().Go("read", func() {
			defer done.Send(struct{}{})
			asleep.Host().Clock().Sleep(2 * cfg.ReaderLease) // time for a heartbeat
			for range 2 {
				_, err := reader.Snapshot(background, 12)
				require.ErrorIs(t, err, persist.ErrLeaseExpired)
				_, err = reader.DowngradeSince(background, at(16))
				require.ErrorIs(t, err, persist.ErrLeaseExpired)
			}
		})
		done.Recv()
		fresh, err := s.client(w.Host(), cfg).OpenReader(background, shard)
		require.NoError(t, err)
		require.Equal(t, at(15), fresh.Since())
		require.Positive(t, w.Sometimes()["persist: a reader's lease expired"])
	})
}

// A snapshot keeps the version that it was taken from, until it is closed.
func TestSnapshotPinsItsVersion(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		_, writer, reader := opened(t, w, inMemory(w), persist.Config{})
		require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", 0, 1)}, at(0), at(1)))
		snapshot, err := reader.Snapshot(background, 0)
		require.NoError(t, err)
		require.Equal(t, uint64(0), snapshot.AsOf())
		_, err = reader.DowngradeSince(background, at(1))
		require.NoError(t, err)
		got, err := snapshot.Fetch(background)
		require.NoError(t, err, "what was begun can be finished")
		require.Equal(t, []persist.Update{update("x", 0, 1)}, got)
		snapshot.Close()
		snapshot.Close()
		_, err = snapshot.Fetch(background)
		require.ErrorIs(t, err, persist.ErrHandleClosed)
	})
}

func TestMissingAndCorruptBlobs(t *testing.T) {
	inWorld(t, 1, func(w *sim.World) {
		s := inMemory(w)
		_, writer, reader := opened(t, w, s, persist.Config{})
		require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", 0, 1)}, at(0), at(1)))
		blob := s.blob(w.Host())
		infos, err := blob.List(background, "")
		require.NoError(t, err)
		require.Len(t, infos, 1)
		require.NoError(t, blob.Set(background, infos[0].Key, []byte("something else")))
		_, err = reader.SnapshotAndFetch(background, 0)
		require.ErrorIs(t, err, persist.ErrCorrupt)
		require.NotErrorIs(t, err, persist.ErrIndeterminate)
	})
	w := sim.New(sim.Config{})
	defer w.Close()
	var got error
	w.Go("test", func() {
		s := inMemory(w)
		_, writer, reader := opened(t, w, s, persist.Config{})
		require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", 0, 1)}, at(0), at(1)))
		infos, err := s.blob(w.Host()).List(background, "")
		require.NoError(t, err)
		_, _, err = s.blob(w.Host()).Delete(background, infos[0].Key)
		require.NoError(t, err)
		_, got = reader.SnapshotAndFetch(background, 0)
	})
	require.ErrorContains(t, w.Run(), "a live reader's blobs are there")
	_ = got
}
