package persist_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
)

func TestCriticalSince(t *testing.T) {
	inWorld(t, 4, func(w *sim.World) {
		s := inMemory(w)
		_, writer, reader := opened(t, w, s, persist.Config{})
		require.NoError(t, writer.CompareAndAppend(background, nil, at(0), at(100)))
		old, err := s.client(w.Host(), persist.Config{}).OpenCritical(background, shard, "controller", 1)
		require.NoError(t, err)
		require.Equal(t, at(0), old.Since())
		require.Equal(t, persist.Opaque(1), old.Opaque())

		held, err := old.CompareAndDowngradeSince(background, 1, 1, at(10))
		require.NoError(t, err)
		require.Equal(t, at(10), held)
		_, err = reader.DowngradeSince(background, at(30))
		require.NoError(t, err)

		// The next leader picks up the hold, and fences the former.
		next, err := s.client(w.Host(), persist.Config{}).OpenCritical(background, shard, "controller", 2)
		require.NoError(t, err)
		require.Equal(t, at(10), next.Since())
		require.Equal(t, persist.Opaque(1), next.Opaque())
		held, err = next.CompareAndDowngradeSince(background, 1, 2, at(0))
		require.NoError(t, err)
		require.Equal(t, at(10), held, "never backwards")
		require.Equal(t, persist.Opaque(2), next.Opaque())

		_, err = old.CompareAndDowngradeSince(background, 1, 1, at(50))
		var fenced *persist.OpaqueMismatch
		require.ErrorAs(t, err, &fenced)
		require.Equal(t, &persist.OpaqueMismatch{Expected: 1, Actual: 2, Since: at(10)}, fenced)
		require.NotErrorIs(t, err, persist.ErrIndeterminate)
		require.Equal(t, at(10), old.Since())
		require.Equal(t, persist.Opaque(2), old.Opaque())

		fresh, err := s.client(w.Host(), persist.Config{}).OpenReader(background, shard)
		require.NoError(t, err)
		require.Equal(t, at(10), fresh.Since(), "the critical hold keeps the since")

		require.NoError(t, next.Expire(background))
		_, err = next.CompareAndDowngradeSince(background, 2, 2, at(50))
		require.ErrorIs(t, err, persist.ErrNoCritical)
	})
}

func TestRetriedCriticalDowngrade(t *testing.T) {
	setup := func(t *testing.T, w *sim.World) (*script, *persist.SinceHandle, *persist.SinceHandle) {
		s := inMemory(w)
		sc := &script{Consensus: s.consensus(w.Host())}
		mine, err := persist.NewClient(w.Host(), s.blob(w.Host()), sc, persist.Config{}).OpenCritical(background, shard, "c", 1)
		require.NoError(t, err)
		rival, err := s.client(w.Host(), persist.Config{}).OpenCritical(background, shard, "c", 1)
		require.NoError(t, err)
		// Be sure that mine knows the latest version, so that the script's first step is the first attempt.
		_, err = mine.CompareAndDowngradeSince(background, 1, 1, at(0))
		require.NoError(t, err)
		return sc, mine, rival
	}
	t.Run("done, not told", func(t *testing.T) {
		inWorld(t, 2, func(w *sim.World) {
			sc, mine, _ := setup(t, w)
			sc.cas = append(sc.cas, lostReply)
			held, err := mine.CompareAndDowngradeSince(background, 1, 7, at(5))
			require.NoError(t, err, "the stored opaque is one's own")
			require.Equal(t, at(5), held)
		})
	})
	t.Run("not done", func(t *testing.T) {
		inWorld(t, 2, func(w *sim.World) {
			sc, mine, _ := setup(t, w)
			sc.cas = append(sc.cas, lostRequest, refused)
			held, err := mine.CompareAndDowngradeSince(background, 1, 7, at(5))
			require.NoError(t, err)
			require.Equal(t, at(5), held)
		})
	})
	t.Run("fenced in between", func(t *testing.T) {
		inWorld(t, 2, func(w *sim.World) {
			sc, mine, rival := setup(t, w)
			sc.cas = append(sc.cas, after(lostReply, func() {
				_, err := rival.CompareAndDowngradeSince(background, 7, 8, at(6))
				require.NoError(t, err)
			}))
			_, err := mine.CompareAndDowngradeSince(background, 1, 7, at(5))
			var fenced *persist.OpaqueMismatch
			require.ErrorAs(t, err, &fenced)
			require.Equal(t, persist.Opaque(8), fenced.Actual)
			require.True(t, fenced.Uncertain)
			require.ErrorIs(t, err, persist.ErrIndeterminate)
		})
	})
}
