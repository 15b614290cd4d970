package models

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/naive"
	"github.com/simrun-dev/simrun/system/persist"
)

// Names of the oracles of [Compute].
const (
	OracleEpochIncreases    = "compute/epoch-increases"
	OracleNoStaleResponse   = "compute/no-stale-response"
	OraclePeekOnce          = "compute/peek-once"
	OraclePeekCorrect       = "compute/peek-correct"
	OracleSubscribeComplete = "compute/subscribe-complete"
	OracleFrontierMonotone  = "compute/frontier-monotone"
	OracleSinceHeld         = "compute/since-held"
	OracleWritesAllowed     = "compute/writes-allowed"
	OracleReconciles        = "compute/reconciles"
	OracleHydrationBounded  = "compute/hydration-bounded"
	OracleHydrationProgress = "compute/hydration-progress"
)

// Compute judges a system that maintains collections on replicas, under controllers of which a later one
// replaces the one before. It is fed what can be observed, in the order in which it happened, and
// judges each observation as it comes; the fields of the system itself are never looked at. Ask
// [Compute.Oracles] when the run is over.
//
//   - compute/epoch-increases: the epochs under which a replica is connected to grow, and so do those that it
//     accepts.
//
//   - compute/no-stale-response: a controller takes no response for true but of the latest connection to a
//     replica that it has not given up.
//
//   - compute/peek-once: each peek is answered once; on each connection a replica answers it once.
//
//   - compute/peek-correct: a peek's rows are what the plan says of the inputs as of its time.
//
//   - compute/subscribe-complete: a subscription's batches have no gap and no overlap, and add up to what the
//     plan says.
//
//   - compute/frontier-monotone: no frontier that a replica tells on a connection is before the time at which
//     the dataflow begins there, none goes back, and neither does what the controller makes of them, which is no
//     further than some replica has told.
//
//   - compute/hydration-bounded: no more dataflows hydrate on a replica at a time than may, over one connection.
//
//   - compute/hydration-progress: as many dataflows hydrate on a replica as may, while others wait for it, over one
//     connection.
//
//   - compute/since-held: no since passes a peek that is not answered, or what a dependent collection can be read
//     from on, and nothing that is wanted can't be read as of its time.
//
//   - compute/writes-allowed: a replica writes to no shard before it was told that it may.
//
//   - compute/reconciles: a replica changes what it runs only when a connection has told it everything, and then once.
//
// What is right is what package naive computes of all updates of the tables.
type Compute struct {
	inputs      naive.Inputs
	plans       map[uint64]dataflow.Plan
	controllers map[int64]*controllerView
	replicas    map[string]*replicaView
	peeks       map[string]*peekView
	rules       rules
	evaluated   map[evaluation]naive.Collection
}

// ComputeEpoch numbers a connection: by the controller's life, and the connection within it.
type ComputeEpoch struct {
	Controller int64
	Connection uint64
}

func (e ComputeEpoch) compare(f ComputeEpoch) int {
	return cmp.Or(cmp.Compare(e.Controller, f.Controller), cmp.Compare(e.Connection, f.Connection))
}

func (e ComputeEpoch) String() string { return fmt.Sprintf("(%d, %d)", e.Controller, e.Connection) }

// CollectionFrontiers are how far a collection is on a replica.
type CollectionFrontiers struct{ Write, Input, Output persist.Frontier }

type evaluation struct {
	collection uint64
	at         uint64
}

// controllerView is a life of the controller.
type controllerView struct {
	current     map[string]ComputeEpoch // the connection to each replica that it listens to
	collections map[uint64]*collectionView
	shards      map[string]persist.Frontier
	over        bool
}

type collectionView struct {
	since, write persist.Frontier
	indexes      []uint64
	shards       []string
	dropped      bool
	subscribed   bool
	snapshot     bool
	asOf         uint64
	upper        persist.Frontier // of the latest batch
	rows         []dataflow.Update
	failures     []dataflow.ErrorUpdate
}

