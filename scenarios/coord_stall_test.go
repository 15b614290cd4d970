package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// While a machine's writes are held up it reads, and others write; what becomes of the writes is as the stall says.
func TestCoordStall(t *testing.T) {
	for how, want := range map[string]struct{ during, after bool }{
		"held":       {false, true},
		"unanswered": {true, true},
		"lost":       {false, false},
	} {
		t.Run(how, func(t *testing.T) {
			inGate(t, func(w *sim.World, g *coordGate) {
				h, ctx := w.Host(), context.Background()
				stalled, other := g.through(g.onward, "stalled"), g.through(g.onward, "other")
				there := func(key string) bool {
					_, ok, err := coord.ReadKey(ctx, stalled, key)
					require.NoError(t, err)
					return ok
				}
				s := g.begin("stalled", how)
				_, err := coord.Write(ctx, other, coord.Put("other", "1"))
				require.NoError(t, err)
				require.True(t, there("other"))

				began := w.Now()
				_, err = coord.Write(ctx, stalled, coord.Put("key", "1"))
				require.ErrorIs(t, err, coord.ErrUnknown)
				require.Equal(t, g.patience, w.Now()-began)
				require.Equal(t, want.during, there("key"))

				hurried, cancel := h.Clock().WithTimeout(ctx, time.Millisecond)
				require.ErrorIs(t, stalled.Grant(hurried, 1, time.Minute), coord.ErrUnknown)
				cancel()
				require.Equal(t, 2, s.givenUp)
				g.end(s)
				g.end(s) // as the fault's own end may come after that of its moment
				w.Sleep(time.Second)
				require.Equal(t, want.after, there("key"))
				_, err = stalled.Lease(ctx, 1)
				require.Equal(t, want.after, err == nil)
				_, err = coord.Write(ctx, stalled, coord.Put("key", "2"))
				require.NoError(t, err)
			})
		})
	}
}

// Who still waits when the stall is over is answered, of what is lost that nobody knows.
func TestCoordStallAnswers(t *testing.T) {
	for how, want := range map[string]error{"held": nil, "unanswered": nil, "lost": coord.ErrUnknown} {
		t.Run(how, func(t *testing.T) {
			inGate(t, func(w *sim.World, g *coordGate) {
				s := g.begin("", how)
				w.Go("end", func() {
					w.Sleep(g.patience / 2)
					g.end(s)
				})
				_, err := coord.Write(context.Background(), g.through(g.onward, "any"), coord.Put("key", "1"))
				require.ErrorIs(t, err, want)
				require.Zero(t, s.givenUp)
			})
		})
	}
}

func inGate(t *testing.T, body func(w *sim.World, g *coordGate)) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	w.NewNode(coordNode, func(h host.Host) {
		_, _, err := coord.Serve(h, coordPort, coord.StoreConfig{})
		require.NoError(t, err)
	})
	w.Go("test", func() {
		defer w.Stop()
		body(w, newCoordGate(w, time.Second, coord.Dial(w.Host(), host.JoinAddr(coordNode, coordPort))))
	})
	require.NoError(t, w.Run())
}

// A stall of the first candidature lets everything else through, and makes a candidate of one that has left.
func TestCoordStallOfACandidature(t *testing.T) {
	inGate(t, func(w *sim.World, g *coordGate) {
		ctx := context.Background()
		session, err := coord.NewSession(ctx, w.Host(), g.through(g.onward, "stalled"), coord.SessionConfig{})
		require.NoError(t, err)
		s := g.begin("stalled", "held")
		s.firstCandidature("e/")
		election := coord.NewElection(session, "e/")
		began := w.Now()
		require.NoError(t, election.Campaign(ctx, "one"))
		require.GreaterOrEqual(t, w.Now()-began, g.patience)
		require.Equal(t, 1, s.givenUp)
		require.NoError(t, election.Resign(ctx))
		g.end(s)
		w.Sleep(10 * time.Second)
		require.Positive(t, w.Sometimes()["coord: a candidate's key came into being after it had left"])
		_, err = coord.CurrentLeader(ctx, g.onward, "e/")
		require.ErrorIs(t, err, coord.ErrNoLeader)
	})
}
