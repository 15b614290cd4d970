package compute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/host"
)

// ReplicaTask is one connection to a replica: it makes it, forwards commands and returns responses, and ends
// when the connection does, or when the controller wants it to.
type ReplicaTask struct {
	h    host.Host
	life context.Context // done when the controller has no use for the task any more

	// replicaID is the replica.
	replicaID protocol.ReplicaID
	// config is how it is reached and set up.
	config ReplicaConfig
	// buildInfo is what the replica's must be.
	buildInfo protocol.BuildInfo
	// commandRx brings the commands for the replica. It is closed when there will be no more.
	commandRx *host.Chan[protocol.Command]
	// responseTx takes what the replica answers, and what those of all other replicas do.
	responseTx *host.Chan[taggedResponse]
	// epoch is that of the connection. It grows from task to task of a replica.
	epoch protocol.Epoch
	// metrics are the replica's.
	metrics *ReplicaMetrics
	// dyncfg is configuration that may change.
	dyncfg *DynamicConfig

	observer Observer
	// connected is closed once the connection is made, finished when the task has ended.
	connected, finished *host.Chan[struct{}]
	// reason is why it has ended, if the controller did not want it to.
	reason error
}

// taggedResponse is a response with the replica and the incarnation that it comes from.
type taggedResponse struct {
	replica     protocol.ReplicaID
	incarnation uint64
	response    protocol.Response
}

// run is the task.
func (t *ReplicaTask) run() {
	defer t.finished.Close()
	client, err := t.connect()
	if err == nil {
		t.connected.Close()
		t.observer.Observe(ReplicaConnected{t.replicaID, t.epoch})
		err = t.runMessageLoop(client)
		client.close()
	}
	switch {
	case t.life.Err() != nil:
		t.h.Logf("compute: replica %s, epoch %v: given up", t.replicaID, t.epoch)
	case err != nil:
		t.h.Logf("compute: replica %s, epoch %v: failed: %v", t.replicaID, t.epoch, err)
	default:
		t.h.Logf("compute: replica %s, epoch %v: done", t.replicaID, t.epoch)
	}
	t.reason = err
	t.observer.Observe(ReplicaTaskEnded{t.replicaID, t.epoch, err})
}

// The waits between attempts to connect.
const (
	firstBackoff = 125 * time.Millisecond
	longestWait  = time.Second
)

// backoff is how long after the i-th attempt, from 0, the next one is made.
func backoff(i int) time.Duration {
	if i > 3 {
		return longestWait
	}
	return min(firstBackoff<<i, longestWait)
}

// connect connects to the replica, for as long as that takes. The error is that of the task's end.
func (t *ReplicaTask) connect() (*SequentialHydration, error) {
	for attempt := 0; ; attempt++ {
		began := t.h.Clock().Now()
		// From the beginning of one attempt to that of the next: one that takes long is followed at once.
		wait, cancel := t.h.Clock().WithTimeout(t.life, backoff(attempt))
		t.metrics.Attempts.Add(1)
		conn, err := t.dial()
		if err == nil {
			cancel()
			t.metrics.connected(t.h.Clock().Since(began))
			t.h.Sometimes("compute: a replica was reached only after several attempts", attempt > 2)
			return newSequentialHydration(t.h, t.life, conn, t.dyncfg.HydrationConcurrency, t.metrics), nil
		}
		var mismatch *protocol.VersionMismatch
		t.h.Sometimes("compute: a replica of another version was met", errors.As(err, &mismatch))
		t.h.Logf("compute: connecting to replica %s at %s: %v", t.replicaID, t.config.Address, err)
		host.Select(t.h, host.OnDone(wait))
		cancel()
		if t.life.Err() != nil {
			return nil, t.life.Err()
		}
	}
}

func (t *ReplicaTask) dial() (*protocol.Conn, error) {
	ctx, cancel := t.h.Clock().WithTimeout(t.life, t.config.connectTimeout())
	defer cancel()
	return protocol.Dial(ctx, t.h, t.config.Address, t.buildInfo, t.config.Conn)
}