type replicaView struct {
	spawned, accepted ComputeEpoch
	told              map[ComputeEpoch]*connectionView
}

type connectionView struct {
	asOf      map[uint64]persist.Frontier
	frontiers map[uint64]CollectionFrontiers
	answered  map[string]bool
	hydrating map[uint64]bool // scheduled, and not computed beyond their beginning
	hydration *hydrationView
	// complete: the controller has said on it that the replica knows everything; reconciled: the replica has
	// made its state so.
	complete, reconciled bool
}

type peekView struct {
	controller int64
	collection uint64
	shard      string // if it is that of a shard
	at         uint64
	answered   bool
}

// NewCompute returns a model that has observed nothing, of tables with these schemas.
func NewCompute(tables dataflow.Catalog) *Compute {
	return &Compute{
		inputs: naive.Inputs{Catalog: tables, Updates: map[dataflow.SourceID][]dataflow.Update{}},
		plans:  map[uint64]dataflow.Plan{}, controllers: map[int64]*controllerView{}, replicas: map[string]*replicaView{},
		peeks: map[string]*peekView{}, rules: newRules(ComputeOracles()), evaluated: map[evaluation]naive.Collection{},
	}
}

// ComputeOracles are the names of the oracles, sorted.
func ComputeOracles() []string {
	return []string{
		OracleEpochIncreases, OracleFrontierMonotone, OracleHydrationBounded, OracleHydrationProgress, OracleNoStaleResponse,
		OraclePeekCorrect, OraclePeekOnce, OracleReconciles, OracleSinceHeld, OracleSubscribeComplete, OracleWritesAllowed,
	}
}

// Oracles are the verdicts on what was observed so far.
func (c *Compute) Oracles() []Oracle { return c.rules.oracles() }

// holds judges once.
func (c *Compute) holds(oracle string, ok bool, m Moment, format string, args ...any) {
	c.rules.holds(oracle, ok, m, format, args...)
}

// Writing observes that updates of a table are about to become part of it. Nobody can have seen their times
// complete yet.
func (c *Compute) Writing(table dataflow.SourceID, updates []dataflow.Update, _ Moment) {
	c.inputs.Updates[table] = append(c.inputs.Updates[table], updates...)
}

// Defined observes what a collection is, in terms of tables.
func (c *Compute) Defined(collection uint64, plan dataflow.Plan) { c.plans[collection] = plan }

// Contents are what a collection must hold as of a time.
func (c *Compute) Contents(collection, at uint64) naive.Collection {
	key := evaluation{collection, at}
	if known, ok := c.evaluated[key]; ok {
		return known
	}
	contents, err := naive.Evaluate(c.plans[collection], c.inputs, at)
	if err != nil {
		panic(fmt.Sprintf("models: collection %d: %v", collection, err))
	}
	c.evaluated[key] = contents
	return contents
}

func (c *Compute) controller(n int64) *controllerView {
	v := c.controllers[n]
	if v == nil {
		v = &controllerView{current: map[string]ComputeEpoch{}, collections: map[uint64]*collectionView{}, shards: map[string]persist.Frontier{}}
		c.controllers[n] = v
	}
	return v
}

func (c *Compute) replica(name string) *replicaView {
	v := c.replicas[name]
	if v == nil {
		v = &replicaView{told: map[ComputeEpoch]*connectionView{}}
		c.replicas[name] = v
	}
	return v
}

func (v *replicaView) connection(e ComputeEpoch) *connectionView {
	n := v.told[e]
	if n == nil {
		n = &connectionView{
			asOf: map[uint64]persist.Frontier{}, frontiers: map[uint64]CollectionFrontiers{}, answered: map[string]bool{},
			hydrating: map[uint64]bool{}, hydration: newHydrationView(),
		}
		v.told[e] = n
	}
	return n
}

