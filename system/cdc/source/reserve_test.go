package source_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
)

// What a store says of the time while a write is under way, and its clock is ahead of what it has reserved, holds
// after a crash that takes the write back and a clock that is right again.
func TestNowIsReservedWhileAWriteIsUnderWay(t *testing.T) {
	slow := sim.Between(500*time.Millisecond, 500*time.Millisecond+1)
	for name, fault := range map[string]func(w *sim.World, n *sim.Node) (heal func()){
		"the clock jumps": func(w *sim.World, n *sim.Node) func() {
			remove := n.AddDiskRule(sim.DiskRule{Delay: slow})
			w.Sleep(time.Second)
			n.JumpClock(10 * time.Second)
			return func() { remove(); n.JumpClock(-10 * time.Second) }
		},
		"the disk fails": func(w *sim.World, n *sim.Node) func() {
			remove := n.AddDiskRule(sim.DiskRule{Delay: slow, Fail: 1_000_000})
			w.Sleep(5 * time.Second)
			return remove
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *sim.World) {
				var s *source.Store
				n := w.NewNode("n", func(h host.Host) {
					for s == nil {
						s, _ = source.Open(h, "", source.Config{})
					}
				})
				n.SetUnsynced(sim.UnsyncedLost)
				up := func() {
					for s == nil {
						w.Sleep(time.Millisecond)
					}
				}
				up()
				_, err := s.AddSpan(background, 1, "", "")
				require.NoError(t, err)
				w.Sleep(2 * time.Second)
				heal := fault(w, n)
				w.Go("commit", func() { _, _ = s.Commit(background, "", []source.Mutation{source.Put("a", "1")}) })
				told := model.Ts(0)
				for range 60 {
					now, err := s.Now(background)
					require.NoError(t, err)
					require.GreaterOrEqual(t, now, told)
					told = now
					w.Sleep(10 * time.Millisecond)
				}
				s = nil
				n.Crash()
				heal()
				n.Restart()
				up()
				now, err := s.Now(background)
				require.NoError(t, err)
				require.GreaterOrEqual(t, now, told, "the time goes back")
				require.Greater(t, commit(t, s, source.Put("a", "2")), told, "a commit at or below a ts that was given out")
			})
		})
	}
}

// Nobody gives up, by a mistake, what is yet to come.
func TestSafepointInTheFuture(t *testing.T) {
	onStore(t, source.Config{}, func(w *sim.World, s *source.Store, _ func() *source.Store) {
		_, err := s.AddSpan(background, 1, "", "")
		require.NoError(t, err)
		ts := commit(t, s, source.Put("a", "1"))
		for _, beyond := range []model.Ts{1, 1 << 40, ^model.Ts(0) - ts} {
			now, err := s.Now(background)
			require.NoError(t, err)
			if beyond > 1 {
				now = ts
			}
			_, err = s.Safepoint(background, "typo", now+beyond, time.Second)
			require.ErrorIs(t, err, source.ErrInvalid)
		}
		require.NoError(t, s.Release(background, "typo"))
		rows, err := s.Snapshot(background, 1, ts)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		spans, err := s.Spans(background)
		require.NoError(t, err)
		require.Zero(t, spans.Safepoint)
		kept, err := s.Safepoint(background, "reader", ts, time.Hour)
		require.NoError(t, err)
		require.Equal(t, ts, kept)
		spans, err = s.Spans(background)
		require.NoError(t, err)
		require.Equal(t, ts, spans.Safepoint)
	})
}
