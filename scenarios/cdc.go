package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

const (
	coordNode, coordPort   = "coord", "coord"
	sourceNode, sourcePort = "source", "source"

	oracleAssigned = "cdc/assigned"
	oracleElection = "coord/election"
	// oracleFailed: a changefeed fails only for what really keeps it from going on, and of one that is stopped, or
	// has failed or finished, no checkpoint is stored.
	oracleFailed = "cdc/failed"
)

func cdcSettings(captures, spans string, more ...Setting) []Setting {
	return append([]Setting{
		{Name: "captures", Default: captures, Doc: "machines that capture changes, at most", Check: atLeastOne},
		{Name: "spans", Default: spans, Doc: "key spans at the start, at most", Check: atLeastOne},
		{Name: "write-pace", Default: "60ms", Doc: "mean time between two transactions at the source"},
		{Name: "operator-pace", Default: "500ms", Doc: "mean time between two acts of an operator; many runs are up to 32 times slower"},
		{Name: "recreate", Default: "1", Doc: "1 has changefeeds removed and created again, from a lower start; 0 has not", Check: zeroOrOne},
		{Name: "session-ttl", Default: "4s", Doc: "how long a capture may go unheard before it is taken for dead; many runs have an eighth of it at least"},
		{Name: "safepoint-ttl", Default: "24h", Doc: "how long the source keeps history without hearing of an owner; some runs have 1 to 4 s, unless recreate is 0"},
	}, more...)
}

func zeroOrOne(value string) error {
	if value != "0" && value != "1" {
		return fmt.Errorf("%q is neither 0 nor 1", value)
	}
	return nil
}

// owner is the scenario of a few captures whose owner changes all the time.
func owner() *Scenario {
	return &Scenario{
		Name:     "owner",
		Doc:      "a few captures replicate a changefeed under owners that come and go",
		Settings: cdcSettings("3", "4"),
		Oracles:  cdcOracles,
		Build: func(r *Run) {
			c := addCDC(r, cdcOptions{operators: 1, late: true})
			c.intoDatabase()
			c.handleOwners()
			c.handleStalls()
			c.handleSinks()
			c.handleCrashes()
		},
	}
}

// rebalance is the scenario of captures that come and go while key spans are moved among them.
func rebalance() *Scenario {
	return &Scenario{
		Name:     "rebalance",
		Doc:      "captures come and go while key spans are added, dropped and moved among them",
		Settings: cdcSettings("4", "8"),
		Oracles:  cdcOracles,
		Build: func(r *Run) {
			c := addCDC(r, cdcOptions{operators: 2, changesSpans: true, leaves: true, late: true})
			c.intoDatabase()
			c.handleOwners()
			c.handleStalls()
			c.handleSinks()
			c.handleSlowOwners()
			c.handleCrashes()
			c.handleSource()
		},
	}
}

// changeCapture is the scenario of the whole pipeline of change data capture.
func changeCapture() *Scenario {
	return &Scenario{
		Name:     "cdc",
		Doc:      "change data capture with everything: two changefeeds into persist shards, owners, captures and key spans that come and go, and clients of the coordination service",
		Settings: cdcSettings("3", "5", Setting{Name: "coord-clients", Default: "2", Doc: "machines that use the coordination service directly", Check: atLeastOne}),
		Oracles:  slices.Concat(cdcOracles, []string{models.OracleKV, oracleCoordLease, oracleCoordWatch, oracleDurable}),
		Build: func(r *Run) {
			c := addCDC(r, cdcOptions{feeds: 2, operators: 1, changesSpans: true, leaves: true, late: true})
			c.intoShards(addPersist(r))
			c.handleOwners()
			c.handleStalls()
			c.handleSinks()
			c.handleSlowOwners()
			c.handleCrashes()
			c.handleSource()
			addCoordClients(r, c)
		},
	}
}

var cdcOracles = append(models.CheckpointOracles(), oracleAssigned, oracleElection, oracleFailed)

type cdcOptions struct {
	feeds        int  // 0 is one
	operators    int  // how eagerly key spans are moved and rebalanced
	changesSpans bool // key spans are added and dropped
	leaves       bool // captures leave in good order, and come back
	late         bool // another changefeed is created while everything runs
}