// Spawned observes that a controller sets out to connect to a replica.
func (c *Compute) Spawned(replica string, e ComputeEpoch, m Moment) {
	v := c.replica(replica)
	if v.spawned.Controller <= e.Controller { // of two controllers, the older may not know yet
		c.holds(OracleEpochIncreases, v.spawned.compare(e) < 0, m, "replica %s is connected to under epoch %v after %v", replica, e, v.spawned)
		v.spawned = e
	}
	before, again := c.controller(e.Controller).current[replica]
	c.holds(OracleEpochIncreases, !again || before.compare(e) < 0, m, "replica %s is connected to under epoch %v while the controller listens to %v", replica, e, before)
	c.controller(e.Controller).current[replica] = e
}

// Removed observes that a controller listens to a connection no more.
func (c *Compute) Removed(replica string, e ComputeEpoch, _ Moment) {
	if v := c.controller(e.Controller); v.current[replica] == e {
		delete(v.current, replica)
	}
}

// Accepted observes that a replica takes a connection for the one that counts.
func (c *Compute) Accepted(replica string, e ComputeEpoch, m Moment) {
	v := c.replica(replica)
	c.holds(OracleEpochIncreases, v.accepted.compare(e) < 0, m, "replica %s accepts epoch %v after %v", replica, e, v.accepted)
	if v.accepted.compare(e) < 0 {
		v.accepted = e
	}
}

// Restarted observes that a replica's process has begun anew, and knows of no epoch: an older controller that
// does not know that it was replaced may be accepted then.
func (c *Compute) Restarted(replica string, _ Moment) { c.replica(replica).accepted = ComputeEpoch{} }

// Over observes that a controller's life has ended: nothing that it wanted is wanted any more.
func (c *Compute) Over(controller int64, _ Moment) { c.controller(controller).over = true }

// Applied observes that a controller takes a response for true.
func (c *Compute) Applied(replica string, e ComputeEpoch, m Moment) {
	current, ok := c.controller(e.Controller).current[replica]
	c.holds(OracleNoStaleResponse, ok && current == e, m, "a response of replica %s under epoch %v is applied; the connection that counts is %v (%v)", replica, e, current, ok)
}

// Told observes that a replica tells how far a collection is.
func (c *Compute) Told(replica string, e ComputeEpoch, collection uint64, f CollectionFrontiers, m Moment) {
	v := c.replica(replica).connection(e)
	asOf := v.asOf[collection]
	before, told := v.frontiers[collection]
	check := func(kind string, from, to persist.Frontier) {
		c.holds(OracleFrontierMonotone, to.IsEmpty() || !to.Before(asOf), m, "replica %s, epoch %v: the %s frontier of c%d is %v, before the beginning at %v", replica, e, kind, collection, to, asOf)
		c.holds(OracleFrontierMonotone, !told || !to.Before(from), m, "replica %s, epoch %v: the %s frontier of c%d goes back from %v to %v", replica, e, kind, collection, from, to)
	}
	check("write", before.Write, f.Write)
	check("input", before.Input, f.Input)
	check("output", before.Output, f.Output)
	c.holds(OracleFrontierMonotone, !told || before != f, m, "replica %s, epoch %v: the frontiers of c%d are told again: %v", replica, e, collection, f)
	v.frontiers[collection] = f
	if asOf.Before(f.Output) {
		delete(v.hydrating, collection)
	}
}

// Scheduled observes that a replica lets a dataflow run that counts among those of which limit at most may
// hydrate at a time.
func (c *Compute) Scheduled(replica string, e ComputeEpoch, collection uint64, limit int, m Moment) {
	v := c.replica(replica).connection(e)
	v.hydration.scheduled[collection] = true
	if v.asOf[collection].Before(v.frontiers[collection].Output) {
		return // it had been there before
	}
	v.hydrating[collection] = true
	c.holds(OracleHydrationBounded, len(v.hydrating) <= limit, m, "replica %s, epoch %v: %d dataflows hydrate, of %d that may", replica, e, len(v.hydrating), limit)
}

