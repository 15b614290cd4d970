package compute_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// What a replica tells of itself is there to be peeked: how far its collections are, what their operators hold, and
// which peeks wait.
func TestLogs(t *testing.T) {
	inCluster(t, 1, 2, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5}, [2]int64{2, 7}, [2]int64{3, 7})
		controller := c.controller(t, compute.Config{})
		_, err := controller.PeekLog("r1", protocol.LogPeeks, nil)
		require.ErrorIs(t, err, compute.ErrUnknownReplica)
		for _, name := range []string{"r1", "r2"} {
			cfg := address(name)
			cfg.Logging.Interval = 100 * time.Millisecond
			require.NoError(t, controller.AddReplica(protocol.ReplicaID(name), cfg))
		}
		create(t, controller, compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: indexed})
		_, err = controller.PeekLog("r1", protocol.LogPeeks, nil)
		require.ErrorIs(t, err, compute.ErrNoLog)
		controller.InitializationComplete()
		peek(t, controller, compute.PeekRequest{Target: 1, Timestamp: 10})
		waiting, err := controller.Peek(compute.PeekRequest{Target: 1, Timestamp: 99})
		require.NoError(t, err)

		read := func(l protocol.Log, plan dataflow.Plan) (rows [][]dataflow.Datum) {
			p, err := controller.PeekLog("r1", l, &plan)
			if err != nil {
				require.ErrorIs(t, err, compute.ErrNoLog)
				return nil
			}
			counts, err := p.Wait(background)
			require.NoError(t, err)
			for _, r := range counts {
				data, err := r.Row.Unpack()
				require.NoError(t, err)
				rows = append(rows, data)
			}
			return rows
		}
		peeked := dataflow.Get(protocol.PeekSource)
		c.eventually(t, "the peek is in the log of every worker", func() bool {
			rows := read(protocol.LogPeeks, peeked)
			for _, r := range rows {
				require.Equal(t, []dataflow.Datum{dataflow.String(string(waiting.ID())), dataflow.Int(1), dataflow.Int(99)}, r[1:])
			}
			return len(rows) == c.workers
		})
		slowest := peeked.Reduce([]dataflow.Expr{dataflow.Col(1)}, dataflow.Min(dataflow.Col(2)), dataflow.CountAll())
		c.eventually(t, "the log has come to the frontier", func() bool {
			rows := read(protocol.LogFrontiers, slowest)
			return len(rows) == 1 && rows[0][1] == dataflow.Int(11) && rows[0][2] == dataflow.Int(int64(c.workers))
		})
		held := peeked.Reduce([]dataflow.Expr{dataflow.Col(4)}, dataflow.Sum(dataflow.Col(5)))
		c.eventually(t, "three groups are held and arranged", func() bool {
			found := map[string]dataflow.Datum{}
			for _, r := range read(protocol.LogOperators, held) {
				found[r[0].Text()] = r[1]
			}
			return found["reduce"].Int() >= 3 && found["arrange"] == dataflow.Int(3)
		})
		waiting.Cancel()
		c.eventually(t, "the peek is over", func() bool { return len(read(protocol.LogPeeks, peeked)) == 0 })
		tab.write(20)
		require.Len(t, peek(t, controller, compute.PeekRequest{Target: 1, Timestamp: 20, Replica: "r2"}), 3)
	})
}

// Who alone was asked can be lost.
func TestTargetIsLost(t *testing.T) {
	inCluster(t, 1, 2, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5})
		controller := c.controller(t, compute.Config{})
		require.NoError(t, controller.AddReplica("r1", address("r1")))
		require.NoError(t, controller.AddReplica("r2", address("r2")))
		create(t, controller, compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: indexed})
		controller.InitializationComplete()
		require.Len(t, peek(t, controller, compute.PeekRequest{Target: 1, Timestamp: 10, Replica: "r1"}), 1)
		_, err := controller.Peek(compute.PeekRequest{Target: 1, Timestamp: 10, Replica: "r3"})
		require.ErrorIs(t, err, compute.ErrUnknownReplica)
		lost, err := controller.Peek(compute.PeekRequest{Target: 1, Timestamp: 99, Replica: "r1"})
		require.NoError(t, err)
		other, err := controller.Peek(compute.PeekRequest{Target: 1, Timestamp: 99})
		require.NoError(t, err)
		c.w.Node("r1").PowerOff()
		_, err = lost.Wait(background)
		require.ErrorIs(t, err, compute.ErrReplicaLost)
		require.NoError(t, tab.writer.CompareAndAppend(background, nil, persist.At(11), persist.At(100)))
		rows, err := other.Wait(background)
		require.NoError(t, err)
		require.Len(t, rows, 1)
	})
}