// runMessageLoop forwards commands and responses until either end is gone: nil says that it was the
// controller's.
func (t *ReplicaTask) runMessageLoop(client *SequentialHydration) error {
	var (
		cmd protocol.Command
		in  received
		ok  bool
	)
	cases := []host.Case{
		host.OnDone(t.life),
		t.commandRx.OnRecv(&cmd, &ok),
		client.received.OnRecv(&in, nil),
	}
	for {
		switch host.Select(t.h, cases...) {
		case 0:
			return t.life.Err()
		case 1:
			if !ok {
				return nil
			}
			if t.h.Buggify("compute/slow commands") {
				t.h.Clock().Sleep(time.Duration(t.h.Rand().IntN(20)) * time.Millisecond)
			}
			cmd = t.specializeCommand(cmd)
			t.observeCommand(cmd)
			if err := client.send(cmd); err != nil {
				return fmt.Errorf("send: %w", err)
			}
		case 2:
			if errors.Is(in.err, io.EOF) {
				return fmt.Errorf("the replica has closed the connection: %w", io.ErrUnexpectedEOF)
			}
			if in.err != nil {
				return fmt.Errorf("receive: %w", in.err)
			}
			t.observeResponse(in.response)
			t.h.Sometimes("compute: a response waits for a busy controller", t.responseTx.Len() >= responseQueue)
			if err := t.responseTx.SendContext(t.life, taggedResponse{t.replicaID, t.epoch.Replica, in.response}); err != nil {
				return err
			}
			if err := client.absorb(in.response); err != nil {
				return fmt.Errorf("send: %w", err)
			}
		}
	}
}

// specializeCommand makes of a command for all replicas the one for this replica, on this connection.
func (t *ReplicaTask) specializeCommand(cmd protocol.Command) protocol.Command {
	switch cmd := cmd.(type) {
	case protocol.CreateTimely:
		cmd.Config = t.config.Timely
		cmd.Epoch = t.epoch
		return cmd
	case protocol.CreateInstance:
		cmd.Logging = t.config.Logging
		if t.dyncfg.Expiration() {
			cmd.Expiration = t.config.Expiration
		}
		return cmd
	}
	return cmd
}

// observeCommand counts a command that is about to be sent.
func (t *ReplicaTask) observeCommand(cmd protocol.Command) {
	t.metrics.Commands.Add(1)
	t.metrics.CommandQueue.Store(int64(t.commandRx.Len()))
	t.observer.Observe(CommandSent{t.replicaID, t.epoch, cmd})
}

// observeResponse counts a response that was received.
func (t *ReplicaTask) observeResponse(r protocol.Response) {
	t.metrics.Responses.Add(1)
	t.observer.Observe(ResponseReceived{t.replicaID, t.epoch, r})
}

// replicaClient is the controller's end of a task.
type replicaClient struct {
	task *ReplicaTask
	end  context.CancelFunc
	// backlog is how many commands may wait to be sent.
	backlog int
	// behind: more would have waited, and the task was given up.
	behind bool
}

// spawnReplicaTask starts a task, for which so many commands may wait.
func spawnReplicaTask(t *ReplicaTask, life context.Context, backlog int) *replicaClient {
	c := &replicaClient{task: t, backlog: backlog}
	t.life, c.end = host.WithCancel(t.h, life)
	t.commandRx = host.NewChan[protocol.Command](t.h, "compute commands for "+string(t.replicaID), host.Unbounded)
	t.connected = host.NewChan[struct{}](t.h, "compute connected", 0)
	t.finished = host.NewChan[struct{}](t.h, "compute finished", 0)
	t.h.Go("compute replica task "+string(t.replicaID), t.run)
	return c
}

// send queues a command. A task that has ended does not miss it: the next one is given the history. It forgets what no
// longer matters, as a queue does not, so that a task which can't keep up, or finds nobody, is given up for the next one.
func (c *replicaClient) send(cmd protocol.Command) {
	switch {
	case c.behind || c.failed():
		return
	case c.task.commandRx.Len() >= c.backlog:
		c.task.h.Sometimes("compute: a replica fell behind with commands", true)
		c.task.h.Logf("compute: replica %s, epoch %v: %d commands wait, and the connection is given up", c.task.replicaID, c.task.epoch, c.backlog)
		c.behind = true
		c.end()
		return
	}
	c.task.commandRx.Send(cmd)
	c.task.metrics.CommandQueue.Store(int64(c.task.commandRx.Len()))
}

func (c *replicaClient) failed() bool { return c.task.finished.Closed() }

// refused tells whether the replica has refused the task for a later controller's sake.
func (c *replicaClient) refused() bool {
	var stale *protocol.StaleEpoch
	return c.failed() && errors.As(c.task.reason, &stale) && stale.Seen.Controller > stale.Epoch.Controller
}

func (c *replicaClient) connected() bool { return c.task.connected.Closed() && !c.failed() }