// Computed observes that a replica has come to send of a subscription what lies beyond its beginning.
func (c *Compute) Computed(replica string, e ComputeEpoch, collection uint64, upper persist.Frontier, _ Moment) {
	v := c.replica(replica).connection(e)
	if v.asOf[collection].Before(upper) {
		delete(v.hydrating, collection)
	}
}

// Discarded observes that a replica was told to drop a dataflow.
func (c *Compute) Discarded(replica string, e ComputeEpoch, collection uint64, m Moment) {
	delete(c.replica(replica).connection(e).hydrating, collection)
	c.does(replica, e, commandDrop(collection), m)
}

// Rendered observes that a dataflow begins on a replica, or goes on under a new connection.
func (c *Compute) Rendered(replica string, e ComputeEpoch, collection uint64, asOf persist.Frontier, m Moment) {
	v := c.replica(replica).connection(e)
	v.asOf[collection] = asOf
	if v.reconciled { // else commands were collected, and are not done in their order
		c.does(replica, e, commandCreate(collection), m)
	}
}

// Complete observes that a controller is about to say, over a connection, that it has told everything.
func (c *Compute) Complete(replica string, e ComputeEpoch, _ Moment) {
	v := c.replica(replica).connection(e)
	v.complete = true
	v.hydration.sends(commandComplete)
}

// Reconciled observes that a replica has made its state what a connection asks for.
func (c *Compute) Reconciled(replica string, e ComputeEpoch, m Moment) {
	v := c.replica(replica).connection(e)
	c.holds(OracleReconciles, v.complete && !v.reconciled, m, "replica %s reconciles with epoch %v, which has not told it everything (%v), or again (%v)", replica, e, !v.complete, v.reconciled)
	v.reconciled = true
	c.does(replica, e, commandComplete, m)
}

// Answered observes that a replica answers a peek.
func (c *Compute) Answered(replica string, e ComputeEpoch, peek string, m Moment) {
	v := c.replica(replica).connection(e)
	c.holds(OraclePeekOnce, !v.answered[peek], m, "replica %s, epoch %v answers peek %s again", replica, e, peek)
	v.answered[peek] = true
	c.does(replica, e, commandPeek(peek), m)
}

// Appending observes that a replica is about to write to a shard.
func (c *Compute) Appending(replica, shard string, allowed bool, m Moment) {
	c.holds(OracleWritesAllowed, allowed, m, "replica %s appends to shard %s before it was told that it may", replica, shard)
}

// Created observes that a controller has a collection that begins at asOf, and what it reads.
func (c *Compute) Created(controller int64, collection uint64, asOf uint64, indexes []uint64, shards []string, _ Moment) {
	at := persist.At(asOf)
	c.controller(controller).collections[collection] = &collectionView{since: at, write: at, asOf: asOf, indexes: indexes, shards: shards}
}

// Subscribed observes that a collection is given to the caller in batches, with its contents at the
// beginning or without.
func (c *Compute) Subscribed(controller int64, collection uint64, snapshot bool) {
	v := c.controller(controller).collections[collection]
	v.subscribed, v.snapshot = true, snapshot
}

// Dropped observes that a collection is not wanted any more.
func (c *Compute) Dropped(controller int64, collection uint64, _ Moment) {
	c.controller(controller).collections[collection].dropped = true
}

// Advanced observes how far a controller takes a collection to be written.
func (c *Compute) Advanced(controller int64, collection uint64, write persist.Frontier, m Moment) {
	v := c.controller(controller).collections[collection]
	c.holds(OracleFrontierMonotone, v.write.Before(write), m, "the controller takes c%d to be written up to %v after %v", collection, write, v.write)
	c.holds(OracleFrontierMonotone, v.subscribed || !c.told(controller, collection).Before(write), m, "the controller takes c%d to be written up to %v, and no replica is beyond %v", collection, write, c.told(controller, collection))
	v.write = v.write.Join(write)
}