// cdcCluster is the machines of change data capture: a coordination service, a source, captures, and what
// clients do to them.
type cdcCluster struct {
	r        *Run
	opt      cdcOptions
	shape    cdcShape
	gate     *coordGate
	watch    *cdcWatch
	kv       *coord.Store  // the service's present life
	upstream *source.Store // the source's present life
	serving  map[string]bool
	captures map[string]*cdc.Capture
	nodes    []*sim.Node
	feeds    []string
	targets  map[string]model.Ts // where changefeeds end that do
	sinks    func(h host.Host) func(context.Context, model.ChangeFeedID, model.ChangeFeedInfo) (sink.Sink, error)
	// rows reads what the sink of a changefeed's life holds as of a ts.
	rows func(ctx context.Context, life string, asOf model.Ts) (map[string]string, error)
	// latest is whether rows can only tell what there is now.
	latest bool
	// database, if not nil, is the sink, and tells when what is written arrives there; if it is nil, captures
	// tell when they know.
	database *cdcDatabase

	admin          *cdc.Admin
	assigned       *Check
	election       *Check
	failed         *Check
	created        bool
	refusals       []*sinkRefusal
	renewing       map[string]bool // changefeeds that an operator is about to create again
	slow           *slowOwner      // nil while owners are quick
	emptyUntil     time.Duration   // no key span is added before
	archived       model.Ts        // from when on history is held for changefeeds that start early; 0 before
	lives          int             // of changefeeds that were created again
	nextSpan       model.KeySpanID
	txns, txnsDone int
	workers        int
}

func addCDC(r *Run, opt cdcOptions) *cdcCluster {
	shape := drawCDCShape(r)
	c := &cdcCluster{
		r: r, opt: opt, shape: shape, renewing: map[string]bool{}, serving: map[string]bool{}, captures: map[string]*cdc.Capture{}, feeds: []string{"feed"},
		targets: map[string]model.Ts{}, assigned: r.Check(oracleAssigned), election: r.Check(oracleElection), failed: r.Check(oracleFailed), nextSpan: model.KeySpanID(shape.spans + 1),
	}
	for n := 2; n <= opt.feeds; n++ {
		c.feeds = append(c.feeds, fmt.Sprintf("feed%d", n))
	}
	c.watch = newCDCWatch(c)
	c.gate = newCoordGate(r.World, 2*shape.patience, shape.dialCoord(r.World.Host()))
	for _, o := range c.watch.model.Oracles() {
		r.Judge(o)
	}
	c.serve(coordNode, func(h host.Host) error {
		store, _, err := coord.Serve(h, coordPort, shape.coord)
		if err == nil {
			c.kv = store
		}
		return err
	})
	c.serve(sourceNode, func(h host.Host) error {
		store, _, err := source.Serve(h, sourcePort, source.Config{OnCommit: c.watch.committed, RewriteAt: shape.sourceRewriteAt})
		if err == nil {
			c.upstream = store
		}
		return err
	})
	for _, name := range shardNames("capture-", shape.captures) {
		n := r.AddNode(name, "capture", c.boot)
		n.OnCrash(func() {
			c.watch.crashed(name)
			if c.database != nil {
				c.database.crashed(name)
			}
		})
		c.nodes = append(c.nodes, n)
	}
	h := r.World.Host()
	upstream := shape.dialSource(h)
	c.admin = cdc.NewAdmin(h, c.dialCoord(h), upstream)
	r.World.Go("create changefeeds", func() { c.create(upstream) })
	r.Ready("the changefeeds being replicated", func() bool { return c.created && c.watch.storedAll() })
	c.task("transactions", func(draw *sim.Stream) { c.transact(upstream, draw) }, r.Duration("write-pace"))
	for n := range opt.operators {
		c.task(fmt.Sprintf("operator %d", n+1), func(draw *sim.Stream) { c.operate(upstream, draw) }, shape.operators)
	}
	c.task("stop and resume", func(draw *sim.Stream) { c.interrupt(upstream, draw) }, shape.interrupted)
	c.workers++
	r.World.Go("mend", func() { c.keepMending(upstream) })
	c.task("other reader", func(draw *sim.Stream) { c.holdBack(upstream, draw) }, 5*time.Second)
	if shape.archive > 0 {
		c.task("archive", func(*sim.Stream) { c.archive(upstream) }, shape.archive)
	}
	if shape.bulk > 0 {
		c.task("bulk load", func(draw *sim.Stream) { c.load(upstream, draw) }, shape.bulk)
	}
	if r.Int("recreate") == 1 && shape.recreated > 0 {
		c.task("recreate changefeeds", func(draw *sim.Stream) { c.recreate(upstream, draw) }, shape.recreated)
	}
	if opt.late {
		c.workers++
		r.World.Go("create a changefeed late", func() {
			c.createLate(upstream)
			c.workers--
		})
	}
	r.World.Go("look at checkpoints", c.watch.poll)
	r.Count(func() (int, int) { return c.txns, c.txnsDone })
	r.Settled("the workload being done", func() bool { return c.workers == 0 })
	r.Final(c.settle)
	return c
}

