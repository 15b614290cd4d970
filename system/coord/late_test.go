package coord_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
)

// lateTxns is a client whose transactions that begin with an op of a kind, while keep is set, get to the store only
// when deliver is called. Whoever makes them is told that their outcome is unknown.
type lateTxns struct {
	coord.Client
	kind coord.OpKind
	keep bool
	kept []coord.Txn
}

func (l *lateTxns) Txn(ctx context.Context, t coord.Txn) (coord.TxnResult, error) {
	if l.keep && len(t.Then) > 0 && t.Then[0].Kind == l.kind {
		l.kept = append(l.kept, t)
		return coord.TxnResult{}, coord.ErrUnknown
	}
	return l.Client.Txn(ctx, t)
}

func (l *lateTxns) deliver(t testing.TB) {
	l.keep = false
	require.NotEmpty(t, l.kept)
	for _, txn := range l.kept {
		_, err := l.Client.Txn(background, txn)
		require.NoError(t, err)
	}
	l.kept = nil
}

// What a term or a candidature leaves behind when it ends gets to the service when the session has been elected
// anew: it does not end that term.
func TestLateLeaving(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, w *sim.World, c *lateTxns, s *coord.Session){
		"resigning": func(t *testing.T, w *sim.World, _ *lateTxns, s *coord.Session) {
			e := coord.NewElection(s, "e/")
			require.NoError(t, e.Campaign(background, "one"))
			ctx, cancel := w.Host().Clock().WithTimeout(background, time.Second)
			defer cancel()
			require.Error(t, e.Resign(ctx))
		},
		"giving up": func(t *testing.T, w *sim.World, c *lateTxns, s *coord.Session) {
			first, err := coord.NewSession(background, w.Host(), c, coord.SessionConfig{TTL: time.Hour})
			require.NoError(t, err)
			before := coord.NewElection(first, "e/")
			require.NoError(t, before.Campaign(background, "before"))
			ctx, cancel := w.Host().Clock().WithTimeout(background, time.Second)
			defer cancel()
			require.ErrorIs(t, coord.NewElection(s, "e/").Campaign(ctx, "one"), context.DeadlineExceeded)
			w.Sleep(100 * time.Millisecond)
			require.NoError(t, first.Close(background))
		},
		"clearing away": func(t *testing.T, w *sim.World, _ *lateTxns, s *coord.Session) {
			require.NoError(t, coord.NewElection(s, "e/").Campaign(background, "one"))
			ctx, cancel := w.Host().Clock().WithTimeout(background, time.Second)
			defer cancel()
			require.ErrorIs(t, coord.NewElection(s, "e/").Campaign(ctx, "two"), context.DeadlineExceeded)
			w.Sleep(100 * time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 4, func(w *sim.World) {
				c := &lateTxns{kind: coord.OpDelete, Client: coord.NewMemory(w.Host(), coord.StoreConfig{}), keep: true}
				s, err := coord.NewSession(background, w.Host(), c, coord.SessionConfig{TTL: time.Hour})
				require.NoError(t, err)
				leave(t, w, c, s)
				require.NotEmpty(t, c.kept)
				c.keep = false
				e := coord.NewElection(s, "e/")
				require.NoError(t, e.Campaign(background, "anew"))
				c.deliver(t)
				w.Sleep(10 * time.Second) // in which what still wants to leave tries again
				r, err := c.Txn(background, coord.Txn{If: []coord.Compare{e.Held()}})
				require.NoError(t, err)
				require.True(t, r.Succeeded, "nobody has ended the term")
			})
		})
	}
}

// What a candidate has put gets to the service when it has given up: it does not lead from then on, with nobody who
// knows.
func TestLateEntering(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, s *coord.Session){
		"given up": func(*testing.T, *coord.Session) {},
		"given up, elected, and resigned": func(t *testing.T, s *coord.Session) {
			e := coord.NewElection(s, "e/")
			require.NoError(t, e.Campaign(background, "again"))
			require.NoError(t, e.Resign(background))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 4, func(w *sim.World) {
				c := &lateTxns{kind: coord.OpPut, Client: coord.NewMemory(w.Host(), coord.StoreConfig{}), keep: true}
				s, err := coord.NewSession(background, w.Host(), c, coord.SessionConfig{TTL: time.Hour})
				require.NoError(t, err)
				ctx, cancel := w.Host().Clock().WithTimeout(background, time.Second)
				defer cancel()
				require.ErrorIs(t, coord.NewElection(s, "e/").Campaign(ctx, "one"), context.DeadlineExceeded)
				c.keep = false
				before(t, s)
				w.Sleep(10 * time.Second)
				c.deliver(t)
				other, err := coord.NewSession(background, w.Host(), c, coord.SessionConfig{TTL: time.Hour})
				require.NoError(t, err)
				ctx, cancel = w.Host().Clock().WithTimeout(background, 10*time.Second)
				defer cancel()
				require.NoError(t, coord.NewElection(other, "e/").Campaign(ctx, "other"))
			})
		})
	}
}

// What a candidate has put gets to the service when the session has been elected anew: it does not end that term.
func TestLateEnteringDuringAnotherTerm(t *testing.T) {
	inWorld(t, 4, func(w *sim.World) {
		c := &lateTxns{kind: coord.OpPut, Client: coord.NewMemory(w.Host(), coord.StoreConfig{}), keep: true}
		s, err := coord.NewSession(background, w.Host(), c, coord.SessionConfig{TTL: time.Hour})
		require.NoError(t, err)
		ctx, cancel := w.Host().Clock().WithTimeout(background, time.Second)
		defer cancel()
		require.ErrorIs(t, coord.NewElection(s, "e/").Campaign(ctx, "one"), context.DeadlineExceeded)
		c.keep = false
		e := coord.NewElection(s, "e/")
		require.NoError(t, e.Campaign(background, "anew"))
		c.deliver(t)
		w.Sleep(10 * time.Second)
		r, err := c.Txn(background, coord.Txn{If: []coord.Compare{e.Held()}})
		require.NoError(t, err)
		require.True(t, r.Succeeded)
	})
}

// Whoever does not lead can make no write that only a leader may make.
func TestHeldWithoutLeading(t *testing.T) {
	inWorld(t, 1, func(w *sim.World) {
		c := coord.NewMemory(w.Host(), coord.StoreConfig{})
		s, err := coord.NewSession(background, w.Host(), c, coord.SessionConfig{TTL: time.Hour})
		require.NoError(t, err)
		e := coord.NewElection(s, "e/")
		holds := func() bool {
			r, err := c.Txn(background, coord.Txn{If: []coord.Compare{e.Held()}, Then: []coord.Op{coord.Put("k", "v")}})
			require.NoError(t, err)
			return r.Succeeded
		}
		require.False(t, holds(), "before the campaign")
		require.NoError(t, e.Campaign(background, "one"))
		require.True(t, holds())
		require.NoError(t, e.Resign(background))
		require.False(t, holds(), "after resigning")
	})
}
