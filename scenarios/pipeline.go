package scenarios

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/pipeline"
)

var pipelineSettings = []Setting{
	{Name: "captures", Default: "3", Doc: "machines that capture changes, at most", Check: atLeastOne},
	{Name: "spans", Default: "3", Doc: "key spans of items at the start, at most", Check: atLeastOne},
	{Name: "flownodes", Default: "2", Doc: "machines that run flows", Check: atLeastOne},
	{Name: "replicas", Default: "2", Doc: "machines that maintain views", Check: atLeastOne},
	{Name: "replica_workers", Default: "2", Doc: "workers of a replica, which share its rows", Check: atLeastOne},
	{Name: "clients", Default: "2", Doc: "clients that peek", Check: atLeastOne},
	{Name: "write-pace", Default: "120ms", Doc: "mean time between two transactions at the source"},
	{Name: "peek-pace", Default: "400ms", Doc: "mean time between two peeks of a client"},
	{Name: "operator-pace", Default: "1500ms", Doc: "mean time between two acts of an operator, on key spans or on flows"},
	{Name: "step", Default: "500ms", Doc: "how often the mirror looks for a new checkpoint"},
}

// pipelineCluster is all machines of the whole system, and what clients do with it.
type pipelineCluster struct {
	r     *Run
	c     *persistCluster
	cfg   pipeline.Config
	model *models.Pipeline
	watch *pipelineWatch
	gate  *coordGate

	serving     map[string]bool
	kv          *coord.Store  // the coordination service's present life
	upstream    *source.Store // the source's present life
	captures    map[string]*cdc.Capture
	controllers map[string]*pipeline.Controller
	flows       map[string]*flow.Node
	frontends   map[string]*frontend.Frontend
	nodes       map[string]*sim.Node
	backends    map[string]*backendFaults
	mirrored    map[string]*mirrorFaults
	dynamic     compute.DynamicConfig
	// slowness is how much slower everything lives than where a run is seconds long.
	slowness time.Duration
	// stores are how the services are set up that have no part in pipeline.Config.
	stores struct {
		coord  coord.StoreConfig
		source source.Config
	}
	// forgets: the leases of readers that died run out within the run.
	forgets bool
	// hasty: those of mirrors run out while the stores are out of their reach.
	hasty bool

	admin    *cdc.Admin
	writes   *source.Client
	sql      *frontend.Client
	created  bool
	nextSpan model.KeySpanID
	passing  int
	workers  int // tasks of the workload that are not done

	ops, done int
}

// addPipeline adds the whole system to a run, all of whose intervals, timeouts and leases are slowness times as long as in
// a run of seconds, and so are those of who uses and watches it.
func addPipeline(r *Run, slowness time.Duration) *pipelineCluster {
	s := &pipelineCluster{
		r: r, c: addPersist(r), slowness: slowness, serving: map[string]bool{}, captures: map[string]*cdc.Capture{}, controllers: map[string]*pipeline.Controller{},
		flows: map[string]*flow.Node{}, frontends: map[string]*frontend.Frontend{}, nodes: map[string]*sim.Node{}, backends: map[string]*backendFaults{}, mirrored: map[string]*mirrorFaults{},
	}
	s.configure(r.World.NewStream("workload", "shape"))
	s.gate = newCoordGate(r.World, s.cfg.CallTimeout, pipeline.DialCoord(r.World.Host(), s.cfg))
	s.model = models.NewPipeline(pipelineCatalog())
	s.watch = newPipelineWatch(s)
	s.stores.source.OnCommit = s.watch.committed
	for _, o := range s.model.Oracles() {
		r.Judge(o)
	}
	s.addMachines()
	s.addFaults()
	h := r.World.Host()
	s.writes, s.sql = pipeline.DialSource(h, s.cfg), pipeline.DialFrontends(h, s.cfg)
	s.admin = cdc.NewAdmin(h, pipeline.DialCoord(h, s.cfg), s.writes)
	r.World.Go("create", s.create)
	s.startWorkload()
	r.Count(func() (int, int) { return s.ops, s.done })
	r.Ready("the pipeline having computed something", func() bool { return s.created && s.watch.begun() })
	r.Settled("the workload being done", func() bool { return s.workers == 0 })
	s.addFinal()
	return s
}

