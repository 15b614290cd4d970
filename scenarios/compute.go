package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	computereplica "github.com/simrun-dev/simrun/system/compute/replica"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/rpc"
)

const (
	controllerNode = "controller"
	computePort    = "compute"

	oracleReconnects = "compute/reconnects"
)

func computeSettings(replicas, collections, clients string) []Setting {
	return []Setting{
		{Name: "replicas", Default: replicas, Doc: "machines that are replicas", Check: atLeastOne},
		{Name: "collections", Default: collections, Doc: fmt.Sprintf("collections that are there all the time, at most %d", len(computePlans)), Check: atLeastOne},
		{Name: "replica_workers", Default: "2", Doc: "workers of a replica, which share its rows", Check: atLeastOne},
		{Name: "clients", Default: clients, Doc: "clients that peek", Check: atLeastOne},
		{Name: "write-pace", Default: "180ms", Doc: "mean time between two writes to the tables"},
		{Name: "peek-pace", Default: "200ms", Doc: "mean time between two peeks of a client; some runs are up to 4 times faster"},
	}
}

// computeConfig is how processes use persist: patiently, as there are many who follow the same shards.
var computeConfig = func() persist.Config {
	cfg := clientConfig
	cfg.PollMin, cfg.PollMax = 60*time.Millisecond, 400*time.Millisecond
	return cfg
}()

var computeOracles = append(models.ComputeOracles(), models.OracleComputeLinearizable, oracleReconnects, oracleDurable)

// singleReplica is the scenario of one replica with one dataflow, whose connection does not last.
func singleReplica() *Scenario {
	return &Scenario{
		Name:     "replica",
		Doc:      "one replica with one dataflow, peeks and a subscription, whose connection to the controller breaks all the time",
		Settings: computeSettings("1", "1", "2"),
		// With one dataflow, nothing is written to a shard.
		Oracles: slices.DeleteFunc(slices.Clone(computeOracles), func(name string) bool { return name == models.OracleWritesAllowed }),
		Build:   func(r *Run) { addCompute(r, computeOptions{}) },
	}
}

// computeInstance is the scenario of a whole instance.
func computeInstance() *Scenario {
	return &Scenario{
		Name:     "compute",
		Doc:      "a compute instance: dataflows that depend on each other on several replicas, which come and go, peeks, subscriptions, and controllers that replace each other",
		Settings: computeSettings("3", fmt.Sprint(len(computePlans)), "3"),
		Oracles:  computeOracles,
		Build:    func(r *Run) { addCompute(r, computeOptions{churn: true}) },
	}
}

type computeOptions struct {
	// churn: replicas and collections come and go.
	churn bool
}

// computeCluster is the machines of a compute instance, and what clients do with it.
type computeCluster struct {
	r      *Run
	opt    computeOptions
	c      *persistCluster
	watch  *computeWatch
	tables *computeTables
	rec    *recorder
	shape  computeShape
	// dynamic is the configuration of all controllers.
	dynamic compute.DynamicConfig

	replicas []string
	versions map[string]string // of the replicas' programs
	wanted   []string          // the replicas that the instance is to have, sorted
	cuts     map[string]*cutter

	// catalog are the collections that the instance is to have, in the order of their creation. Whoever
	// is the controller creates them.
	catalog []*computeCollection
	nextID  protocol.GlobalID

	// current is the controller of the highest incarnation that has created everything.
	current     *compute.Controller
	incarnation int64
	leading     int // controllers that are about to take over
	pending     int // operations of clients under way
	healed      uint64
	reconnects  *Check
}

// computeShape is what differs from run to run beside the faults.
type computeShape struct {
	hurry       time.Duration // peeks are so many times faster
	concurrency int
	retention   uint64
	budget      int
	logging     time.Duration
	expiration  time.Duration
	readOnly    time.Duration // a controller waits so long before it lets replicas write
	backlog     int           // of a subscription, in bytes
	comesBack   bool          // in the end a replica comes back that was away for long
	queues      computeQueues
	// reading is how replicas use persist: where their readers' leases are short, those of processes that died do not hold
	// history for the rest of the run.
	reading persist.Config
}

