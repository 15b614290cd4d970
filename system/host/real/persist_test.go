package real_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// servePersist serves package persist's stores on a machine.
func (c *cluster) servePersist(machine int) {
	c.Start(machine, "serve", func(h host.Host) {
		_, err := persist.ServeBlob(h, "blob")
		require.NoError(c.t, err)
		_, _, err = persist.ServeConsensus(h, "consensus")
		require.NoError(c.t, err)
	})()
}

func persistClient(h host.Host, server string) *persist.Client {
	return persist.NewClient(h,
		persist.NewBlobClient(h, host.JoinAddr(server, "blob")),
		persist.NewConsensusClient(h, host.JoinAddr(server, "consensus")),
		persist.Config{RetryMax: 50 * time.Millisecond, PollMax: 20 * time.Millisecond})
}

// The durable shards of package persist, served from one host's directory and used from others
// through TCP, outlive the servers' processes.
func TestPersist(t *testing.T) {
	const server, writing, reading = 0, 1, 2
	c := newCluster(t, 3)
	serve := func() { c.servePersist(server) }
	client := func(h host.Host) *persist.Client { return persistClient(h, c.Host(server).Name()) }
	appendOne := func(w *persist.WriteHandle, n uint64) {
		updates := []persist.Update{{Data: fmt.Sprint("fruit ", n%3), Time: n, Diff: 1}}
		require.NoError(t, w.CompareAndAppend(background, updates, persist.At(n), persist.At(n+1)))
	}
	requireSnapshot := func(h host.Host, asOf uint64) {
		r, err := client(h).OpenReader(background, "fruit")
		require.NoError(t, err)
		defer r.Close()
		got, err := r.SnapshotAndFetch(background, asOf)
		require.NoError(t, err)
		var want []persist.Update
		for i := range uint64(3) {
			if count := (asOf + 3 - i) / 3; count > 0 {
				want = append(want, persist.Update{Data: fmt.Sprint("fruit ", i), Time: asOf, Diff: int64(count)})
			}
		}
		require.Equal(t, want, got)
	}
	serve()
	const each = 10
	for life := range uint64(3) {
		c.Start(writing, "write", func(h host.Host) {
			w, err := client(h).OpenWriter(background, "fruit")
			require.NoError(t, err)
			require.Equal(t, persist.At(life*each), w.Upper(), "what earlier lives were told is there")
			for n := life * each; n < (life+1)*each; n++ {
				appendOne(w, n)
			}
		})()
		c.Start(reading, "read", func(h host.Host) {
			for asOf := range (life + 1) * each {
				requireSnapshot(h, asOf)
			}
		})()
		c.Restart(server)
		serve()
	}
	// A server that dies while it is written to: the writer finds it again, and each append is in once.
	writer := c.Start(writing, "write on", func(h host.Host) {
		w, err := client(h).OpenWriter(background, "fruit")
		require.NoError(t, err)
		for n := uint64(3 * each); n < 6*each; n++ {
			appendOne(w, n)
			h.Clock().Sleep(time.Millisecond)
		}
	})
	for range 3 {
		c.Start(server, "live a while", func(h host.Host) { h.Clock().Sleep(10 * time.Millisecond) })()
		c.Restart(server)
		serve()
	}
	writer()
	c.Start(reading, "read", func(h host.Host) { requireSnapshot(h, 6*each-1) })()
	for i := range c.hosts {
		for _, tally := range c.hosts[i].Tallies() {
			if tally.Check != "sometimes" {
				require.Equal(t, tally.Met, tally.Held, tally.Name)
			}
		}
	}
}
