package coordtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// Env is where a test runs.
type Env struct {
	// T is the test, for code in the task.
	T testing.TB
	// Host is the host of the task.
	Host host.Host
	// Open returns a client of the service.
	Open func() coord.Client
	// Restart kills the service and starts it again; nil where that can't be.
	Restart func()
}

// Setup starts an empty service, runs body as a task of a host, and waits for it.
type Setup func(t *testing.T, body func(env Env))

// Case is one test of the suite.
type Case struct {
	Name string
	Run  func(env Env)
	// Restarts tells that it needs Env.Restart.
	Restarts bool
}

// Run runs the whole suite.
func Run(t *testing.T, setup Setup) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			setup(t, func(env Env) {
				if c.Restarts && env.Restart == nil {
					return // nothing to be said of a service that can't be restarted
				}
				c.Run(env)
			})
		})
	}
}

// Cases are the tests of the suite.
func Cases() []Case {
	return []Case{
		{Name: "revisions", Run: revisions},
		{Name: "compares", Run: compares},
		{Name: "transactions", Run: transactions},
		{Name: "invalid transactions", Run: invalidTransactions},
		{Name: "ranges", Run: ranges},
		{Name: "history and compaction", Run: history},
		{Name: "watch from a revision", Run: watchFrom},
		{Name: "watch from now", Run: watchFromNow},
		{Name: "watch while it is written", Run: watchWhileWritten},
		{Name: "watch compacted", Run: watchCompacted},
		{Name: "leases", Run: leases},
		{Name: "a lease expires", Run: leaseExpires},
		{Name: "a lease that is kept alive", Run: leaseKept},
		{Name: "sessions", Run: sessions},
		{Name: "elections", Run: elections},
		{Name: "resigning", Run: resigning},
		{Name: "observation", Run: observation},
		{Name: "concurrent increments", Run: increments},
		{Name: "restart", Run: restart, Restarts: true},
		{Name: "watch across a restart", Run: watchAcrossRestart, Restarts: true},
	}
}

var background = context.Background()

// txn is a transaction that succeeds or fails as it should.
func (e Env) txn(c coord.Client, t coord.Txn, succeeds bool) coord.TxnResult {
	e.T.Helper()
	r, err := c.Txn(background, t)
	require.NoError(e.T, err)
	require.Equal(e.T, succeeds, r.Succeeded)
	return r
}

func (e Env) write(c coord.Client, ops ...coord.Op) coord.Revision {
	e.T.Helper()
	r, err := coord.Write(background, c, ops...)
	require.NoError(e.T, err)
	return r
}

func (e Env) read(c coord.Client, key string) coord.KeyValue {
	e.T.Helper()
	kv, ok, err := coord.ReadKey(background, c, key)
	require.NoError(e.T, err)
	require.Equal(e.T, ok, kv.Version > 0)
	return kv
}

func (e Env) revision(c coord.Client) coord.Revision {
	e.T.Helper()
	s, err := c.Range(background, coord.One(""), 0)
	require.NoError(e.T, err)
	return s.Revision
}

// take takes events from a watcher until there are n.
func (e Env) take(w coord.Watcher, n int) (events []coord.Event) {
	e.T.Helper()
	for len(events) < n {
		more, err := w.Next(background)
		require.NoError(e.T, err)
		require.NotEmpty(e.T, more)
		events = append(events, more...)
	}
	require.Len(e.T, events, n)
	return events
}

// grant makes a lease.
func (e Env) grant(c coord.Client, ttl time.Duration) coord.LeaseID {
	e.T.Helper()
	id := coord.LeaseID(e.Host.Rand().Uint64() | 1)
	require.NoError(e.T, c.Grant(background, id, ttl))
	return id
}

// parallel runs tasks and waits for them.
func (e Env) parallel(n int, fn func(i int)) {
	group := host.NewWaitGroup(e.Host, "coordtest")
	for i := range n {
		group.Go(e.Host, "coordtest", func() { fn(i) })
	}
	group.Wait()
}