// computeQueues bound what may wait; zero is the defaults, which runs do not come to.
type computeQueues struct {
	commands          int // for a replica
	inputs, responses int // of a replica, in bytes
}

func drawComputeShape(w *sim.World) computeShape {
	s := w.NewStream("workload", "shape")
	shape := computeShape{
		hurry:       []time.Duration{1, 1, 2, 4}[s.N(4)],
		concurrency: 1 + int(s.N(4)),
		retention:   []uint64{0, 1000, 5000}[s.N(3)],
		budget:      []int{1, 20, 10_000}[s.N(3)],
		readOnly:    []time.Duration{0, 0, time.Second}[s.N(3)],
	}
	if s.N(2) == 0 {
		shape.logging = time.Second
	}
	if s.N(4) == 0 {
		shape.expiration = 8 * time.Second
	}
	shape.comesBack = s.N(5) == 0
	if s.N(3) == 0 {
		shape.backlog = 2000
	}
	s = w.NewStream("workload", "queues")
	if s.N(2) == 0 {
		shape.queues.commands = 25 + int(s.N(50))
	}
	if s.N(2) == 0 {
		shape.queues.inputs = 200 + int(s.N(2000))
	}
	if s.N(2) == 0 {
		shape.queues.responses = 8000 + int(s.N(4000))
	}
	shape.reading = computeConfig
	if w.NewStream("workload", "leases").N(2) == 0 {
		shape.reading.ReaderLease, shape.reading.HeartbeatInterval = 4*time.Second, time.Second
	}
	return shape
}

// addCompute adds the machines, the tables, the clients and the oracles.
func addCompute(r *Run, opt computeOptions) {
	s := &computeCluster{
		r: r, opt: opt, c: addPersist(r), rec: newRecorder(r), shape: drawComputeShape(r.World),
		replicas: shardNames("replica-", r.Int("replicas")), versions: map[string]string{}, cuts: map[string]*cutter{},
		reconnects: r.Check(oracleReconnects),
	}
	s.dynamic.SetHydrationConcurrency(s.shape.concurrency)
	s.watch = newComputeWatch(r, s.versions, s.reconnects)
	s.watch.concurrency = s.shape.concurrency
	s.tables = newComputeTables(s)
	for i := range min(r.Int("collections"), len(computePlans)) {
		s.define(computePlans[i])
	}
	s.nextID = 1000
	for _, name := range s.replicas {
		s.addReplicaNode(name)
	}
	s.wanted = slices.Clone(s.replicas)
	node := r.AddNode(controllerNode, controllerNode, s.bootController)
	node.OnCrash(s.controllerCrashed)
	s.addFaults()

	r.Count(s.rec.count)
	for _, o := range s.watch.model.Oracles() {
		if slices.Contains(r.scenario.Oracles, o.Name()) {
			r.Judge(o)
		}
	}
	r.Judge(models.ComputeTable(s.rec.h))
	r.Ready("the instance being hydrated", s.ready)
	r.Settled("every replica being connected, hydrated and up to date", s.settled)
	r.Settled("all operations being over", func() bool { return s.pending == 0 })
	r.Final(s.advances)
	r.Final(s.letGo)
	r.Final(s.logs)
	r.Final(s.eachReplica)
	r.Final(s.withOneLeft)
	r.Final(s.comesBack)
	r.Final(s.shards)
	r.Final(func() error { s.watch.figures(r); return nil })
}

const rightVersion = "1.0.0"