// serve adds a server machine, as a supervisor would run it.
func (c *cdcCluster) serve(name string, start func(h host.Host) error) {
	n := c.r.AddNode(name, name, func(h host.Host) {
		for err := start(h); err != nil; err = start(h) {
			h.Logf("%v", err)
			h.Clock().Sleep(100 * time.Millisecond)
		}
		c.serving[name] = true
	})
	n.OnCrash(func() { c.serving[name] = false })
	c.r.UsesDisk(name)
	c.r.Ready(name+" serves", func() bool { return c.serving[name] })
	c.r.Settled(name+" serving again", func() bool { return c.serving[name] })
}

// dialCoord returns a client of the coordination service for a machine, whose writes can be held up.
func (c *cdcCluster) dialCoord(h host.Host) coord.Client {
	return c.gate.through(c.shape.dialCoord(h), h.Name())
}

// boot is what a capture's machine runs.
func (c *cdcCluster) boot(h host.Host) {
	for {
		cfg := c.shape.config
		cfg.Coord, cfg.Upstream = c.dialCoord(h), watchedReader{c.shape.dialSource(h), c.watch, h, h.Name()}
		cfg.Observer = c.watch.on(h)
		open := c.sinks(h)
		cfg.Sinks = func(ctx context.Context, feed model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
			c.watch.opens(h.Name(), feed, info.SinkURI)
			s, err := open(ctx, feed, info)
			if err != nil {
				return nil, err
			}
			return &refusableSink{s, c, feed, info.SinkURI}, nil
		}
		capture, err := cdc.Start(h, cfg)
		if err != nil {
			h.Logf("%v", err)
			h.Clock().Sleep(100 * time.Millisecond)
			continue
		}
		c.captures[h.Name()] = capture
		if !c.opt.leaves {
			return
		}
		stay := sim.NewStream(c.r.World.NewStream("workload", "leave", h.Name(), fmt.Sprint(h.Incarnation())).Uint64(), "stay")
		for {
			h.Clock().Sleep(sim.Exp(time.Second, c.shape.stay).Sample(stay.Uint64()))
			if !c.r.Working() {
				return
			}
			if c.r.Phase() == PhaseStart {
				continue
			}
			ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
			capture.Close(ctx)
			cancel()
			h.Clock().Sleep(sim.Exp(0, time.Second).Sample(stay.Uint64()))
			break
		}
	}
}

// patience is how long a task of the workload sleeps before it looks whether the workload is over.
const patience = 250 * time.Millisecond

// task runs something over and over while the workload runs.
func (c *cdcCluster) task(name string, do func(draw *sim.Stream), pace time.Duration) {
	choices := c.r.World.NewStream("workload", name)
	c.workers++
	c.r.World.Go(name, func() {
		for c.r.Working() {
			draw := sim.NewStream(choices.Uint64(), "operation")
			for pause := sim.Exp(0, pace).Sample(draw.Uint64()); pause > 0 && c.r.Working(); pause -= patience {
				c.r.World.Sleep(min(pause, patience))
			}
			if c.r.Phase() == PhaseFaults {
				do(draw)
			}
		}
		c.workers--
	})
}

// spanRange are the keys of a span.
func spanRange(id model.KeySpanID) (start, end string) {
	return fmt.Sprintf("%04d/", id), fmt.Sprintf("%04d0", id)
}

// create makes the key spans and the changefeeds.
func (c *cdcCluster) create(upstream *source.Client) {
	for id := model.KeySpanID(1); id < c.nextSpan; id++ {
		start, end := spanRange(id)
		c.insist(func(ctx context.Context) error {
			_, err := upstream.AddSpan(ctx, id, start, end)
			return err
		})
	}
	for _, feed := range c.feeds {
		c.insist(func(ctx context.Context) error {
			err := c.admin.Create(ctx, feed, model.ChangeFeedInfo{SinkURI: feed})
			if errors.Is(err, cdc.ErrFeedExists) {
				return nil // an attempt of unknown outcome made it
			}
			return err
		})
	}
	c.archive(upstream)
	c.created = true
}

// insist repeats a call until it succeeds.
func (c *cdcCluster) insist(call func(ctx context.Context) error) {
	h := c.r.World.Host()
	for {
		ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
		err := call(ctx)
		cancel()
		if err == nil {
			return
		}
		h.Clock().Sleep(50 * time.Millisecond)
	}
}