// configure draws how large the run's pipeline is, and how patient.
func (s *pipelineCluster) configure(draw *sim.Stream) {
	r := s.r
	atMost := func(n int) int {
		if draw.N(3) == 0 {
			return int(draw.Between(1, int64(n)))
		}
		return n
	}
	quick := draw.N(2)
	step := r.Duration("step") >> quick
	patience := s.slow(2*time.Second) >> draw.N(2)
	s.cfg = pipeline.Config{
		Topology: pipeline.Topology{
			Blob: blobNode, Consensus: consensusNode, Coord: coordNode, Source: sourceNode,
			Captures: shardNames("capture-", atMost(r.Int("captures"))), Frontends: []string{"frontend-1"},
			FlowNodes: shardNames("flow-", atMost(r.Int("flownodes"))), Mirrors: shardNames("mirror-", atMost(2)),
			Controllers: shardNames("controller-", 2), Replicas: shardNames("replica-", atMost(r.Int("replicas"))),
		},
		Tables: pipelineTables, Interval: step, IntrospectionInterval: s.slow(time.Second), CallTimeout: patience, Workers: r.Int("replica_workers"),
		SessionTTL: s.slow(3*time.Second) >> draw.N(2), Retention: uint64(s.slowness) * []uint64{500, 1000, 2000}[draw.N(3)], Persist: s.persist(),
	}
	for _, f := range pipelineFlows {
		s.cfg.Flows = append(s.cfg.Flows, f.Flow)
	}
	for _, v := range pipelineViews {
		s.cfg.Views = append(s.cfg.Views, v.View)
	}
	s.cfg.Capture = cdc.Config{
		SessionTTL: s.slow(3*time.Second) >> draw.N(2), RestartDelay: s.slow(200 * time.Millisecond), Timeout: patience,
		OwnerInterval: step, ProcessorInterval: step / 2, ReportInterval: step / 2, FlushInterval: step / 2,
	}
	s.cfg.Capture.Peer.Timeout = patience
	s.stores.source.ResolvedInterval = s.cfg.Capture.FlushInterval // no more often than captures pass on what they are told
	s.cfg.Frontend = frontend.Config{
		MirrorTimeout: s.slow(time.Second), FlowTimeout: s.slow(2 * time.Second), StatementTimeout: s.slow(2500 * time.Millisecond), History: 16,
		SweepInterval: s.slow(2 * time.Second),
	}
	s.cfg.Flow = flow.Config{
		RunInterval: step, CatchUpInterval: 4 * step, ReconcileInterval: 4 * step, CallTimeout: patience, RefillBackoff: s.slow(100 * time.Millisecond),
	}
	s.dynamic.SetHydrationConcurrency(1 + int(draw.N(3)))
	s.cfg.Compute = compute.Config{Build: protocol.BuildInfo{Version: rightVersion}, Dynamic: &s.dynamic, MaintainInterval: step}
	s.cfg.Replica = compute.ReplicaConfig{Timely: protocol.TimelyConfig{Budget: []int{20, 10_000}[draw.N(2)]}, ConnectTimeout: s.slow(time.Second)}
	s.nextSpan = firstOfItem + model.KeySpanID(atMost(r.Int("spans")))
	if s.forgets = draw.N(3) == 0; s.forgets {
		s.cfg.Persist.ReaderLease, s.cfg.Persist.HeartbeatInterval = forgottenAfter, forgottenAfter/4
	}
	s.hasty = draw.N(3) == 0
	if s.slowness > 1 {
		s.configureSlow()
	}
}

// slow is how long something takes that takes d in a run of seconds.
func (s *pipelineCluster) slow(d time.Duration) time.Duration { return s.slowness * d }

// forgottenAfter is how long the leases of readers are in runs where those who died are to be forgotten before the end.
const forgottenAfter = 20 * time.Second

// persist is how processes use persist: patiently, as there are many who follow the same shards.
func (s *pipelineCluster) persist() persist.Config {
	cfg := clientConfig
	cfg.PollMin, cfg.PollMax = s.slow(250*time.Millisecond), s.slow(time.Second)
	cfg.HeartbeatInterval, cfg.DowngradeInterval, cfg.CriticalDowngradeInterval = 30*time.Second, s.slow(4*time.Second), s.slow(3*time.Second)
	return cfg
}

// links are those of a process, whose ways can be made unreliable.
func (s *pipelineCluster) links(h host.Host) pipeline.Links {
	l := pipeline.Dial(h, s.cfg)
	cfg := s.cfg.Persist
	if s.hasty && slices.Contains(s.cfg.Topology.Mirrors, h.Name()) {
		cfg.ReaderLease, cfg.HeartbeatInterval = s.slow(shortLeases.ReaderLease), s.slow(shortLeases.HeartbeatInterval)
	}
	l.Persist = s.c.client(h, cfg)
	l.Coord = s.gate.through(l.Coord, h.Name())
	if f := s.backends[h.Name()]; f != nil {
		l.Tables = &flakyBackend{l.Tables, s.r.World, h, f}
	}
	return l
}

func (s *pipelineCluster) newBackendFaults(name string) *backendFaults {
	return &backendFaults{choices: s.r.World.NewStream("backend", name), network: pipeline.DialFrontends(s.r.World.Host(), s.cfg)}
}

// machine adds a machine that runs a process, started again when it fails to start.
func (s *pipelineCluster) machine(name, role string, start func(h host.Host) error) {
	n := s.r.AddNode(name, role, func(h host.Host) {
		for err := start(h); err != nil; err = start(h) {
			h.Logf("%v", err)
			h.Clock().Sleep(s.slow(200 * time.Millisecond))
		}
		s.serving[name] = true
	})
	n.OnCrash(func() { s.serving[name] = false })
	s.nodes[name] = n
	s.r.Ready(name+" serves", func() bool { return s.serving[name] })
	s.r.Settled(name+" serving again", func() bool { return s.serving[name] })
}

