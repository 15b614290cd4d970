package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/rpc"
)

const (
	blobNode, blobPort           = "blob", "blob"
	consensusNode, consensusPort = "consensus", "consensus"
)

// persistCluster is the machines behind persist shards: a Blob server, a Consensus server, and a
// rival that appends to shards when a fault says so.
type persistCluster struct {
	r       *Run
	serving map[string]bool
	durable durability
	// consensus is the Consensus server's present life.
	consensus *persist.DiskConsensus
	// flaky is how the stores' clients on each machine fail at present.
	flaky map[string]*flakiness

	rival       *sim.Node
	rivalClient *persist.Client
	rivalCount  int
	rivalBusy   int
}

// addPersist adds the servers to a run.
func addPersist(r *Run) *persistCluster {
	c := &persistCluster{r: r, serving: map[string]bool{}, flaky: map[string]*flakiness{}, durable: durability{r.Check(oracleDurable)}}
	serve := func(name string, start func(h host.Host) error) {
		n := r.AddNode(name, name, func(h host.Host) {
			for err := start(h); err != nil; err = start(h) {
				c.durable.check(name+" starts", err)
				h.Logf("%v", err)
				h.Clock().Sleep(200 * time.Millisecond) // as a supervisor would start it again
			}
			c.serving[name] = true
		})
		n.OnCrash(func() { c.serving[name] = false })
		r.UsesDisk(name)
		r.Ready(name+" serves", func() bool { return c.serving[name] })
		r.Settled(name+" serving again", func() bool { return c.serving[name] })
	}
	serve(blobNode, func(h host.Host) error {
		_, err := persist.ServeBlob(h, blobPort)
		return err
	})
	serve(consensusNode, func(h host.Host) error {
		var err error
		c.consensus, _, err = persist.ServeConsensus(h, consensusPort)
		return err
	})
	return c
}

// client returns a client of the servers for a process. Each machine that makes one can be the
// target of persist.indeterminate.
func (c *persistCluster) client(h host.Host, cfg persist.Config) *persist.Client {
	blob, consensus := c.stores(h)
	return persist.NewClient(h, blob, consensus, cfg)
}

// stores are the servers as a process reaches them.
func (c *persistCluster) stores(h host.Host) (blob persist.Blob, consensus persist.Consensus) {
	opts := rpc.ClientOptions{DialTimeout: 500 * time.Millisecond, CallTimeout: time.Second}
	blob = persist.NewBlobClientOf(rpc.NewClient(h, host.JoinAddr(blobNode, blobPort), opts))
	consensus = persist.NewConsensusClientOf(rpc.NewClient(h, host.JoinAddr(consensusNode, consensusPort), opts))
	if f := c.flaky[h.Name()]; f != nil {
		blob, consensus = &flakyBlob{blob, h, f}, &flakyConsensus{consensus, h, f}
	}
	return blob, consensus
}

// unreliable makes the calls of these machines' clients to the stores the subjects of
// persist.indeterminate.
func (c *persistCluster) unreliable(machines ...string) {
	for _, name := range machines {
		c.flaky[name] = &flakiness{w: c.r.World, calls: c.r.World.NewStream("unreliable", name)}
	}
	c.r.Handle("persist.indeterminate", machines, func(f *faults.Fault) (func(), bool) {
		on := c.flaky[f.Target[0]]
		share := f.PerMillion("share")
		on.share, on.told = on.share+share, f.PerMillion("told")
		return func() { on.share -= share }, true
	})
	c.r.Handle("persist.unavailable", machines, func(f *faults.Fault) (func(), bool) {
		on, store := c.flaky[f.Target[0]], f.Text("store")
		change := func(by int) {
			if store != consensusNode {
				on.blobDown += by
			}
			if store != blobNode {
				on.consensusDown += by
			}
		}
		change(1)
		return func() { change(-1) }, true
	})
}

// rivalTarget is a shard that the rival may append to, and how it does so: recorded as the shard's
// oracles need it.
type rivalTarget struct {
	shard  string
	append func(ctx context.Context, w *persist.WriteHandle, updates []persist.Update, expected, next persist.Frontier)
}

