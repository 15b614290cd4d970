package scenarios

import (
	"slices"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	computereplica "github.com/simrun-dev/simrun/system/compute/replica"
	"github.com/simrun-dev/simrun/system/persist"
)

// computeWatch tells the model what controllers and replicas do.
type computeWatch struct {
	r     *Run
	model *models.Compute
	// concurrency is how many dataflows of a replica may hydrate at a time.
	concurrency int
	versions    map[string]string // of the replicas' programs
	living      []int64           // controllers
	// sinces are from where on shards can be read, as the latest controller has it.
	sinces map[string]persist.Frontier

	// connecting is since when a replica is connected to.
	connecting map[string]time.Duration
	// healed is since when all replicas can be reached that are to be; 0 before the faults have ended.
	healed     time.Duration
	reconnects *Check

	recovering          map[string]*recovery
	recovered, hydrated []time.Duration
}

// recovery is a replica on its way from the loss of a connection to being hydrated again.
type recovery struct {
	since, connected time.Duration
	epoch            protocol.Epoch
	left             map[protocol.GlobalID]persist.Frontier // collections not hydrated, with their beginnings
	complete         bool                                   // left has all of them
}

func newComputeWatch(r *Run, versions map[string]string, reconnects *Check) *computeWatch {
	return &computeWatch{
		r: r, model: models.NewCompute(tableCatalog), versions: versions, reconnects: reconnects,
		sinces: map[string]persist.Frontier{}, recovering: map[string]*recovery{}, connecting: map[string]time.Duration{},
	}
}

// connectLimit is within what time a replica is reached when nothing is in the way: an attempt that began before
// has ended by then, the wait is over, and another one has been made.
const connectLimit = 5 * time.Second

// connected judges how long it took to reach a replica that could be reached.
func (w *computeWatch) connected(name string) {
	took := w.r.World.Now() - max(w.connecting[name], w.healed)
	w.reconnects.Holds(w.healed == 0 || took <= connectLimit, "%s was reached after %v, though nothing was in the way", name, took)
}

func (w *computeWatch) now() models.Moment {
	return models.Moment{Event: w.r.World.Events(), NS: int64(w.r.World.Now())}
}

// over ends all controllers: their process has died.
func (w *computeWatch) over() {
	for _, n := range w.living {
		w.model.Over(n, w.now())
	}
	w.living = nil
}

// closed ends one controller.
func (w *computeWatch) closed(incarnation int64) {
	w.model.Over(incarnation, w.now())
	w.living = slices.DeleteFunc(w.living, func(n int64) bool { return n == incarnation })
}

func (w *computeWatch) restarted(replica string) { w.model.Restarted(replica, w.now()) }

func epochOf(e protocol.Epoch) models.ComputeEpoch {
	return models.ComputeEpoch{Controller: e.Controller, Connection: e.Replica}
}

// controllerWatch is the observer of one controller.
type controllerWatch struct {
	*computeWatch
	incarnation int64
}

