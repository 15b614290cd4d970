package compute_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/compute/replica"
	"github.com/simrun-dev/simrun/system/dataflow"
)

// Commands for a replica that can't be reached don't pile up: its task is given up for one that is told only what still
// matters.
func TestCommandsDoNotPileUp(t *testing.T) {
	w := inCluster(t, 1, 1, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5})
		controller := c.controller(t, compute.Config{CommandBacklog: 10})
		create(t, controller, compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: indexed})
		controller.InitializationComplete()
		node := c.w.Node("r1")
		node.PowerOff()
		require.NoError(t, controller.AddReplica("r1", address("r1")))
		epochs, most := map[protocol.Epoch]bool{}, int64(0)
		for range 100 {
			p, err := controller.Peek(compute.PeekRequest{Target: 1, Timestamp: 10})
			require.NoError(t, err)
			p.Cancel()
			c.w.Sleep(100 * time.Millisecond)
			s, err := controller.Replica("r1")
			require.NoError(t, err)
			epochs[s.Epoch] = true
			most = max(most, s.Metrics.CommandQueue.Load())
		}
		require.Greater(t, len(epochs), 3)
		require.LessOrEqual(t, most, int64(10+5), "beside what a replica is told first: two beginnings, a dataflow, its schedule, the end")
		waits, err := controller.Peek(compute.PeekRequest{Target: 1, Timestamp: 20})
		require.NoError(t, err)
		node.Restart()
		tab.write(20)
		rows, err := waits.Wait(background)
		require.NoError(t, err)
		require.Equal(t, counted(pair(1, 5)), rows)
	})
	require.Positive(t, w.Sometimes()["compute: a replica fell behind with commands"])
}

// A subscribe that a replica can't go on with ends with the reason, and its collection goes.
func TestSubscribeFails(t *testing.T) {
	inCluster(t, 1, 2, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5})
		controller := c.controller(t, compute.Config{})
		for _, name := range []string{"r1", "r2"} {
			require.NoError(t, controller.AddReplica(protocol.ReplicaID(name), address(name)))
		}
		controller.UpdateConfiguration(protocol.Parameters{MaxBatchSize: 1000})
		controller.InitializationComplete()
		subscribe := func(id protocol.GlobalID) *compute.Subscription {
			s, err := controller.Subscribe(background, compute.Description{
				ID: id, Plan: dataflow.Get("t"), Shards: imports("t", "t"), Sink: protocol.Sink{Snapshot: true},
			})
			require.NoError(t, err)
			return s
		}
		s := subscribe(1)
		next := func() (err error) {
			for err == nil {
				_, err = s.Next(background)
			}
			return err
		}
		tab.write(20)
		b, err := s.Next(background)
		require.NoError(t, err)
		require.NotEmpty(t, b.Updates, "what is short enough comes")
		big := make([][2]int64, 100)
		for i := range big {
			big[i] = [2]int64{int64(i), 1}
		}
		tab.write(30, big...)
		var failed *compute.SubscribeError
		require.ErrorAs(t, next(), &failed)
		require.Contains(t, failed.Message, "more than 1000")
		require.ErrorIs(t, controller.DropCollections(1), compute.ErrUnknownCollection, "it is dropped")
		c.eventually(t, "its end", func() bool {
			one, err := controller.Replica("r1")
			require.NoError(t, err)
			two, err := controller.Replica("r2")
			require.NoError(t, err)
			return len(one.Frontiers)+len(two.Frontiers) == 0
		})
		accepted := 0
		for _, e := range c.observed {
			if _, ok := e.(replica.Accepted); ok {
				accepted++
			}
		}
		require.Equal(t, 2, accepted, "the connections have lasted")
		controller.UpdateConfiguration(protocol.Parameters{MaxBatchSize: 100_000})
		s = subscribe(2)
		_, err = s.Next(background)
		require.NoError(t, err)
	})
}