// rivals adds a machine that appends to shards on persist.upper_mismatch.
func (c *persistCluster) rivals(targets []rivalTarget) {
	c.rival = c.r.AddNode(rivalNode, "rival", func(h host.Host) {
		c.rivalBusy = 0
		c.rivalClient = c.client(h, clientConfig)
	})
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.shard
	}
	c.r.Handle("persist.upper_mismatch", names, func(f *faults.Fault) (func(), bool) {
		if !c.rival.Up() || c.rivalClient == nil {
			return nil, false
		}
		c.rivalCount++
		number, h, client := c.rivalCount, c.rival.Host(), c.rivalClient
		target := targets[slices.Index(names, f.Target[0])]
		c.rivalBusy++
		h.Go("rival append", func() {
			c.rivalAppend(h, client, target, number, f.Int("rows"))
			c.rivalBusy--
		})
		return nil, true
	})
	c.r.Settled("the rival being done", func() bool { return c.rivalBusy == 0 })
	c.reaper(targets)
}

const reaperNode = "reaper"

// reaper adds a machine whose clock is far ahead, out of the reach of faults. What it commits to a
// shard, on persist.lease_expire, ends the leases of all readers there.
func (c *persistCluster) reaper(targets []rivalTarget) {
	var client *persist.Client
	node := c.r.World.NewNode(reaperNode, func(h host.Host) { client = c.client(h, clientConfig) })
	node.SetClock(reaperAhead, 0)
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.shard
	}
	busy := 0
	c.r.Handle("persist.lease_expire", names, func(f *faults.Fault) (func(), bool) {
		if client == nil {
			return nil, false
		}
		target := targets[slices.Index(names, f.Target[0])]
		h := node.Host()
		busy++
		h.Go("reap", func() {
			c.reap(h, client, target, f.Int("times"))
			busy--
		})
		return nil, true
	})
	c.r.Settled("the reaper being done", func() bool { return busy == 0 })
}

// reap commits appends that leave everything but the leases as it is, one after the other.
func (c *persistCluster) reap(h host.Host, client *persist.Client, target rivalTarget, times int) {
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	w, err := client.OpenWriter(ctx, persist.ShardID(target.shard))
	if err != nil {
		c.durable.check("open writer", err)
		return
	}
	for range times {
		upper, err := w.FetchRecentUpper(ctx)
		c.durable.check("fetch upper", err)
		if err != nil {
			return
		}
		target.append(ctx, w, nil, upper, upper)
	}
}

const rivalNode = "rival"

// rivalAppend appends at the upper as it is, once.
func (c *persistCluster) rivalAppend(h host.Host, client *persist.Client, target rivalTarget, number, rows int) {
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	w, err := client.OpenWriter(ctx, persist.ShardID(target.shard))
	if err != nil {
		c.durable.check("open writer", err)
		return
	}
	upper, err := w.FetchRecentUpper(ctx)
	t, open := upper.Time()
	if err != nil || !open {
		c.durable.check("fetch upper", err)
		return
	}
	updates := make([]persist.Update, rows)
	for i := range updates {
		updates[i] = persist.Update{Data: fmt.Sprintf("rival-%d-%d", number, i), Time: t, Diff: 1}
	}
	target.append(ctx, w, updates, upper, persist.At(t+1+uint64(number%3)))
}

// durability is the oracle persist/durable: no handle ever finds that something acknowledged is
// missing or damaged. Faults that lose or damage synced data are not among those that these
// scenarios use.
type durability struct{ *Check }

const oracleDurable = "persist/durable"

func (d durability) check(op string, err error) {
	lost := errors.Is(err, persist.ErrCorrupt) || errors.Is(err, persist.ErrRegressed) || errors.Is(err, persist.ErrMissingBlob)
	if !d.Holds(!lost, "%s: %v", op, err) {
		d.r.World.Stop() // what is lost stays lost
	}
}
