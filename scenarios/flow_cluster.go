package scenarios

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// flowCluster is the machines of a system of flows.
type flowCluster struct {
	*persistCluster
	model *models.Flows
	watch *flowWatch
	users []*flowUser

	frontends []string
	mirrors   map[string]*mirrorFaults // by frontend
	nodes     map[string]*flowMachine
	nodeNames []string
	serving   map[string]bool

	lonely         catalog.TableID
	ready          bool
	ops, succeeded int
}

// flowMachine is a flow node over all its lives.
type flowMachine struct {
	name    string
	machine *sim.Node
	node    *flow.Node // of the present life, nil before it has begun
	faults  *backendFaults
	told    *requestFaults
}

func (c *flowCluster) addFrontends() {
	r := c.r
	c.frontends, c.nodeNames = shardNames("frontend-", r.Int("frontends")), shardNames("flow-", r.Int("flownodes"))
	c.mirrors, c.serving = map[string]*mirrorFaults{}, map[string]bool{}
	for _, name := range c.frontends {
		faults := &mirrorFaults{choices: r.World.NewStream("mirror", name)}
		faults.patience = []time.Duration{15 * time.Millisecond, 50 * time.Millisecond, 300 * time.Millisecond, time.Second}[r.World.NewStream("patience", name).N(4)]
		c.mirrors[name] = faults
		n := r.AddNode(name, "frontend", func(h host.Host) {
			f := frontend.New(h, c.client(h, c.config()), frontend.Config{
				Nodes: c.nodeNames, MirrorTimeout: time.Second, FlowTimeout: statementTimeout - 500*time.Millisecond,
				StatementTimeout: statementTimeout, History: 64, SweepInterval: time.Second,
				Mirror: func(_ string, to frontend.Inserter) frontend.Inserter { return &flakyMirror{to, h, faults} },
				Handle: func(node string, to frontend.Handler) frontend.Handler { return &flakyNode{to, h, c.nodes[node].told} },
			})
			if _, err := frontend.Serve(f, frontend.Port); err != nil {
				h.Logf("%v", err)
				return
			}
			c.serving[name] = true
		})
		n.OnCrash(func() { c.serving[name] = false })
		r.Ready(name+" serving", func() bool { return c.serving[name] })
		r.Settled(name+" serving again", func() bool { return c.serving[name] })
	}
	c.unreliable(c.frontends...)
	// Somebody who commits to the catalog and changes nothing, but sees that leases have run out.
	c.reaper([]rivalTarget{{string(catalog.Shard), func(ctx context.Context, w *persist.WriteHandle, updates []persist.Update, expected, next persist.Frontier) {
		_ = w.CompareAndAppend(ctx, updates, expected, next)
	}}})
}

// config is how frontends use persist.
func (c *flowCluster) config() persist.Config {
	if c.r.planned("persist.lease_expire") {
		return expirable
	}
	return clientConfig
}

// addresses are those of the frontends, beginning with another one for each who asks.
func (c *flowCluster) addresses(first int) []string {
	all := make([]string, len(c.frontends))
	for i := range all {
		all[i] = host.JoinAddr(c.frontends[(first+i)%len(c.frontends)], frontend.Port)
	}
	return all
}

func (c *flowCluster) addNodes() {
	network := frontend.NewClient(c.r.World.Host(), flowCallTimeout, c.addresses(0)...)
	for i, name := range c.nodeNames {
		m := &flowMachine{
			name: name, told: &requestFaults{choices: c.r.World.NewStream("requests", name)},
			faults: &backendFaults{
				choices: c.r.World.NewStream("backend", name), network: network, onOpen: c.writeOpen, names: map[catalog.TableID]string{},
				contended: c.contended,
			},
		}
		c.nodes[name] = m
		caps := drawCaps(c.r.World.NewStream("caps", name))
		m.machine = c.r.AddNode(name, "flow", func(h host.Host) {
			backend := &flakyBackend{frontend.NewClient(h, flowCallTimeout, c.addresses(i)...), c.r.World, h, m.faults}
			cfg := flow.Config{
				SendBufRows: caps.rows, SendBufCap: caps.batches, BroadcastCap: caps.batches, HoldCap: caps.held, InsertTimeout: caps.patience,
				RunInterval: 100 * time.Millisecond, CatchUpInterval: 400 * time.Millisecond, ReconcileInterval: 700 * time.Millisecond,
				CallTimeout: flowCallTimeout, RefillBackoff: 50 * time.Millisecond,
			}
			node, err := flow.StartNode(h, backend, cfg, c)
			if err != nil {
				h.Logf("%v", err)
				return
			}
			m.node = node
		})
		m.machine.OnCrash(func() { m.node = nil })
		c.r.Ready(name+" serving", func() bool { return m.node != nil })
		c.r.Settled(name+" serving again", func() bool { return m.node != nil })
	}
}