func (s *computeCluster) addReplicaNode(name string) {
	s.versions[name] = rightVersion
	s.r.AddNode(name, "replica", func(h host.Host) {
		s.watch.restarted(name)
		_, err := computereplica.Serve(h, computereplica.Config{
			Port: computePort, Build: protocol.BuildInfo{Version: s.versions[name]},
			Persist: s.c.client(h, s.shape.reading), Workers: s.r.Int("replica_workers"), Observer: &replicaWatch{s.watch, name},
			InputBacklog: s.shape.queues.inputs, ResponseBacklog: s.shape.queues.responses,
		})
		if err != nil {
			panic(err)
		}
	})
}

// bootController is the controller's process.
func (s *computeCluster) bootController(h host.Host) {
	h.Go("lead", func() { s.lead(h) })
	s.startClients(h)
}

func (s *computeCluster) controllerCrashed() {
	s.watch.over()
	s.current, s.incarnation, s.leading, s.pending = nil, 0, 0, 0
}

// lead starts a controller and has it create what is in the catalog.
func (s *computeCluster) lead(h host.Host) {
	s.leading++
	defer func() {
		if h.Incarnation() == s.r.World.Node(controllerNode).Incarnation() {
			s.leading--
		}
	}()
	incarnation := s.drawIncarnation(h)
	controller, err := compute.NewController(&cuttableHost{h, s}, compute.Config{
		Incarnation: incarnation, Build: protocol.BuildInfo{Version: rightVersion},
		Persist: s.c.client(h, computeConfig), Dynamic: &s.dynamic, Retention: s.shape.retention,
		Observer: &controllerWatch{s.watch, incarnation}, SubscribeBacklog: s.shape.backlog, CommandBacklog: s.shape.queues.commands,
	})
	if err != nil {
		panic(err)
	}
	for _, name := range s.wanted {
		if err := controller.AddReplica(protocol.ReplicaID(name), s.replicaConfig(name)); err != nil {
			panic(err)
		}
	}
	lag := s.lag(incarnation)
	s.createAll(h, controller, lag)
	controller.InitializationComplete()
	h.Clock().Sleep(s.shape.readOnly)
	controller.AllowWrites()
	// What came and went meanwhile.
	for _, name := range s.replicas {
		s.setReplica(controller, name, slices.Contains(s.wanted, name))
	}
	s.createAll(h, controller, lag)
	if controller.Err() == nil && incarnation > s.incarnation {
		s.current, s.incarnation = controller, incarnation
	}
}

func (s *computeCluster) replicaConfig(name string) compute.ReplicaConfig {
	return compute.ReplicaConfig{
		Address: host.JoinAddr(name, computePort), Timely: protocol.TimelyConfig{Budget: s.shape.budget},
		Logging: protocol.LoggingConfig{Interval: s.shape.logging}, Expiration: s.shape.expiration,
		ConnectTimeout: 2 * time.Second,
	}
}

// setReplica makes a controller have a replica, or not.
func (s *computeCluster) setReplica(controller *compute.Controller, name string, wanted bool) {
	id := protocol.ReplicaID(name)
	if slices.Contains(controller.Replicas(), id) == wanted {
		return
	}
	if wanted {
		_ = controller.AddReplica(id, s.replicaConfig(name)) // it fails when the controller has ended
	} else {
		_ = controller.DropReplica(id)
	}
}

func (s *computeCluster) drawIncarnation(h host.Host) int64 {
	consensus := persist.NewConsensusClientOf(rpc.NewClient(h, host.JoinAddr(consensusNode, consensusPort), rpc.ClientOptions{}))
	for {
		ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
		n, err := compute.NextIncarnation(ctx, consensus, "instance")
		cancel()
		if err == nil {
			return n
		}
		h.Clock().Sleep(200 * time.Millisecond)
	}
}

// createAll creates what is in the catalog and not there, until that is done or the controller has ended.
func (s *computeCluster) createAll(h host.Host, controller *compute.Controller, lag uint64) {
	for controller.Err() == nil {
		missing := slices.IndexFunc(s.catalog, func(col *computeCollection) bool {
			_, err := controller.Schema(col.desc.ID)
			return err != nil
		})
		if missing < 0 {
			return
		}
		if err := s.create(h, controller, s.catalog[missing], lag); err != nil {
			h.Logf("creating %v: %v", s.catalog[missing].desc.ID, err)
			s.c.durable.check("create dataflow", err)
			h.Clock().Sleep(200 * time.Millisecond)
		}
	}
}