func (w *controllerWatch) Observe(e compute.Event) {
	m, now := w.model, w.now()
	if !slices.Contains(w.living, w.incarnation) {
		w.living = append(w.living, w.incarnation)
	}
	switch e := e.(type) {
	case compute.ReplicaSpawned:
		m.Spawned(string(e.Replica), epochOf(e.Epoch), now)
		w.connecting[string(e.Replica)] = w.r.World.Now()
		w.spawned(string(e.Replica), e.Epoch)
	case compute.ReplicaConnected:
		w.connected(string(e.Replica))
		if r := w.recovering[string(e.Replica)]; r != nil && r.epoch == e.Epoch {
			r.connected = w.r.World.Now()
		}
	case compute.ReplicaRemoved:
		m.Removed(string(e.Replica), epochOf(e.Epoch), now)
	case compute.ResponseApplied:
		m.Applied(string(e.Replica), epochOf(e.Epoch), now)
	case compute.CommandSent:
		w.tells(string(e.Replica), epochOf(e.Epoch), e.Command)
		w.sent(string(e.Replica), e.Epoch, e.Command)
	case compute.ResponseReceived:
		w.hears(string(e.Replica), epochOf(e.Epoch), e.Response)
		w.received(string(e.Replica), e.Epoch, e.Response)
	case compute.CollectionCreated:
		w.created(e.Dataflow, now)
	case compute.CollectionDropped:
		m.Dropped(w.incarnation, uint64(e.ID), now)
	case compute.FrontierAdvanced:
		m.Advanced(w.incarnation, uint64(e.ID), e.Write, now)
	case compute.SinceAdvanced:
		m.SinceAdvanced(w.incarnation, uint64(e.ID), e.Since, now)
	case compute.ShardSinceAdvanced:
		m.ShardSinceAdvanced(w.incarnation, string(e.Shard), e.Since, now)
		w.sinces[string(e.Shard)] = e.Since
	case compute.PeekBegun:
		shard := ""
		if e.Target == writtenID {
			shard = writtenShard
		}
		m.PeekBegun(w.incarnation, string(e.ID), uint64(e.Target), shard, e.Timestamp, now)
	case compute.PeekEnded:
		m.PeekEnded(string(e.ID), now)
	case compute.SubscribeAdvanced:
		m.Batch(w.incarnation, uint64(e.ID), e.Batch.Lower, e.Batch.Upper, e.Batch.Updates, e.Batch.Errors, now)
	case compute.Fenced:
		w.closed(w.incarnation)
	}
}

// tells and hears are what passes over a connection, as the controller sees it.
func (w *computeWatch) tells(name string, e models.ComputeEpoch, cmd protocol.Command) {
	m, now := w.model, w.now()
	switch cmd := cmd.(type) {
	case protocol.InitializationComplete:
		m.Complete(name, e, now)
	case protocol.CreateDataflow:
		m.TellsDataflow(name, e, uint64(cmd.Dataflow.ID), cmd.Dataflow.AsOf, !cmd.Dataflow.Transient, now)
	case protocol.Schedule:
		m.TellsSchedule(name, e, uint64(cmd.ID), w.concurrency, now)
	case protocol.AllowCompaction:
		if cmd.Frontier.IsEmpty() {
			m.TellsDrop(name, e, uint64(cmd.ID), now)
		}
	case protocol.Peek:
		m.TellsPeek(name, e, string(cmd.ID), now)
	}
}

func (w *computeWatch) hears(name string, e models.ComputeEpoch, resp protocol.Response) {
	switch r := resp.(type) {
	case protocol.Frontiers:
		w.model.Hears(name, e, uint64(r.ID), r.Output, w.now())
	case protocol.SubscribeResponse:
		w.model.Hears(name, e, uint64(r.ID), upperOf(r), w.now())
	}
}

// upperOf is how far a subscribe is computed, which has nothing more to compute once it has ended.
func upperOf(r protocol.SubscribeResponse) persist.Frontier {
	if r.Batch == nil {
		return persist.Empty()
	}
	return r.Batch.Upper
}

func (w *controllerWatch) created(d *protocol.Dataflow, now models.Moment) {
	var indexes []uint64
	for _, i := range d.Indexes {
		indexes = append(indexes, uint64(i.ID))
	}
	var shards []string
	for _, s := range d.Shards {
		shards = append(shards, string(s.Shard))
	}
	asOf, _ := d.AsOf.Time()
	w.model.Created(w.incarnation, uint64(d.ID), asOf, indexes, shards, now)
	if d.Sink.Kind == protocol.Subscribe {
		w.model.Subscribed(w.incarnation, uint64(d.ID), d.Sink.Snapshot)
	}
}

// replicaWatch is the observer of a replica.
type replicaWatch struct {
	*computeWatch
	name string
}

