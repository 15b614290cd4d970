package coordtest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/coord"
)

func leases(e Env) {
	c := e.Open()
	lease := e.grant(c, time.Hour)
	require.NoError(e.T, c.Grant(background, lease, time.Minute), "a call that is repeated")
	r := e.write(c, coord.PutLeased("b", "", lease), coord.PutLeased("a", "", lease), coord.Put("c", ""))
	require.Equal(e.T, lease, e.read(c, "a").Lease)
	info, err := c.Lease(background, lease)
	require.NoError(e.T, err)
	require.Equal(e.T, time.Hour, info.TTL)
	require.Positive(e.T, info.Remaining)
	require.Equal(e.T, []string{"a", "b"}, info.Keys)

	e.write(c, coord.Put("b", "free"))
	other := e.grant(c, time.Hour)
	e.write(c, coord.PutLeased("a", "", other))
	info, err = c.Lease(background, lease)
	require.NoError(e.T, err)
	require.Empty(e.T, info.Keys, "a put takes the key out of the lease it had")
	e.write(c, coord.PutLeased("d", "", lease), coord.PutLeased("e", "", lease))
	e.write(c, coord.Delete(coord.One("e")))
	require.NoError(e.T, c.Revoke(background, lease))
	require.NoError(e.T, c.Revoke(background, lease), "one that is gone is no error")
	require.Equal(e.T, r+5, e.revision(c), "all its keys at one revision")
	require.Zero(e.T, e.read(c, "d"))
	require.Equal(e.T, "free", e.read(c, "b").Value)
	require.Equal(e.T, other, e.read(c, "a").Lease)
	require.ErrorIs(e.T, c.KeepAlive(background, lease), coord.ErrNoLease)
	_, err = c.Lease(background, lease)
	require.ErrorIs(e.T, err, coord.ErrNoLease)
	require.ErrorIs(e.T, c.Grant(background, 0, time.Hour), coord.ErrInvalid)
	require.ErrorIs(e.T, c.Grant(background, 1, 0), coord.ErrInvalid)
	require.NoError(e.T, c.Revoke(background, other))
}

func leaseExpires(e Env) {
	c := e.Open()
	long := e.grant(c, time.Hour)
	short := e.grant(c, 100*time.Millisecond)
	e.write(c, coord.PutLeased("long", "", long), coord.PutLeased("short/1", "", short), coord.PutLeased("short/2", "", short))
	w := c.Watch(coord.Prefix("short/"), e.revision(c)+1)
	defer w.Close()
	events := e.take(w, 2)
	require.True(e.T, events[0].Deleted() && events[1].Deleted())
	require.Equal(e.T, events[0].ModRevision, events[1].ModRevision)
	require.ErrorIs(e.T, c.KeepAlive(background, short), coord.ErrNoLease)
	require.NoError(e.T, c.KeepAlive(background, long))
	require.NotZero(e.T, e.read(c, "long"))
}

func leaseKept(e Env) {
	c := e.Open()
	kept := e.grant(c, time.Second)
	e.write(c, coord.PutLeased("kept", "", kept))
	for range 12 {
		e.Host.Clock().Sleep(100 * time.Millisecond)
		require.NoError(e.T, c.KeepAlive(background, kept))
	}
	require.NotZero(e.T, e.read(c, "kept"), "it lives for longer than its time to live")
	require.NoError(e.T, c.Revoke(background, kept))
}