// caps are the sizes of a node's buffers; 0 is the default, which is more than there are rows in a run.
type caps struct {
	rows, batches, held int
	patience            time.Duration // of inserts, with a buffer that is full
}

func drawCaps(draw *sim.Stream) caps {
	if draw.N(3) > 0 {
		return caps{}
	}
	return caps{
		// Those that overflow while a table is read, and those that seldom do.
		rows: 1 + int(draw.N(4)), batches: 1 + int(draw.N(3)), held: 1 + int(draw.N(1<<draw.N(5))),
		patience: time.Duration(5+draw.N(100)) * time.Millisecond,
	}
}

// Observe implements flow.Observer.
func (c *flowCluster) Observe(e flow.Event) {
	c.r.World.Op(fmt.Sprintf("%T%v", e, e))
}

func (c *flowCluster) addFaults() {
	c.r.Handle("flow.restart", c.nodeNames, func(f *faults.Fault) (func(), bool) {
		n := c.nodes[f.Target[0]]
		if !n.machine.Up() {
			return nil, false
		}
		if f.Text("at") == "writing" {
			death := &nodeDeath{late: f.Duration("late"), begin: func() bool {
				if !c.r.Working() {
					return false
				}
				c.r.World.Go("restart "+n.name, func() { c.restart(n, f) })
				return true
			}}
			n.faults.dies = death
			c.r.World.Go("restart "+n.name+" no more", func() {
				c.r.World.Sleep(restartWithin)
				if n.faults.dies == death { // and not a later one's
					n.faults.dies = nil
				}
			})
			return nil, true
		}
		c.restart(n, f)
		return nil, true
	})
	handleBackends(c.r, c.nodeNames, func(machine string) *backendFaults { return c.nodes[machine].faults }, c.disturbed)
	c.r.Handle("frontend.forget", c.nodeNames, func(f *faults.Fault) (func(), bool) {
		on := c.nodes[f.Target[0]].faults
		on.forgetful++
		c.disturbed()
		return func() { on.forgetful-- }, true
	})
	c.r.Handle("flow.untold", c.nodeNames, func(f *faults.Fault) (func(), bool) {
		on := c.nodes[f.Target[0]].told
		end := loseCalls(&on.lost, &on.late, f)
		c.disturbed()
		return end, true
	})
	handleMirrors(c.r, c.frontends, c.mirrors)
}

// restartWithin is how long a restart waits for the write that it is to interrupt.
const restartWithin = time.Second

// restart has a node die and start anew, which can't look into the catalog for a while, and then reads tables slowly for as
// long.
func (c *flowCluster) restart(n *flowMachine, f *faults.Fault) {
	cold := f.Duration("cold")
	reads := cold / 4
	n.faults.cold++
	n.faults.reads += reads
	c.r.World.Go("warm up "+n.name, func() {
		c.r.World.Sleep(cold)
		n.faults.cold--
		c.r.World.Sleep(cold)
		n.faults.reads -= reads
	})
	n.machine.Crash()
	n.machine.Restart()
	c.disturbed()
}

// setup creates the tables and begins to watch them.
func (c *flowCluster) setup() {
	h := c.r.World.Host()
	client := frontend.NewClient(h, flowCallTimeout, c.addresses(0)...)
	for _, name := range []string{eventsTable, stateTable} {
		for {
			_, err := client.Execute(context.Background(), flowTables[name].create)
			if err == nil {
				err = c.watch.open(name)
			}
			if err == nil {
				break
			}
			h.Clock().Sleep(50 * time.Millisecond)
		}
	}
	for c.lonely == 0 {
		if _, err := client.Execute(context.Background(), createShared+";"+createLonely); err == nil {
			ctx, cancel := c.watch.ask()
			if t, err := c.watch.catalog.Table(ctx, catalog.Public(lonelyTable)); err == nil {
				c.lonely = t.ID
			}
			cancel()
		}
		h.Clock().Sleep(poll)
	}
	c.ready = true
}

// refilling tells what the nodes are still without, as the catalog has it; "" is nothing.
func (c *flowCluster) refilling(ctx context.Context) (string, error) {
	list, _, err := c.watch.catalog.Flows(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range c.nodeNames {
		node := c.nodes[name].node
		if node == nil {
			return name + " is down", nil
		}
		s := node.Status()
		if len(s.Refilling) > 0 {
			return fmt.Sprintf("%s refills flows %v", name, s.Refilling), nil
		}
		for _, f := range list {
			if f.Node == name && !slices.Contains(s.Flows, f.ID) {
				return fmt.Sprintf("%s does not run flow %s", name, f.Name), nil
			}
		}
	}
	return "", nil
}