func (s *pipelineCluster) addMachines() {
	t := s.cfg.Topology
	s.machine(coordNode, coordNode, func(h host.Host) (err error) {
		s.kv, err = pipeline.StartCoord(h, s.stores.coord)
		return err
	})
	s.machine(sourceNode, sourceNode, func(h host.Host) (err error) {
		s.upstream, err = pipeline.StartSource(h, s.stores.source)
		return err
	})
	s.r.UsesDisk(coordNode)
	s.r.UsesDisk(sourceNode)
	for _, name := range t.Captures {
		s.machine(name, "capture", func(h host.Host) error {
			cfg, links := s.cfg, s.links(h)
			links.Coord = &watchedCoord{links.Coord, s.watch}
			cfg.Capture.Sinks = s.watch.sinks(pipeline.RawSinks(h, links.Persist))
			capture, err := pipeline.StartCapture(h, cfg, links)
			s.captures[name] = capture
			return err
		})
	}
	for _, name := range t.Frontends {
		faults := &mirrorFaults{choices: s.r.World.NewStream("mirror", name)}
		s.mirrored[name] = faults
		s.machine(name, "frontend", func(h host.Host) error {
			cfg := s.cfg
			cfg.Frontend.Mirror = func(_ string, to frontend.Inserter) frontend.Inserter { return &flakyMirror{to, h, faults} }
			f, err := pipeline.StartFrontend(h, cfg, s.links(h))
			s.frontends[name] = f
			return err
		})
	}
	for _, name := range t.FlowNodes {
		s.backends[name] = s.newBackendFaults(name)
		s.machine(name, "flow", func(h host.Host) (err error) {
			s.flows[name], err = pipeline.StartFlowNode(h, s.cfg, s.links(h), nil)
			return err
		})
	}
	for _, name := range t.Mirrors {
		s.backends[name] = s.newBackendFaults(name)
		s.machine(name, "mirror", func(h host.Host) error {
			_, err := pipeline.StartMirror(h, s.cfg, s.links(h))
			return err
		})
	}
	for _, name := range t.Replicas {
		s.machine(name, "replica", func(h host.Host) error {
			_, err := pipeline.StartReplica(h, s.cfg, s.links(h), &replicaReads{s.watch, name})
			return err
		})
	}
	for _, name := range t.Controllers {
		s.machine(name, "controller", func(h host.Host) (err error) {
			s.controllers[name], err = pipeline.StartController(h, s.cfg, s.links(h))
			if err == nil {
				s.startSubscriber(h, s.controllers[name])
			}
			return err
		})
		s.nodes[name].OnCrash(func() { s.controllers[name] = nil })
	}
}

// create makes the key spans and what the pipeline has to have.
func (s *pipelineCluster) create() {
	for id := labelsSpan; id < s.nextSpan; id++ {
		start, end := pipelineSpan(id)
		s.insist(func(ctx context.Context) error {
			_, err := s.writes.AddSpan(ctx, id, start, end)
			return err
		})
	}
	s.insist(s.setUp)
	s.created = true
}

// setUp makes what is not there of what the pipeline has to have.
func (s *pipelineCluster) setUp(ctx context.Context) error {
	h := s.r.World.Host()
	return pipeline.Setup(ctx, h, s.cfg, s.links(h), s.sql)
}

// insist repeats a call until it succeeds.
func (s *pipelineCluster) insist(call func(ctx context.Context) error) {
	h := s.r.World.Host()
	for {
		ctx, cancel := h.Clock().WithTimeout(context.Background(), s.slow(5*time.Second))
		err := call(ctx)
		cancel()
		if err == nil {
			return
		}
		h.Logf("%v", err)
		h.Clock().Sleep(s.slow(100 * time.Millisecond))
	}
}

// leading is the controller that leads, nil if none does as far as it knows itself.
func (s *pipelineCluster) leading() (*pipeline.Controller, *compute.Controller) {
	var latest *pipeline.Controller
	var at *compute.Controller
	for _, name := range s.cfg.Topology.Controllers {
		if c := s.controllers[name]; c != nil && c.Leading() != nil {
			latest, at = c, c.Leading()
		}
	}
	return latest, at
}

// behind tells what the compute instance has not computed beyond a ts; "" is nothing.
func (s *pipelineCluster) behind(at model.Ts) string {
	_, controller := s.leading()
	if controller == nil {
		return "no controller leads"
	}
	for _, name := range s.cfg.Topology.Replicas {
		status, err := controller.Replica(protocol.ReplicaID(name))
		switch {
		case err != nil:
			return err.Error()
		case !status.Connected:
			return name + " is not connected"
		case !status.Hydrated:
			return name + " is not hydrated"
		}
		for _, v := range pipelineViews {
			i := slices.IndexFunc(status.Frontiers, func(f protocol.Frontiers) bool { return f.ID == v.ID })
			if i < 0 {
				return fmt.Sprintf("%s does not maintain %s", name, v.Name)
			}
			if f := status.Frontiers[i]; f.Output.LessEqual(at) {
				return fmt.Sprintf("%s has computed %s up to %v, and not beyond %d", name, v.Name, f.Output, at)
			}
		}
	}
	return ""
}