func (s *computeCluster) create(h host.Host, controller *compute.Controller, col *computeCollection, lag uint64) error {
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	desc := col.desc
	if desc.Policy != nil {
		desc.Policy = compute.LagBy(lag, 1)
	}
	_, err := controller.CreateDataflow(ctx, desc)
	return err
}

// lag is how much history a controller keeps, which may be more than the one before has.
func (s *computeCluster) lag(incarnation int64) uint64 {
	return []uint64{1, 500, 3000}[s.r.World.NewStream("workload", "lag", fmt.Sprint(incarnation)).N(3)]
}

// behind tells what of the instance is not connected, hydrated, or computed beyond a time; "" if nothing is.
func (s *computeCluster) behind(at uint64) string {
	if s.current == nil || s.current.Err() != nil {
		return "there is no controller"
	}
	for _, name := range s.wanted {
		status, err := s.current.Replica(protocol.ReplicaID(name))
		switch {
		case err != nil:
			return err.Error()
		case !status.Connected:
			return name + " is not connected"
		case !status.Hydrated:
			return name + " is not hydrated"
		}
		for _, f := range status.Frontiers {
			if f.Output.LessEqual(at) {
				return fmt.Sprintf("%s has computed %v up to %v, and not beyond %d", name, f.ID, f.Output, at)
			}
		}
	}
	return ""
}

// ready tells whether the instance is hydrated. From then on replicas have but a short life, in some runs: as other
// faults, it begins after the start, and ends with the others. No lease is behind it. When its life is over a replica
// forgets everything, and where each fetch may dawdle for 4 s it takes longer than 8 s to hydrate all collections
// anew, so that such replicas are never up to date all together.
func (s *computeCluster) ready() bool {
	if s.behind(0) != "" {
		return false
	}
	s.dynamic.SetExpiration(s.shape.expiration > 0)
	return true
}

func (s *computeCluster) settled() bool {
	if s.healed == 0 {
		s.healed, s.watch.healed = s.tables.applied, s.r.World.Now()
		s.wanted = slices.Clone(s.replicas)
		s.dynamic.SetExpiration(false)
		if s.current != nil {
			s.current.UpdateConfiguration(protocol.Parameters{MaxBatchSize: protocol.MaxMessage})
			for _, name := range s.replicas {
				s.setReplica(s.current, name, true)
			}
		}
	}
	return s.leading == 0 && s.behind(s.healed) == ""
}

// computeCollection is a collection of the catalog.
type computeCollection struct {
	*computePlan
	desc compute.Description
	// shard, if not "", is what it is written to.
	shard persist.ShardID
}

// define adds a collection to the catalog.
func (s *computeCluster) define(p *computePlan) *computeCollection {
	col := &computeCollection{computePlan: p, desc: p.describe()}
	if col.desc.ID == 0 {
		s.nextID++
		col.desc.ID = s.nextID
	}
	col.shard = col.desc.Sink.Shard
	s.watch.model.Defined(uint64(col.desc.ID), p.meaning)
	s.catalog = append(s.catalog, col)
	return col
}

// readable are the collections of the catalog that can be peeked.
func (s *computeCluster) pick(draw *sim.Stream) *computeCollection {
	return s.catalog[draw.N(uint64(len(s.catalog)))]
}

func (s *computeCluster) undefine(col *computeCollection) {
	s.catalog = slices.DeleteFunc(s.catalog, func(o *computeCollection) bool { return o == col })
}

// byID sorts what is to be gone through in a fixed order.
func byID(a, b *computeCollection) int { return cmp.Compare(a.desc.ID, b.desc.ID) }
