package real_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/hosttest"
	"github.com/simrun-dev/simrun/system/host/real"
)

// cluster is a hosttest.Cluster of hosts that reach each other on the loopback interface.
type cluster struct {
	t     testing.TB
	book  *real.Book
	cfgs  []real.Config
	hosts []*real.Host
}

func newCluster(t testing.TB, machines int) *cluster {
	c := &cluster{t: t, book: real.NewBook(nil), hosts: make([]*real.Host, machines)}
	for i := range machines {
		c.cfgs = append(c.cfgs, real.Config{
			Name: fmt.Sprint("machine", i), Dir: t.TempDir(), Listen: "127.0.0.1:0", Peers: c.book,
			Logger:  slog.New(slog.DiscardHandler),
			Timeout: time.Hour, // what only patience would bring about is not there
		})
		c.boot(i)
	}
	t.Cleanup(func() {
		for _, h := range c.hosts {
			require.NoError(t, h.Close())
		}
	})
	return c
}

func (c *cluster) boot(machine int) {
	h, err := real.New(c.cfgs[machine])
	require.NoError(c.t, err)
	c.hosts[machine] = h
	c.book.Set(h.Name(), h.Addr())
}

func (c *cluster) Host(machine int) host.Host { return c.hosts[machine] }

func (c *cluster) Start(machine int, task string, fn func(h host.Host)) (wait func()) {
	ended := make(chan struct{})
	h := c.hosts[machine]
	h.Go(task, func() {
		defer close(ended)
		fn(h)
	})
	return func() {
		<-ended
		if c.t.Failed() {
			c.t.FailNow()
		}
	}
}

func (c *cluster) Restart(machine int) {
	require.NoError(c.t, c.hosts[machine].Close())
	c.boot(machine)
}

func setup(t testing.TB, body func(hosttest.Cluster)) { body(newCluster(t, hosttest.Machines)) }

func TestConformance(t *testing.T) { hosttest.Run(t, setup) }