// transact commits a transaction on some keys of some spans.
func (c *cdcCluster) transact(upstream *source.Client, draw *sim.Stream) {
	spans := c.upstream.SpanIDs()
	if len(spans) == 0 {
		return
	}
	c.txns++
	id := fmt.Sprintf("txn-%d", c.txns)
	var mutations []source.Mutation
	for n := draw.Between(1, 4); n > 0; n-- {
		key := fmt.Sprintf("%04d/%d", spans[draw.N(uint64(len(spans)))], draw.N(5))
		if draw.N(4) == 0 {
			mutations = append(mutations, source.Delete(key))
		} else {
			mutations = append(mutations, source.Put(key, fmt.Sprintf("%s.%d", id, n)))
		}
	}
	c.r.World.Op(id)
	ctx, cancel := c.r.World.Host().Clock().WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := upstream.Commit(ctx, id, mutations); err == nil {
		c.txnsDone++
	}
}

// operate is what an operator does: moving and rebalancing, and changing the key spans.
func (c *cdcCluster) operate(upstream *source.Client, draw *sim.Stream) {
	ctx, cancel := c.r.World.Host().Clock().WithTimeout(context.Background(), time.Second)
	defer cancel()
	feed := c.feeds[draw.N(uint64(len(c.feeds)))]
	spans := c.upstream.SpanIDs()
	switch what := draw.N(8); {
	case what == 0:
		_ = c.admin.Rebalance(ctx, feed)
	case what <= 4:
		captures, err := c.admin.Captures(ctx)
		if err != nil || len(captures) == 0 || len(spans) == 0 {
			return
		}
		for n := draw.Between(1, 3); n > 0; n-- {
			_ = c.admin.MoveKeySpan(ctx, feed, spans[draw.N(uint64(len(spans)))], captures[draw.N(uint64(len(captures)))].ID)
		}
	case !c.opt.changesSpans:
	case what <= 6 && c.r.World.Now() < c.emptyUntil:
	case what <= 6:
		start, end := spanRange(c.nextSpan)
		_, _ = upstream.AddSpan(ctx, c.nextSpan, start, end)
		c.nextSpan++
	case c.shape.dropsAll && c.txnsDone > 0 && draw.N(2) == 0:
		// Then nothing is left that says how far the changefeed is.
		for _, span := range spans {
			_, _ = upstream.DropSpan(ctx, span)
		}
		c.emptyUntil = c.r.World.Now() + time.Duration(draw.Between(int64(500*time.Millisecond), int64(5*time.Second)))
		c.r.World.Host().Sometimes(situationNoSpans, len(c.upstream.SpanIDs()) == 0)
	case len(spans) > 2:
		_, _ = upstream.DropSpan(ctx, spans[draw.N(uint64(len(spans)))])
	}
}

// handleOwners makes the owner the subject of faults.
func (c *cdcCluster) handleOwners() {
	c.r.Handle("owner.change", []string{"owner"}, func(f *faults.Fault) (func(), bool) {
		if _, ok := c.leader(); !ok {
			return nil, false
		}
		c.r.World.Go("change the owner", func() {
			c.await(f)
			if f.Text("how") == "resigns" && f.Text("returns") == "yes" {
				c.sendAway(f)
				return
			}
			for n := f.Int("times"); n > 0 && c.r.Working(); n-- {
				epoch := c.changeOwner(f.Text("how"))
				// The next one is to fail before it has done much.
				c.within(3*time.Second, func() bool { leader, ok := c.leader(); return ok && leader.Revision > epoch })
			}
		})
		return nil, true
	})
	c.r.Handle("owner.zombie", []string{"owner"}, func(f *faults.Fault) (func(), bool) {
		n := c.ownerNode()
		if n == nil {
			return nil, false
		}
		held := f.Text("messages") == "held"
		heal, right := func() {}, func() {}
		cut := func() {
			heal = c.r.World.AddRule(sim.Rule{
				Key: f.ID, From: []string{n.Name()}, To: []string{coordNode}, Both: true, Drop: !held, Hold: held,
			})
			right = n.SkewClock(-f.Int("slow"))
		}
		if f.Text("moment") == "storing" {
			c.watch.onTick(n.Name(), cut)
		} else {
			cut()
		}
		return func() {
			c.watch.onTick(n.Name(), nil)
			heal()
			right()
		}, true
	})
}

// handleStalls makes what is written to the coordination service the subject of faults.
func (c *cdcCluster) handleStalls() {
	c.gate.handle(c.r, []string{"owner"}, func(string) *sim.Node { return c.ownerNode() }, func(f *faults.Fault, s *coordStall) {
		switch f.Text("until") {
		case "resigned":
			s.firstCandidature(cdc.OwnerElection)
			c.r.World.Go("end a stall when an owner has resigned again", func() { c.standAgain(s) })
			return
		case "end":
			return
		}
		c.r.World.Go("end a stall when a key span is dispatched", func() {
			c.within(maxStall, func() bool { return s.over.Closed() || s.givenUp > 0 })
			before := c.watch.adds
			c.stirUntil(maxStall, func() bool { return s.over.Closed() || c.watch.adds > before })
			c.r.World.Sleep(f.Duration("after"))
			c.gate.end(s)
		})
	})
}

