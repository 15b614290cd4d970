package coordtest

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

func (e Env) session(c coord.Client, ttl time.Duration) *coord.Session {
	e.T.Helper()
	s, err := coord.NewSession(background, e.Host, c, coord.SessionConfig{TTL: ttl})
	require.NoError(e.T, err)
	return s
}

func sessions(e Env) {
	c := e.Open()
	s := e.session(c, time.Second)
	e.write(c, coord.PutLeased("k", "", s.Lease()))
	e.Host.Clock().Sleep(1500 * time.Millisecond)
	require.NoError(e.T, s.Err())
	require.NotZero(e.T, e.read(c, "k"), "it is kept alive")
	require.NoError(e.T, s.Close(background))
	require.NoError(e.T, s.Close(background))
	require.ErrorIs(e.T, s.Err(), coord.ErrSessionLost)
	require.Error(e.T, s.Context().Err())
	require.Zero(e.T, e.read(c, "k"))

	revoked := e.session(c, time.Second)
	require.NoError(e.T, c.Revoke(background, revoked.Lease()))
	host.Select(e.Host, host.OnDone(revoked.Context()))
	require.ErrorIs(e.T, revoked.Err(), coord.ErrSessionLost)

	abandoned := e.session(c, 300*time.Millisecond)
	e.write(c, coord.PutLeased("a", "", abandoned.Lease()))
	w := c.Watch(coord.One("a"), e.revision(c)+1)
	defer w.Close()
	abandoned.Abandon()
	require.True(e.T, e.take(w, 1)[0].Deleted(), "the lease runs out")
}

// Candidates lead one after the other, with growing revisions, however the one before goes.
func elections(e Env) {
	const candidates = 4
	leading := ""
	var last coord.Revision
	mu := host.NewMutex(e.Host, "coordtest leading")
	e.parallel(candidates, func(i int) {
		c := e.Open()
		s := e.session(c, time.Second)
		defer s.Close(background)
		election := coord.NewElection(s, "e/")
		require.Zero(e.T, election.Revision())
		name := fmt.Sprint("candidate ", i)
		require.NoError(e.T, election.Campaign(background, name))
		mu.Lock()
		require.Empty(e.T, leading, "%s leads as well", name)
		require.Greater(e.T, election.Revision(), last)
		leading, last = name, election.Revision()
		mu.Unlock()
		leader, err := coord.CurrentLeader(background, c, "e/")
		require.NoError(e.T, err)
		require.Equal(e.T, coord.Leader{Value: name, Revision: election.Revision(), Key: election.Key()}, leader)
		e.txn(c, coord.Txn{If: []coord.Compare{election.Held()}, Then: []coord.Op{coord.Put("written by", name)}}, true)
		mu.Lock()
		leading = ""
		mu.Unlock()
		held := election.Held()
		switch i % 3 {
		case 0:
			require.NoError(e.T, election.Resign(background))
		case 1:
			require.NoError(e.T, s.Close(background))
		case 2:
			s.Abandon()
			return // still the leader for a while
		}
		require.Zero(e.T, e.read(c, held.Key))
		e.txn(c, coord.Txn{If: []coord.Compare{held}, Then: []coord.Op{coord.Put("written by", "somebody deposed")}}, false)
	})
	require.NotEqual(e.T, "somebody deposed", e.read(e.Open(), "written by").Value)
}

func resigning(e Env) {
	c := e.Open()
	first := e.session(c, time.Hour)
	leader := coord.NewElection(first, "e/")
	require.ErrorIs(e.T, leader.Proclaim(background, "x"), coord.ErrNotLeader)
	require.NoError(e.T, leader.Campaign(background, "one"))
	epoch := leader.Revision()
	require.NoError(e.T, leader.Proclaim(background, "uno"))
	now, err := coord.CurrentLeader(background, c, "e/")
	require.NoError(e.T, err)
	require.Equal(e.T, coord.Leader{Value: "uno", Revision: epoch, Key: leader.Key()}, now, "the epoch stays")

	// Another waits in vain, and gives up.
	second := e.session(c, time.Hour)
	ctx, cancel := e.Host.Clock().WithTimeout(background, 50*time.Millisecond)
	err = coord.NewElection(second, "e/").Campaign(ctx, "two")
	cancel()
	require.ErrorIs(e.T, err, context.DeadlineExceeded)
	w := c.Watch(coord.Prefix("e/"), 1)
	defer w.Close()

	require.NoError(e.T, leader.Resign(background))
	require.Zero(e.T, leader.Revision())
	require.ErrorIs(e.T, leader.Proclaim(background, "x"), coord.ErrNotLeader)
	for {
		if _, err := coord.CurrentLeader(background, c, "e/"); err != nil {
			require.ErrorIs(e.T, err, coord.ErrNoLeader, "who gave up is no candidate any more")
			break
		}
		_, err := w.Next(background)
		require.NoError(e.T, err)
	}
	require.NoError(e.T, leader.Campaign(background, "again"))
	require.Greater(e.T, leader.Revision(), epoch)

	// A term that ended without its key being deleted does not go on as the next one.
	epoch = leader.Revision()
	leader = coord.NewElection(first, "e/")
	require.NoError(e.T, leader.Campaign(background, "again"))
	require.Greater(e.T, leader.Revision(), epoch)

	// Who loses the key from outside no longer leads, session or not.
	held := leader.Held()
	e.write(c, coord.Delete(coord.One(leader.Key())))
	e.txn(c, coord.Txn{If: []coord.Compare{held}}, false)
	require.ErrorIs(e.T, leader.Proclaim(background, "x"), coord.ErrNotLeader)
	require.NoError(e.T, first.Err())

	require.NoError(e.T, first.Close(background))
	require.ErrorIs(e.T, coord.NewElection(first, "e/").Campaign(background, "lost"), coord.ErrSessionLost)
	require.NoError(e.T, second.Close(background))
}

func observation(e Env) {
	c := e.Open()
	o := coord.Observe(e.Host, e.Open(), "e/")
	defer o.Close()
	next := func(value string) coord.Leader {
		e.T.Helper()
		leader, err := o.Next(background)
		require.NoError(e.T, err)
		require.Equal(e.T, value, leader.Value)
		return leader
	}
	var last coord.Revision
	for i := range 3 {
		s := e.session(c, time.Hour)
		election := coord.NewElection(s, "e/")
		require.NoError(e.T, election.Campaign(background, fmt.Sprint(i)))
		leader := next(fmt.Sprint(i))
		require.Equal(e.T, election.Revision(), leader.Revision)
		require.Greater(e.T, leader.Revision, last)
		require.NoError(e.T, election.Proclaim(background, "other"))
		last = next("other").Revision
		require.Equal(e.T, election.Revision(), last)
		require.NoError(e.T, s.Close(background))
	}
	ctx, cancel := e.Host.Clock().WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	_, err := o.Next(ctx)
	require.ErrorIs(e.T, err, ctx.Err())
}
