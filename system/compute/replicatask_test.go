package compute

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/host"
)

func TestSpecializeCommand(t *testing.T) {
	task := &ReplicaTask{
		epoch: protocol.Epoch{Controller: 3, Replica: 7}, dyncfg: &DynamicConfig{},
		config: ReplicaConfig{
			Timely: protocol.TimelyConfig{Budget: 5}, Logging: protocol.LoggingConfig{Interval: time.Second}, Expiration: time.Hour,
		},
	}
	require.Equal(t, protocol.CreateTimely{Config: task.config.Timely, Epoch: task.epoch}, task.specializeCommand(protocol.CreateTimely{}))
	require.Equal(t, protocol.CreateInstance{Logging: task.config.Logging}, task.specializeCommand(protocol.CreateInstance{}), "expiration is not enabled")
	task.dyncfg.SetExpiration(true)
	require.Equal(t, protocol.CreateInstance{Logging: task.config.Logging, Expiration: time.Hour}, task.specializeCommand(protocol.CreateInstance{}))
	for _, cmd := range []protocol.Command{protocol.Schedule{ID: 1}, protocol.AllowWrites{}, protocol.Peek{ID: "p"}} {
		require.Equal(t, cmd, task.specializeCommand(cmd))
	}
}

func TestBackoff(t *testing.T) {
	want := []time.Duration{125, 250, 500, 1000, 1000}
	for i, w := range want {
		require.Equal(t, w*time.Millisecond, backoff(i))
	}
	require.Equal(t, time.Second, backoff(1_000_000))
}

func TestHydrationConcurrency(t *testing.T) {
	var d DynamicConfig
	require.Equal(t, 4, d.HydrationConcurrency())
	d.SetHydrationConcurrency(2)
	require.Equal(t, 2, d.HydrationConcurrency())
}

// spawn starts a task of a world's own process.
func spawn(w *sim.World, responses *host.Chan[taggedResponse]) *replicaClient {
	return spawnReplicaTask(&ReplicaTask{
		h: w.Host(), replicaID: "r", config: ReplicaConfig{Address: "r:compute"}, buildInfo: protocol.BuildInfo{Version: "1"},
		responseTx: responses, epoch: protocol.Epoch{Controller: 1, Replica: 9}, metrics: &ReplicaMetrics{},
		dyncfg: &DynamicConfig{}, observer: nobody{},
	}, background, 100)
}

// A task connects for as long as it takes, forwards in order what was queued meanwhile, and returns responses
// with its incarnation. It ends well when the controller closes its queue.
func TestReplicaTask(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	var got []protocol.Command
	node := w.NewNode("r", func(h host.Host) {
		h.Clock().Sleep(3 * time.Second) // nobody listens at first
		l, err := h.Net().Listen("compute")
		require.NoError(t, err)
		raw, err := l.Accept(background)
		require.NoError(t, err)
		conn, err := protocol.Accept(background, h, raw, protocol.BuildInfo{Version: "1"}, protocol.ConnConfig{})
		require.NoError(t, err)
		for {
			cmd, err := conn.RecvCommand(background)
			if err != nil {
				return
			}
			got = append(got, cmd)
			require.NoError(t, conn.SendResponse(background, protocol.Frontiers{ID: protocol.GlobalID(len(got))}))
		}
	})
	w.Go("test", func() {
		responses := host.NewChan[taggedResponse](w.Host(), "responses", host.Unbounded)
		c := spawn(w, responses)
		for _, cmd := range []protocol.Command{protocol.CreateTimely{}, protocol.CreateInstance{}, protocol.Schedule{ID: 4}} {
			c.send(cmd)
		}
		require.Equal(t, int64(3), c.task.metrics.CommandQueue.Load())
		for i := range 3 {
			r, _ := responses.Recv()
			require.Equal(t, taggedResponse{"r", 9, protocol.Frontiers{ID: protocol.GlobalID(i + 1)}}, r)
		}
		require.True(t, c.connected())
		require.Greater(t, c.task.metrics.Attempts.Load(), int64(3))
		require.Equal(t, int64(1), c.task.metrics.Connects.Load())
		require.Equal(t, []protocol.Command{protocol.CreateTimely{Epoch: c.task.epoch}, protocol.CreateInstance{}, protocol.Schedule{ID: 4}}, got)
		c.task.commandRx.Close()
		w.Sleep(time.Second)
		require.True(t, c.failed())
		require.False(t, c.connected())

		other := spawn(w, responses)
		w.Sleep(5 * time.Second)
		require.False(t, other.failed(), "it goes on trying")
		other.end()
		w.Sleep(5 * time.Second)
		require.True(t, other.failed(), "until it is not wanted any more")
		require.True(t, node.Up())
	})
	require.NoError(t, w.Run())
}

// The end of the connection is the end of the task.
func TestReplicaTaskEndsWithItsConnection(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	node := w.NewNode("r", func(h host.Host) {
		l, err := h.Net().Listen("compute")
		require.NoError(t, err)
		for {
			raw, err := l.Accept(background)
			require.NoError(t, err)
			_, err = protocol.Accept(background, h, raw, protocol.BuildInfo{Version: "1"}, protocol.ConnConfig{})
			require.NoError(t, err)
		}
	})
	w.Go("test", func() {
		responses := host.NewChan[taggedResponse](w.Host(), "responses", host.Unbounded)
		for _, end := range []struct {
			name string
			cut  func()
		}{
			{"reset", func() { require.Positive(t, w.ResetConns("r", w.Host().Name())) }},
			{"crash", func() { node.Crash(); node.Restart() }},
			{"power", func() { node.PowerOff(); node.Restart() }},
		} {
			c := spawn(w, responses)
			for !c.connected() {
				w.Sleep(time.Millisecond)
			}
			end.cut()
			w.Sleep(10 * time.Second)
			require.True(t, c.failed(), end.name)
		}
	})
	require.NoError(t, w.Run())
}

// While the controller is busy responses stay on the connection, but for a few, and all come in the end.
func TestResponsesWaitForTheController(t *testing.T) {
	const all, length = 60, 100_000
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	sent := 0
	w.NewNode("r", func(h host.Host) {
		l, err := h.Net().Listen("compute")
		require.NoError(t, err)
		raw, err := l.Accept(background)
		require.NoError(t, err)
		conn, err := protocol.Accept(background, h, raw, protocol.BuildInfo{Version: "1"}, protocol.ConnConfig{})
		require.NoError(t, err)
		for range all {
			require.NoError(t, conn.SendResponse(background, protocol.PeekResponse{ID: "p", Error: strings.Repeat("x", length)}))
			sent++
		}
		_, err = conn.RecvCommand(background)
		require.Error(t, err)
	})
	w.Go("test", func() {
		responses := host.NewChan[taggedResponse](w.Host(), "responses", responseQueue)
		c := spawn(w, responses)
		w.Sleep(time.Minute)
		require.True(t, c.connected(), "nobody takes the other for dead")
		// In the two queues, in hand of the two tasks, and under way.
		require.LessOrEqual(t, sent, responseQueue+receivedQueue+2+3)
		for range all {
			_, ok := responses.Recv()
			require.True(t, ok)
		}
		require.Equal(t, all, sent)
		c.end()
	})
	require.NoError(t, w.Run())
	require.Positive(t, w.Sometimes()["compute: a response waits for a busy controller"])
}