// told is how far any replica has told a controller that a collection is written.
func (c *Compute) told(controller int64, collection uint64) (write persist.Frontier) {
	for _, v := range c.replicas {
		for e, n := range v.told {
			if e.Controller == controller {
				write = write.Join(n.frontiers[collection].Write)
			}
		}
	}
	return write
}

// SinceAdvanced observes from where on a controller lets a collection be read.
func (c *Compute) SinceAdvanced(controller int64, collection uint64, since persist.Frontier, m Moment) {
	v := c.controller(controller)
	col := v.collections[collection]
	c.holds(OracleSinceHeld, !since.Before(col.since), m, "the since of c%d goes back from %v to %v", collection, col.since, since)
	col.since = col.since.Join(since)
	for _, id := range slices.Sorted(maps.Keys(c.peeks)) {
		p := c.peeks[id]
		if p.controller == controller && p.collection == collection && p.shard == "" && !p.answered {
			c.holds(OracleSinceHeld, since.LessEqual(p.at), m, "the since of c%d goes to %v, and peek %s at %d is not answered", collection, since, id, p.at)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.collections)) {
		if d := v.collections[id]; slices.Contains(d.indexes, collection) {
			c.holds(OracleSinceHeld, !d.since.Before(since), m, "the since of c%d goes to %v, beyond that of c%d, which reads it: %v", collection, since, id, d.since)
		}
	}
}

// ShardSinceAdvanced observes from where on a controller lets a shard be read.
func (c *Compute) ShardSinceAdvanced(controller int64, shard string, since persist.Frontier, m Moment) {
	v := c.controller(controller)
	c.holds(OracleSinceHeld, !since.Before(v.shards[shard]), m, "the since of shard %s goes back from %v to %v", shard, v.shards[shard], since)
	v.shards[shard] = since
	for _, id := range slices.Sorted(maps.Keys(c.peeks)) {
		p := c.peeks[id]
		if p.controller == controller && p.shard == shard && !p.answered {
			c.holds(OracleSinceHeld, since.LessEqual(p.at), m, "the since of shard %s goes to %v, and peek %s at %d is not answered", shard, since, id, p.at)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.collections)) {
		if d := v.collections[id]; slices.Contains(d.shards, shard) {
			c.holds(OracleSinceHeld, !d.since.Before(since), m, "the since of shard %s goes to %v, beyond that of c%d, which reads it: %v", shard, since, id, d.since)
		}
	}
}

// letGoOf tells whether a controller later than the one given lets a shard be read from beyond at only.
func (c *Compute) letGoOf(shard string, at uint64, controller int64) bool {
	for n, v := range c.controllers {
		if since, known := v.shards[shard]; known && n > controller && !since.LessEqual(at) {
			return true
		}
	}
	return false
}

// ReadRefused observes that a replica can't read something as of a time for a dataflow, or for a peek if that
// is not "". It is no fault when nobody wants it any more: a connection that was given up, a collection that
// was dropped, a peek that another replica has answered, a shard's history that a later controller has let go
// of while the older does not know yet.
func (c *Compute) ReadRefused(replica string, e ComputeEpoch, collection uint64, peek, from string, at uint64, since persist.Frontier, m Moment) {
	v := c.controller(e.Controller)
	wanted := !v.over && v.current[replica] == e && !c.letGoOf(from, at, e.Controller)
	if peek != "" {
		p := c.peeks[peek]
		wanted = wanted && p != nil && !p.answered
	} else {
		col := v.collections[collection]
		wanted = wanted && col != nil && !col.dropped
	}
	c.holds(OracleSinceHeld, !wanted, m, "replica %s, epoch %v: c%d (peek %q) can't read %s as of %d, whose since is %v", replica, e, collection, peek, from, at, since)
}