// maxStall is how long the end of a stall waits for its moment; the fault is over before.
const maxStall = 10 * time.Second

// handleSlowOwners makes the owner's speed the subject of faults.
func (c *cdcCluster) handleSlowOwners() {
	c.r.Handle("owner.slow", []string{"owner"}, func(f *faults.Fault) (func(), bool) {
		if c.slow != nil {
			return nil, false
		}
		upstream := c.shape.dialSource(c.r.World.Host())
		left := f.Int("spans")
		c.slow = &slowOwner{by: f.Duration("by"), meanwhile: func() {
			if left == 0 || !c.r.Working() {
				return
			}
			left--
			c.r.World.Go("add a key span", func() { c.addSpan(upstream) })
		}}
		return func() { c.slow = nil }, true
	})
}

// addSpan adds a key span that begins with a row.
func (c *cdcCluster) addSpan(upstream *source.Client) {
	ctx, cancel := c.r.World.Host().Clock().WithTimeout(context.Background(), time.Second)
	defer cancel()
	id := c.nextSpan
	c.nextSpan++
	start, end := spanRange(id)
	if _, err := upstream.AddSpan(ctx, id, start, end); err != nil {
		return
	}
	c.txns++
	name := fmt.Sprintf("first-%d", c.txns)
	if _, err := upstream.Commit(ctx, name, []source.Mutation{source.Put(fmt.Sprintf("%04d/0", id), name)}); err == nil {
		c.txnsDone++
	}
}

// changeOwner has the owner lose its office, and returns its epoch.
func (c *cdcCluster) changeOwner(how string) coord.Revision {
	h := c.r.World.Host()
	leader, ok := c.leader()
	if !ok {
		return 0
	}
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	switch how {
	case "resigns":
		c.watch.resigning = leader.Revision
		_ = c.admin.Resign(ctx)
	case "crashes":
		if n := c.ownerNode(); n != nil {
			n.Crash()
			h.Go("restart the owner", func() {
				h.Clock().Sleep(300 * time.Millisecond)
				n.Restart()
			})
		}
	default:
		client := c.shape.dialCoord(h)
		if kv, ok, err := coord.ReadKey(ctx, client, leader.Key); err == nil && ok {
			_ = client.Revoke(ctx, kv.Lease)
		}
		client.Close()
	}
	return leader.Revision
}

// await waits for the moment that a fault is to act at, if it is to come soon.
func (c *cdcCluster) await(f *faults.Fault) {
	switch f.Text("moment") {
	case "busy":
		removing := func() bool {
			return slices.ContainsFunc(c.nodes, func(n *sim.Node) bool { return c.watch.removing(n.Name()) })
		}
		c.stirUntil(2*time.Second, removing)
		for _, n := range c.nodes {
			if c.database != nil && c.watch.removing(n.Name()) {
				c.database.hold(n.Name())
			}
		}
	case "resumed":
		c.within(2*time.Second, func() bool { return len(c.watch.resumed) > 0 })
	case "writing":
		c.within(2*time.Second, func() bool { return c.database != nil && c.database.writing() != "" })
	default:
		return
	}
	c.r.World.Sleep(f.Duration("after"))
}

// stirUntil asks for moves until something is so, not for longer than limit.
func (c *cdcCluster) stirUntil(limit time.Duration, holds func() bool) {
	over := false
	c.r.World.Go("move key spans", func() {
		for !over && !holds() {
			c.stir()
			c.r.World.Sleep(100 * time.Millisecond)
		}
	})
	c.within(limit, holds)
	over = true
}

// stir asks for moves, whatever the operators are at, so that key spans are being removed soon.
func (c *cdcCluster) stir() {
	ctx, cancel := c.r.World.Host().Clock().WithTimeout(context.Background(), time.Second)
	defer cancel()
	captures, err := c.admin.Captures(ctx)
	if err != nil || len(captures) < 2 {
		return
	}
	for _, feed := range c.feeds {
		for i, span := range c.upstream.SpanIDs() {
			for at := range captures {
				if c.watch.runsOn(feed, span, captures[at].ID) {
					_ = c.admin.MoveKeySpan(ctx, feed, span, captures[(at+1+i%(len(captures)-1))%len(captures)].ID)
				}
			}
		}
	}
}