func (w *replicaWatch) Observe(e computereplica.Event) {
	m, now := w.model, w.now()
	switch e := e.(type) {
	case computereplica.Accepted:
		m.Accepted(w.name, epochOf(e.Epoch), now)
		if v := w.versions[w.name]; v != rightVersion {
			w.r.World.Fail(oracleReconnects, "%s, of version %s, accepts a controller of version %s", w.name, v, rightVersion)
		}
	case computereplica.Reconciled:
		m.Reconciled(w.name, epochOf(e.Epoch), now)
	case computereplica.Rendered:
		m.Rendered(w.name, epochOf(e.Epoch), uint64(e.ID), e.AsOf, now)
	case computereplica.Scheduled:
		if !e.Transient {
			m.Scheduled(w.name, epochOf(e.Epoch), uint64(e.ID), w.concurrency, now)
		}
	case computereplica.Discarded:
		m.Discarded(w.name, epochOf(e.Epoch), uint64(e.ID), now)
	case computereplica.ReadRefused:
		m.ReadRefused(w.name, epochOf(e.Epoch), uint64(e.ID), string(e.Peek), e.From, e.AsOf, e.Since, now)
	case computereplica.Appending:
		m.Appending(w.name, string(e.Shard), e.Allowed, now)
	case computereplica.Sent:
		switch r := e.Response.(type) {
		case protocol.Frontiers:
			m.Told(w.name, epochOf(e.Epoch), uint64(r.ID), models.CollectionFrontiers{Write: r.Write, Input: r.Input, Output: r.Output}, now)
		case protocol.PeekResponse:
			m.Answered(w.name, epochOf(e.Epoch), string(r.ID), now)
		case protocol.SubscribeResponse:
			m.Computed(w.name, epochOf(e.Epoch), uint64(r.ID), upperOf(r), now)
		}
	}
}

// spawned, sent and received follow a replica from the loss of one connection until everything is hydrated
// over the next.
func (w *computeWatch) spawned(name string, e protocol.Epoch) {
	r := w.recovering[name]
	if r == nil {
		r = &recovery{since: w.r.World.Now()}
		w.recovering[name] = r
	}
	r.epoch, r.left, r.complete = e, map[protocol.GlobalID]persist.Frontier{}, false
}

func (w *computeWatch) sent(name string, e protocol.Epoch, cmd protocol.Command) {
	r := w.recovering[name]
	if r == nil || r.epoch != e {
		return
	}
	switch cmd := cmd.(type) {
	case protocol.CreateDataflow:
		if cmd.Dataflow.Sink.Kind != protocol.Subscribe && !r.complete {
			r.left[cmd.Dataflow.ID] = cmd.Dataflow.AsOf
		}
	case protocol.AllowCompaction:
		if cmd.Frontier.IsEmpty() {
			delete(r.left, cmd.ID)
		}
	case protocol.InitializationComplete:
		r.complete = true
	}
}

func (w *computeWatch) received(name string, e protocol.Epoch, resp protocol.Response) {
	r := w.recovering[name]
	f, ok := resp.(protocol.Frontiers)
	if r == nil || r.epoch != e || !ok {
		return
	}
	if asOf, left := r.left[f.ID]; left && asOf.Before(f.Output) {
		delete(r.left, f.ID)
	}
	if r.complete && len(r.left) == 0 {
		now := w.r.World.Now()
		w.recovered = append(w.recovered, now-r.since)
		w.hydrated = append(w.hydrated, now-r.connected)
		delete(w.recovering, name)
	}
}

// figures are how long replicas took, in the middle and at worst.
func (w *computeWatch) figures(r *Run) {
	add := func(name string, times []time.Duration) {
		if len(times) == 0 {
			return
		}
		slices.Sort(times)
		r.Figure(name+"_median_ms", times[len(times)/2].Milliseconds())
		r.Figure(name+"_max_ms", times[len(times)-1].Milliseconds())
	}
	r.Figure("replica_recoveries", int64(len(w.recovered)))
	add("replica_recovery", w.recovered)
	add("replica_hydration", w.hydrated)
}
