package coord_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Closing a client ends all that goes on with it, whether the service is there or not.
func TestClosedRemote(t *testing.T) {
	for name, up := range map[string]bool{"served": true, "not served": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *sim.World) {
				n, open := served(w, coord.StoreConfig{})
				r := open(w.Host())
				s, err := coord.NewSession(background, w.Host(), r, coord.SessionConfig{TTL: time.Hour, Interval: time.Second})
				require.NoError(t, err)
				var ended []error
				w.Go("watch", func() {
					_, err := r.Watch(coord.One("k"), 1).Next(background)
					ended = append(ended, err)
				})
				w.Go("observe", func() {
					_, err := coord.Observe(w.Host(), r, "e/").Next(background)
					ended = append(ended, err)
				})
				w.Sleep(time.Second)
				if !up {
					n.Crash()
					w.Sleep(time.Second)
				}
				require.Empty(t, ended)
				r.Close()
				w.Sleep(5 * time.Second)
				require.Len(t, ended, 2)
				for _, err := range ended {
					require.ErrorIs(t, err, rpc.ErrClosed)
				}
				before := w.Now()
				_, err = coord.Write(background, r, coord.Put("k", "v"))
				require.ErrorIs(t, err, coord.ErrNotDone)
				require.ErrorIs(t, err, rpc.ErrClosed)
				require.Equal(t, before, w.Now(), "nothing is tried again")
				require.ErrorIs(t, s.Err(), coord.ErrSessionLost)
			})
		})
	}
}

// A call that was under way when its client was closed may have been executed.
func TestClosedWhileACallIsUnderWay(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		_, open := served(w, coord.StoreConfig{})
		var r *coord.Remote
		client := w.NewNode("client", func(h host.Host) { r = open(h) })
		w.Sleep(time.Millisecond)
		_, err := coord.Write(background, r, coord.Put("k", "v"))
		for err != nil { // its answer may be lost
			_, err = coord.Write(background, r, coord.Put("k", "v"))
		}
		w.AddRule(sim.Rule{From: []string{"coord0"}, To: []string{client.Name()}, Drop: true})
		done := false
		w.Go("compact", func() {
			err = r.Compact(background, 2)
			done = true
		})
		w.Sleep(time.Second)
		r.Close()
		w.Sleep(time.Second)
		require.True(t, done)
		require.ErrorIs(t, err, coord.ErrUnknown)
		require.NotErrorIs(t, err, coord.ErrNotDone)
		require.ErrorIs(t, err, rpc.ErrClosed)
	})
}