// within waits until something is so, not for longer than limit.
func (c *cdcCluster) within(limit time.Duration, holds func() bool) {
	for waited := time.Duration(0); waited < limit && c.r.Working() && !holds(); waited += poll {
		c.r.World.Sleep(poll)
	}
}

// handleCrashes makes captures the subject of faults.
func (c *cdcCluster) handleCrashes() {
	c.r.Handle("capture.crash", []string{"captures"}, func(f *faults.Fault) (func(), bool) {
		var victim *sim.Node
		over := false
		c.r.World.Go("crash a capture", func() {
			c.await(f)
			if victim = c.victim(); victim == nil || over {
				victim = nil
				return
			}
			if f.Text("how") == "silently" {
				victim.PowerOff()
			} else {
				victim.Crash()
			}
		})
		return func() {
			if over = true; victim != nil {
				victim.Restart()
			}
		}, true
	})
}

// victim is a capture's machine that is up: one that is writing, or has an operation under way, if there is one.
func (c *cdcCluster) victim() *sim.Node {
	if c.database != nil {
		if i := slices.IndexFunc(c.nodes, func(n *sim.Node) bool { return n.Up() && n.Name() == c.database.writing() }); i >= 0 {
			return c.nodes[i]
		}
	}
	return c.busiest()
}

// handleSource makes the source the subject of faults.
func (c *cdcCluster) handleSource() {
	c.r.Handle("source.stall", []string{sourceNode}, func(f *faults.Fault) (func(), bool) {
		spans := c.upstream.SpanIDs()
		if len(spans) == 0 || !c.serving[sourceNode] {
			return nil, false
		}
		id := spans[f.Int("span")%len(spans)]
		c.upstream.Stall(id, true)
		return func() { c.upstream.Stall(id, false) }, true
	})
}

// leader reads the election from the service's own memory.
func (c *cdcCluster) leader() (coord.Leader, bool) {
	s, err := c.kv.Range(context.Background(), coord.Prefix(cdc.OwnerElection), 0)
	if err != nil {
		return coord.Leader{}, false
	}
	return coord.LeaderIn(s.KVs, cdc.OwnerElection)
}

// ownerNode is the machine of the owner, nil when there is none.
func (c *cdcCluster) ownerNode() *sim.Node {
	leader, ok := c.leader()
	if !ok {
		return nil
	}
	i := slices.IndexFunc(c.nodes, func(n *sim.Node) bool { return strings.HasPrefix(leader.Value, n.Name()+".") })
	if i < 0 || !c.nodes[i].Up() {
		return nil
	}
	return c.nodes[i]
}

// busiest is a capture's machine that is up: one with an operation under way, if there is one.
func (c *cdcCluster) busiest() *sim.Node {
	var up *sim.Node
	for _, n := range c.nodes {
		if !n.Up() {
			continue
		}
		if c.watch.busy(n.Name()) {
			return n
		}
		if up == nil {
			up = n
		}
	}
	return up
}

// status is a changefeed's stored status and when it was stored, read from the service's own memory.
func (c *cdcCluster) status(feed string) (status model.ChangeFeedStatus, at coord.Revision, ok bool) {
	kv, ok, err := coord.ReadKey(context.Background(), c.kv, cdc.StatusKey(feed))
	if err != nil || !ok {
		return status, 0, false
	}
	return status, kv.ModRevision, json.Unmarshal([]byte(kv.Value), &status) == nil
}

// intoShards makes the sinks persist shards, one for each key span.
func (c *cdcCluster) intoShards(p *persistCluster) {
	p.unreliable(shardNames("capture-", c.shape.captures)...)
	c.sinks = func(h host.Host) func(context.Context, model.ChangeFeedID, model.ChangeFeedInfo) (sink.Sink, error) {
		client := p.client(h, c.shape.persist)
		return func(_ context.Context, _ model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
			return sink.NewShards(h, client, info.SinkURI), nil
		}
	}
	readers := &shardReaders{
		client: p.onlooker(c.r.World.Host(), clientConfig), durable: p.durable, open: map[persist.ShardID]*persist.ReadHandle{},
	}
	c.rows = func(ctx context.Context, life string, asOf model.Ts) (map[string]string, error) {
		rows := map[string]string{}
		for _, span := range c.watch.spans() {
			if err := c.readShard(ctx, readers, life, span, asOf, rows); err != nil {
				return nil, fmt.Errorf("key span %d: %w", span, err)
			}
		}
		return rows, nil
	}
}

// shardReaders are readers of shards, each opened once.
type shardReaders struct {
	client  *persist.Client
	durable durability
	open    map[persist.ShardID]*persist.ReadHandle
}