// PeekBegun observes that a peek is taken of a collection, or of its shard if that is not "".
func (c *Compute) PeekBegun(controller int64, id string, collection uint64, shard string, at uint64, m Moment) {
	c.holds(OraclePeekOnce, c.peeks[id] == nil, m, "there was a peek %s before", id)
	c.peeks[id] = &peekView{controller: controller, collection: collection, shard: shard, at: at}
}

// PeekEnded observes that a peek's caller is answered.
func (c *Compute) PeekEnded(id string, m Moment) {
	p := c.peeks[id]
	c.holds(OraclePeekOnce, p != nil && !p.answered, m, "peek %s is answered again, or never was", id)
	if p != nil {
		p.answered = true
	}
}

// PeekRows observes the rows that a peek's caller was given, of those of the collection that keep is true of;
// nil is all.
func (c *Compute) PeekRows(id string, rows []dataflow.RowCount, keep func(dataflow.Row) bool, m Moment) {
	p := c.peeks[id]
	want := c.Contents(p.collection, p.at)
	wanted := slices.DeleteFunc(slices.Clone(want.Rows), func(r dataflow.RowCount) bool { return keep != nil && !keep(r.Row) })
	c.holds(OraclePeekCorrect, slices.Equal(rows, wanted) && len(want.Errors) == 0, m,
		"peek %s of c%d at %d gives %v, and not %v", id, p.collection, p.at, rows, wanted)
}

// PeekFailed observes that a peek failed for something that its rows are to blame for: those in the wrong
// state of the system are not.
func (c *Compute) PeekFailed(id, message string, m Moment) {
	p := c.peeks[id]
	want := c.Contents(p.collection, p.at)
	blamed := slices.ContainsFunc(want.Errors, func(e dataflow.ErrorCount) bool { return strings.Contains(message, e.Err.Error()) })
	c.holds(OraclePeekCorrect, blamed, m, "peek %s of c%d at %d fails: %s", id, p.collection, p.at, message)
}

// Batch observes a batch of a subscription.
func (c *Compute) Batch(controller int64, collection uint64, lower, upper persist.Frontier, rows []dataflow.Update, failures []dataflow.ErrorUpdate, m Moment) {
	v := c.controller(controller).collections[collection]
	c.holds(OracleSubscribeComplete, lower == v.upper, m, "the subscription to c%d goes on at %v, where the last batch ended at %v", collection, lower, v.upper)
	c.holds(OracleSubscribeComplete, lower.Before(upper), m, "the subscription to c%d is given a batch from %v to %v", collection, lower, upper)
	for _, u := range rows {
		c.holds(OracleSubscribeComplete, lower.LessEqual(u.Time) && !upper.LessEqual(u.Time), m,
			"the subscription to c%d is given %v in a batch from %v to %v", collection, u, lower, upper)
	}
	v.upper = upper
	v.rows, v.failures = append(v.rows, rows...), append(v.failures, failures...)
	last, ok := upper.Time()
	if !ok || last <= v.asOf || !v.subscribed {
		return
	}
	got := naive.Accumulate(v.rows, v.failures, last-1)
	want := c.Contents(collection, last-1)
	if !v.snapshot {
		want = difference(want, c.Contents(collection, v.asOf))
	}
	c.holds(OracleSubscribeComplete, got.String() == want.String(), m,
		"the subscription to c%d adds up, as of %d, to %v, and not to %v", collection, last-1, got.Rows, want.Rows)
}

// difference is a without b.
func difference(a, b naive.Collection) naive.Collection {
	var rows []dataflow.Update
	var failures []dataflow.ErrorUpdate
	add := func(c naive.Collection, sign int64) {
		for _, r := range c.Rows {
			rows = append(rows, dataflow.Update{Row: r.Row, Diff: sign * r.Count})
		}
		for _, e := range c.Errors {
			failures = append(failures, dataflow.ErrorUpdate{Err: e.Err, Diff: sign * e.Count})
		}
	}
	add(a, 1)
	add(b, -1)
	return naive.Accumulate(rows, failures, 0)
}