func (s *shardReaders) of(ctx context.Context, id persist.ShardID) (*persist.ReadHandle, error) {
	if r := s.open[id]; r != nil {
		return r, nil
	}
	r, err := s.client.OpenReader(ctx, id)
	s.durable.check("open reader", err)
	if err == nil {
		s.open[id] = r
	}
	return r, err
}

// readShard adds what a key span's shard holds as of a ts.
func (c *cdcCluster) readShard(ctx context.Context, readers *shardReaders, life string, span, asOf model.Ts, rows map[string]string) error {
	added, dropped := c.watch.life(span)
	if added >= asOf || dropped != 0 && dropped <= c.watch.begun[life] {
		return nil
	}
	if dropped != 0 {
		asOf = min(asOf, dropped)
	}
	r, err := readers.of(ctx, sink.ShardOf(life, span))
	if err != nil {
		return err
	}
	updates, err := r.SnapshotAndFetch(ctx, asOf)
	readers.durable.check("snapshot", err)
	if err != nil {
		return err
	}
	for _, u := range updates {
		key, value, err := sink.Decode(u.Data)
		if err != nil || u.Diff != 1 {
			value = fmt.Sprintf("%q, %d times (%v)", u.Data, u.Diff, err) // which no source has
		}
		rows[key] = value
	}
	return nil
}

// settleWithin bounds how long after the faults everything may take to be replicated.
const settleWithin = 90 * time.Second

// errNoSpan: adding a key span is tried again.
var errNoSpan = errors.New("there is no key span")

// settle waits until everything that the source has is replicated, and every key span runs on one live
// capture, and compares the sinks with the source.
func (c *cdcCluster) settle() error {
	w := c.r.World
	upstream := c.shape.dialSource(w.Host())
	if len(c.upstream.SpanIDs()) == 0 { // the operator dropped all: a run that ends so has no sink to look at
		c.insist(func(context.Context) error {
			c.addSpan(upstream)
			if len(c.upstream.SpanIDs()) == 0 {
				return errNoSpan
			}
			return nil
		})
	}
	var now model.Ts
	c.insist(func(ctx context.Context) (err error) {
		now, err = c.upstream.Now(ctx)
		return err
	})
	healed := w.Now()
	for _, feed := range c.feeds {
		c.ensure(feed)
	}
	if !c.replicated(upstream, now, healed) {
		return nil
	}
	c.r.Figure("cdc_settled_ms", (w.Now() - healed).Milliseconds())
	for _, feed := range c.feeds {
		if _, ended := c.targets[feed]; !ended {
			c.spread(feed, healed)
			c.pileUp(feed)
			c.even(feed, healed)
			c.spread(feed, healed)
		}
	}
	// A transaction whose client gave up may have come in meanwhile, and be in a sink beyond the checkpoint.
	if !c.replicated(upstream, now, healed) {
		return nil
	}
	for _, n := range c.nodes {
		n.PowerOff() // what there is to read is there, and writers would be in the way
	}
	for _, feed := range c.feeds {
		if err := c.compare(feed); err != nil {
			return fmt.Errorf("changefeed %s: %w", feed, err)
		}
	}
	return nil
}

// replicated waits until all changefeeds have replicated what the source had at a ts, and what was committed since.
// It tells whether that came about in time.
func (c *cdcCluster) replicated(upstream *source.Client, at model.Ts, healed time.Duration) bool {
	w := c.r.World
	for {
		c.mend(upstream)
		behind := slices.IndexFunc(c.feeds, func(feed string) bool { return !c.arrived(feed, at) })
		if behind < 0 {
			return true
		}
		feed := c.feeds[behind]
		status, _, _ := c.status(feed)
		if !c.assigned.Holds(w.Now() < healed+settleWithin, "changefeed %s: %v after the faults its checkpoint is %d, and the source was at %d when they ended (target %d): %s",
			feed, settleWithin, status.CheckpointTs, at, c.targets[feed], c.watch.describe(feed)) {
			return false
		}
		w.Sleep(100 * time.Millisecond)
	}
}

// arrived tells whether a changefeed has replicated what the source had at a ts, and what was committed since, or
// has come to its end. One that was created late may begin beyond that, and its first checkpoint, where it begins,
// says nothing of its sink.
func (c *cdcCluster) arrived(feed string, at model.Ts) bool {
	c.watch.catchUp()
	status, _, ok := c.status(feed)
	life, known := c.watch.lives[feed]
	if !ok || !known {
		return false
	}
	if target, ends := c.targets[feed]; ends {
		return status.CheckpointTs >= target && c.finished(feed)
	}
	return status.CheckpointTs >= max(at, c.watch.lastCommit) && status.CheckpointTs > c.watch.begun[life.id]
}

// compare reads a changefeed's sink, as of its checkpoint and of some moments before, if it can.
func (c *cdcCluster) compare(feed string) error {
	w := c.r.World
	c.watch.catchUp()
	life := c.watch.lives[feed].id
	status, _, _ := c.status(feed)
	at := []model.Ts{status.CheckpointTs}
	if !c.latest {
		at = append(at, c.watch.moments(life, status.CheckpointTs)...)
	}
	for _, asOf := range at {
		ctx, cancel := w.Host().Clock().WithTimeout(context.Background(), 30*time.Second)
		rows, err := c.rows(ctx, life, asOf)
		cancel()
		if err != nil {
			return err
		}
		c.watch.contents(life, asOf, rows)
	}
	return nil
}

// spread waits until each key span of the source runs on one live capture.
func (c *cdcCluster) spread(feed string, healed time.Duration) {
	w := c.r.World
	for {
		ctx, cancel := w.Host().Clock().WithTimeout(context.Background(), opTimeout)
		problem := c.unassigned(ctx, feed)
		cancel()
		if c.assigned.Holds(problem == "" || w.Now() < healed+settleWithin, "changefeed %s, %v after the faults: %s", feed, settleWithin, problem) && problem != "" {
			w.Sleep(100 * time.Millisecond)
			continue
		}
		return
	}
}

// pileUp has all key spans moved to one capture, as far as that can be done in a while: something to share.
func (c *cdcCluster) pileUp(feed string) {
	w := c.r.World
	ctx, cancel := w.Host().Clock().WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	captures, err := c.admin.Captures(ctx)
	if err != nil || len(captures) == 0 {
		return
	}
	spans := c.upstream.SpanIDs()
	for _, span := range spans {
		_ = c.admin.MoveKeySpan(ctx, feed, span, captures[0].ID)
	}
	for ctx.Err() == nil {
		if scheduled, err := c.admin.Scheduled(ctx, feed); err == nil && len(scheduled[captures[0].ID].Running) == len(spans) {
			return
		}
		w.Sleep(50 * time.Millisecond)
	}
}

// even asks the owner to rebalance, and waits until no capture has more than its share. If the owner changes
// meanwhile the request may be lost, and it is asked again.
func (c *cdcCluster) even(feed string, healed time.Duration) {
	w := c.r.World
	asked := coord.Revision(0)
	for {
		ctx, cancel := w.Host().Clock().WithTimeout(context.Background(), opTimeout)
		if _, epoch, err := c.admin.Owner(ctx); err == nil && epoch != asked && c.admin.Rebalance(ctx, feed) == nil {
			asked = epoch
		}
		problem := c.uneven(ctx, feed)
		cancel()
		if c.assigned.Holds(problem == "" || w.Now() < healed+settleWithin, "changefeed %s, %v after the faults: %s", feed, settleWithin, problem) && problem != "" {
			w.Sleep(100 * time.Millisecond)
			continue
		}
		return
	}
}

func (c *cdcCluster) uneven(ctx context.Context, feed string) string {
	scheduled, err := c.admin.Scheduled(ctx, feed)
	if err != nil {
		return fmt.Sprintf("the owner does not tell what it schedules: %v", err)
	}
	captures, err := c.admin.Captures(ctx)
	if err != nil {
		return fmt.Sprintf("the captures can't be read: %v", err)
	}
	spans := len(c.upstream.SpanIDs())
	share := (spans + max(len(captures), 1) - 1) / max(len(captures), 1)
	for _, info := range captures {
		if n := len(scheduled[info.ID].Running); n > share {
			return fmt.Sprintf("%s runs %d of %d key spans of %d captures, and was asked to share", info.ID, n, spans, len(captures))
		}
	}
	return ""
}

func (c *cdcCluster) unassigned(ctx context.Context, feed string) string {
	scheduled, err := c.admin.Scheduled(ctx, feed)
	if err != nil {
		return fmt.Sprintf("the owner does not tell what it schedules: %v", err)
	}
	captures, err := c.admin.Captures(ctx)
	if err != nil {
		return fmt.Sprintf("the captures can't be read: %v", err)
	}
	var running []model.KeySpanID
	for _, info := range captures {
		running = append(running, scheduled[info.ID].Running...)
	}
	slices.Sort(running)
	if want := c.upstream.SpanIDs(); !slices.Equal(running, want) {
		return fmt.Sprintf("%d captures run the key spans %v, and there are %v", len(captures), running, want)
	}
	return ""
}
