package compute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/compute/replica"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

var (
	background = context.Background()
	build      = protocol.BuildInfo{Version: "1.0.0"}
	pairs      = dataflow.NewSchema(
		dataflow.Column{Name: "key", Type: dataflow.Type(dataflow.KindInt64)},
		dataflow.Column{Name: "value", Type: dataflow.Type(dataflow.KindInt64)},
	)
	sums = dataflow.Get("t").Reduce([]dataflow.Expr{dataflow.Col(0)}, dataflow.Sum(dataflow.Col(1)))
)

// cluster is a world with the stores of persist, replicas, and the test's own controllers.
type cluster struct {
	w            *sim.World
	incarnations int64
	observed     []replica.Event
	workers      int // of each replica
}

func (c *cluster) Observe(e replica.Event) { c.observed = append(c.observed, e) }

// inCluster runs fn as the test's own process of a cluster with these replicas, of one worker and, in another
// cluster, of three.
func inCluster(t testing.TB, seed uint64, replicas int, fn func(c *cluster)) *sim.World {
	withWorkers(t, seed, replicas, 1, fn)
	return withWorkers(t, seed, replicas, 3, fn)
}

func withWorkers(t testing.TB, seed uint64, replicas, workers int, fn func(c *cluster)) *sim.World {
	w := sim.New(sim.Config{Seed: seed, MaxTime: time.Hour})
	defer w.Close()
	c := &cluster{w: w, workers: workers}
	w.NewNode("store", func(h host.Host) {
		_, err := persist.ServeBlob(h, "blob")
		require.NoError(t, err)
		_, _, err = persist.ServeConsensus(h, "consensus")
		require.NoError(t, err)
	})
	for i := range replicas {
		w.NewNode(fmt.Sprint("r", i+1), func(h host.Host) {
			_, err := replica.Serve(h, replica.Config{Port: "compute", Build: build, Persist: c.client(h), Workers: workers, Observer: c})
			require.NoError(t, err)
		})
	}
	w.Go("test", func() {
		defer w.Stop()
		w.Sleep(100 * time.Millisecond)
		fn(c)
	})
	require.NoError(t, w.Run())
	return w
}

func (c *cluster) client(h host.Host) *persist.Client {
	return persist.NewClient(h, persist.NewBlobClient(h, "store:blob"), persist.NewConsensusClient(h, "store:consensus"), persist.Config{})
}

// controller starts the next controller, without replicas.
func (c *cluster) controller(t testing.TB, cfg compute.Config) *compute.Controller {
	c.incarnations++
	cfg.Incarnation, cfg.Build = c.incarnations, build
	if cfg.Persist == nil {
		cfg.Persist = c.client(c.w.Host())
	}
	controller, err := compute.NewController(c.w.Host(), cfg)
	require.NoError(t, err)
	return controller
}

func address(name string) compute.ReplicaConfig {
	return compute.ReplicaConfig{Address: host.JoinAddr(name, "compute")}
}

// table appends to a shard of pairs.
type table struct {
	t      testing.TB
	writer *persist.WriteHandle
	upper  uint64
}

func (c *cluster) table(t testing.TB, shard persist.ShardID) *table {
	writer, err := c.client(c.w.Host()).OpenWriter(background, shard)
	require.NoError(t, err)
	return &table{t: t, writer: writer}
}

// write adds pairs at a time, and completes it.
func (t *table) write(time uint64, data ...[2]int64) {
	updates := make([]persist.Update, len(data))
	for i, d := range data {
		updates[i] = persist.Update{Data: string(pair(d[0], d[1])), Time: time, Diff: 1}
	}
	require.NoError(t.t, t.writer.CompareAndAppend(background, updates, persist.At(t.upper), persist.At(time+1)))
	t.upper = time + 1
}

func pair(key, value int64) dataflow.Row {
	return dataflow.Pack(dataflow.Int(key), dataflow.Int(value))
}

func imports(name dataflow.SourceID, shard persist.ShardID) []protocol.ShardImport {
	return []protocol.ShardImport{{Name: name, Shard: shard, Schema: pairs}}
}

func counted(rows ...dataflow.Row) (counts []dataflow.RowCount) {
	for _, r := range rows {
		counts = append(counts, dataflow.RowCount{Row: r, Count: 1})
	}
	return counts
}

// peek waits for the rows of a collection.
func peek(t testing.TB, c *compute.Controller, req compute.PeekRequest) []dataflow.RowCount {
	p, err := c.Peek(req)
	require.NoError(t, err)
	rows, err := p.Wait(background)
	require.NoError(t, err)
	return rows
}

// eventually waits for a condition.
func (c *cluster) eventually(t testing.TB, what string, holds func() bool) {
	for deadline := c.w.Now() + 2*time.Minute; !holds(); c.w.Sleep(20 * time.Millisecond) {
		require.Less(t, c.w.Now(), deadline, what)
	}
}

func TestIndexAndPeek(t *testing.T) {
	inCluster(t, 1, 1, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5}, [2]int64{2, 7})
		controller := c.controller(t, compute.Config{})
		require.NoError(t, controller.AddReplica("r1", address("r1")))
		asOf, err := controller.CreateDataflow(background, compute.Description{
			ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: protocol.Sink{Kind: protocol.Index, Key: []int{0}},
		})
		require.NoError(t, err)
		require.Equal(t, uint64(10), asOf)
		controller.InitializationComplete()
		require.Equal(t, counted(pair(1, 5), pair(2, 7)), peek(t, controller, compute.PeekRequest{Target: 1, Timestamp: 10}))
		tab.write(20, [2]int64{1, 1})
		key := dataflow.Pack(dataflow.Int(1))
		require.Equal(t, counted(pair(1, 6)), peek(t, controller, compute.PeekRequest{Target: 1, Timestamp: 20, Key: &key}))
	})
}

// create creates a dataflow and fails the test if it can't.
func create(t testing.TB, c *compute.Controller, d compute.Description) uint64 {
	asOf, err := c.CreateDataflow(background, d)
	require.NoError(t, err)
	return asOf
}

var indexed = protocol.Sink{Kind: protocol.Index, Key: []int{0}}

func TestReplicasWriteAShardTogether(t *testing.T) {
	inCluster(t, 3, 2, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5})
		controller := c.controller(t, compute.Config{})
		for _, name := range []string{"r1", "r2"} {
			require.NoError(t, controller.AddReplica(protocol.ReplicaID(name), address(name)))
		}
		create(t, controller, compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: protocol.Sink{Kind: protocol.Shard, Shard: "out"}})
		controller.InitializationComplete()
		c.w.Sleep(5 * time.Second)
		_, write, err := controller.Frontiers(1)
		require.NoError(t, err)
		require.Equal(t, persist.At(10), write, "read-only replicas write nothing")
		controller.AllowWrites()
		for i := range int64(20) {
			tab.write(uint64(20+i), [2]int64{i % 3, 1})
			c.w.Sleep(30 * time.Millisecond)
			if i == 10 {
				c.w.Node("r1").Crash()
				c.w.Node("r1").Restart()
			}
		}
		want := counted(pair(0, 7), pair(1, 12), pair(2, 6))
		require.Equal(t, want, peek(t, controller, compute.PeekRequest{Target: 1, Timestamp: 39}))
		reader, err := c.client(c.w.Host()).OpenReader(background, "out")
		require.NoError(t, err)
		updates, err := reader.SnapshotAndFetch(background, 39)
		require.NoError(t, err)
		require.Len(t, updates, 3)
		_, err = controller.Peek(compute.PeekRequest{Target: 1, Timestamp: 9})
		require.ErrorAs(t, err, new(*compute.SinceError), "before the dataflow begins nothing is there to be read")
	})
}

// A subscription goes on without gap or overlap while replicas die in turn.
func TestSubscription(t *testing.T) {
	for _, snapshot := range []bool{true, false} {
		inCluster(t, 5, 2, func(c *cluster) {
			tab := c.table(t, "t")
			tab.write(10, [2]int64{1, 5})
			controller := c.controller(t, compute.Config{})
			for _, name := range []string{"r1", "r2"} {
				require.NoError(t, controller.AddReplica(protocol.ReplicaID(name), address(name)))
			}
			controller.InitializationComplete()
			sub, err := controller.Subscribe(background, compute.Description{
				ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: protocol.Sink{Snapshot: snapshot},
			})
			require.NoError(t, err)
			require.Equal(t, uint64(10), sub.AsOf())
			for i := range int64(12) {
				tab.write(uint64(11+i), [2]int64{1, 1})
				c.w.Sleep(300 * time.Millisecond)
				node := c.w.Node(fmt.Sprint("r", 1+i/3%2))
				if i%3 == 0 {
					node.Crash()
				} else if i%3 == 1 {
					node.Restart()
				}
			}
			upper, sum := persist.Frontier{}, int64(0)
			for upper.LessEqual(22) {
				b, err := sub.Next(background)
				require.NoError(t, err)
				require.Equal(t, upper, b.Lower)
				for _, u := range b.Updates {
					data, err := u.Row.Unpack()
					require.NoError(t, err)
					sum += data[1].Int() * u.Diff
				}
				upper = b.Upper
			}
			want := int64(5 + 12)
			if !snapshot {
				want -= 5
			}
			require.Equal(t, want, sum)
			require.NoError(t, controller.DropCollections(1))
			_, err = sub.Next(background)
			require.ErrorIs(t, err, compute.ErrDropped)
		})
	}
}

// The end of a shard is the end of a subscription.
func TestSubscriptionEnds(t *testing.T) {
	inCluster(t, 5, 1, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5})
		controller := c.controller(t, compute.Config{})
		require.NoError(t, controller.AddReplica("r1", address("r1")))
		controller.InitializationComplete()
		sub, err := controller.Subscribe(background, compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: protocol.Sink{Snapshot: true}})
		require.NoError(t, err)
		require.NoError(t, tab.writer.CompareAndAppend(background, nil, persist.At(11), persist.Empty()))
		for err == nil {
			_, err = sub.Next(background)
		}
		require.ErrorIs(t, err, io.EOF)
	})
}

// A subscription that nobody takes batches of ends, and lets go of what it reads; one that is followed does not.
func TestSlowSubscription(t *testing.T) {
	w := inCluster(t, 12, 1, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5})
		controller := c.controller(t, compute.Config{SubscribeBacklog: 2000})
		require.NoError(t, controller.AddReplica("r1", address("r1")))
		controller.InitializationComplete()
		subscribe := func(id protocol.GlobalID) *compute.Subscription {
			sub, err := controller.Subscribe(background, compute.Description{
				ID: id, Plan: sums, Shards: imports("t", "t"), Sink: protocol.Sink{Snapshot: true},
			})
			require.NoError(t, err)
			return sub
		}
		slow, quick := subscribe(1), subscribe(2)
		for at := uint64(11); at < 40; at++ {
			tab.write(at, [2]int64{1, 1})
			for {
				b, err := quick.Next(background)
				require.NoError(t, err)
				if !b.Upper.LessEqual(at) {
					break
				}
			}
		}
		c.eventually(t, "the slow one's end", func() bool {
			_, _, err := controller.Frontiers(1)
			return errors.Is(err, compute.ErrUnknownCollection)
		})
		_, err := slow.Next(background)
		require.ErrorIs(t, err, compute.ErrFellBehind)
		_, err = slow.Next(background)
		require.ErrorIs(t, err, compute.ErrFellBehind, "and that is all there is to say")
		_, _, err = controller.Frontiers(2)
		require.NoError(t, err)

		// One batch may be of any size.
		big := make([][2]int64, 300)
		for i := range big {
			big[i] = [2]int64{int64(i), 1}
		}
		tab.write(50, big...)
		for upper := persist.At(0); upper.LessEqual(50); {
			b, err := quick.Next(background)
			require.NoError(t, err)
			upper = b.Upper
		}
	})
	require.Equal(t, 1, w.Sometimes()["compute: a subscription fell behind"])
}

// A later controller takes over: replicas keep what is the same, the former one is fenced out.
func TestTakeOver(t *testing.T) {
	inCluster(t, 7, 1, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5})
		start := func(plan dataflow.Plan) *compute.Controller {
			controller := c.controller(t, compute.Config{Retention: 50})
			require.NoError(t, controller.AddReplica("r1", address("r1")))
			create(t, controller, compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: indexed})
			create(t, controller, compute.Description{ID: 2, Plan: plan, Indexes: map[dataflow.SourceID]protocol.GlobalID{"t": 1}, Sink: indexed})
			controller.InitializationComplete()
			c.eventually(t, "hydration", func() bool {
				s, err := controller.Replica("r1")
				return err == nil && s.Connected && s.Hydrated
			})
			return controller
		}
		first := start(dataflow.Get("t").Distinct())
		waiting, err := first.Peek(compute.PeekRequest{Target: 1, Timestamp: 1 << 40})
		require.NoError(t, err)
		second := start(dataflow.Get("t").Project(0).Distinct())
		tab.write(20, [2]int64{1, 1})
		require.Equal(t, counted(pair(1, 6)), peek(t, second, compute.PeekRequest{Target: 1, Timestamp: 20}))
		var retained, created []protocol.GlobalID
		for _, e := range c.observed {
			if r, ok := e.(replica.Reconciled); ok && r.Epoch.Controller == 2 {
				retained, created = r.Retained, r.Created
				break
			}
		}
		require.Equal(t, []protocol.GlobalID{1}, retained)
		require.Equal(t, []protocol.GlobalID{2}, created)
		_, err = waiting.Wait(background)
		require.ErrorIs(t, err, compute.ErrFenced)
		require.ErrorIs(t, first.Err(), compute.ErrFenced)
		_, err = first.Peek(compute.PeekRequest{Target: 1, Timestamp: 20})
		require.ErrorIs(t, err, compute.ErrFenced)
		second.Close()
		require.ErrorIs(t, second.Err(), compute.ErrClosed)
		require.ErrorIs(t, second.AddReplica("r2", address("r1")), compute.ErrClosed)
	})
}

// What is held stays readable; what is not goes, at the replicas and in the shards.
func TestHoldsAndCompaction(t *testing.T) {
	inCluster(t, 9, 1, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5})
		controller := c.controller(t, compute.Config{})
		require.NoError(t, controller.AddReplica("r1", address("r1")))
		create(t, controller, compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: indexed})
		create(t, controller, compute.Description{ID: 2, Plan: dataflow.Get("x").Distinct(), Indexes: map[dataflow.SourceID]protocol.GlobalID{"x": 1}, Sink: indexed})
		controller.InitializationComplete()
		hold, err := controller.AcquireReadHold(2)
		require.NoError(t, err)
		since := func(id protocol.GlobalID) protocol.Frontier {
			since, _, err := controller.Frontiers(id)
			require.NoError(t, err)
			return since
		}
		tab.write(30, [2]int64{1, 1})
		c.eventually(t, "the other one's progress", func() bool {
			_, write, err := controller.Frontiers(2)
			return err == nil && write == persist.At(31)
		})
		c.w.Sleep(5 * time.Second)
		require.Equal(t, persist.At(10), since(2), "it is held")
		require.Equal(t, persist.At(10), since(1), "and so is what it depends on")
		hold.Downgrade(persist.At(15))
		c.w.Sleep(3 * time.Second)
		require.Equal(t, persist.At(15), since(1))
		require.Equal(t, counted(pair(1, 5)), peek(t, controller, compute.PeekRequest{Target: 2, Timestamp: 15}))
		hold.Release()
		require.True(t, hold.Since().IsEmpty())
		c.w.Sleep(3 * time.Second)
		require.Equal(t, persist.At(30), since(1))
		_, err = controller.Peek(compute.PeekRequest{Target: 2, Timestamp: 15})
		require.Equal(t, &compute.SinceError{Collection: "c2", AsOf: persist.At(15), Since: persist.At(30)}, err)

		require.NoError(t, controller.DropCollections(1))
		c.w.Sleep(3 * time.Second)
		require.Equal(t, counted(pair(1, 6)), peek(t, controller, compute.PeekRequest{Target: 2, Timestamp: 30}), "who reads it goes on")
		require.NoError(t, controller.DropCollections(2))
		c.eventually(t, "the end of both", func() bool {
			s, err := controller.Replica("r1")
			return err == nil && len(s.Frontiers) == 0
		})
		tab.write(40)
		c.w.Sleep(3 * time.Second)
		reader, err := c.client(c.w.Host()).OpenReader(background, "t")
		require.NoError(t, err)
		require.Equal(t, persist.At(40), reader.Since(), "nobody holds the shard any more")
	})
}

func TestMisuse(t *testing.T) {
	inCluster(t, 1, 1, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5})
		_, err := compute.NewController(c.w.Host(), compute.Config{})
		require.ErrorContains(t, err, "NextIncarnation")
		controller := c.controller(t, compute.Config{})
		require.NoError(t, controller.AddReplica("r1", address("r1")))
		require.ErrorIs(t, controller.AddReplica("r1", address("r1")), compute.ErrReplicaExists)
		require.ErrorIs(t, controller.DropReplica("r9"), compute.ErrUnknownReplica)
		_, err = controller.Replica("r9")
		require.ErrorIs(t, err, compute.ErrUnknownReplica)
		index := compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: indexed}
		create(t, controller, index)
		_, err = controller.CreateDataflow(background, index)
		require.ErrorIs(t, err, compute.ErrCollectionExists)
		with := func(change func(*compute.Description)) error {
			d := index
			d.ID = 2
			change(&d)
			_, err := controller.CreateDataflow(background, d)
			return err
		}
		require.ErrorIs(t, with(func(d *compute.Description) {
			d.Plan, d.Indexes = dataflow.Get("i"), map[dataflow.SourceID]protocol.GlobalID{"i": 9}
		}), compute.ErrUnknownCollection)
		require.ErrorAs(t, with(func(d *compute.Description) { d.Plan = dataflow.Get("nothing") }), new(*dataflow.PlanError))
		require.Error(t, with(func(d *compute.Description) { d.Sink.Key = []int{7} }))
		require.ErrorIs(t, with(func(d *compute.Description) { d.Sink.Kind = protocol.Subscribe }), compute.ErrNotReadable)
		out := c.table(t, "out")
		out.write(4)
		late := uint64(10)
		require.ErrorAs(t, with(func(d *compute.Description) {
			d.Sink, d.AsOf = protocol.Sink{Kind: protocol.Shard, Shard: "out"}, &late
		}), new(*compute.SinkError))
		require.Equal(t, uint64(4), create(t, controller, compute.Description{
			ID: 3, Plan: sums, Shards: imports("t", "t"), Sink: protocol.Sink{Kind: protocol.Shard, Shard: "out"},
		}), "it goes on where the shard ends")
		require.ErrorIs(t, controller.SetReadPolicy(3, compute.StepBack()), compute.ErrPolicy)
		require.ErrorIs(t, controller.SetReadPolicy(9, compute.StepBack()), compute.ErrUnknownCollection)
		_, err = controller.Peek(compute.PeekRequest{Target: 9})
		require.ErrorIs(t, err, compute.ErrUnknownCollection)
		key := pair(1, 5)
		_, err = controller.Peek(compute.PeekRequest{Target: 3, Timestamp: 10, Key: &key})
		require.ErrorIs(t, err, compute.ErrNoKey)
		plan := dataflow.Get("nothing")
		_, err = controller.Peek(compute.PeekRequest{Target: 1, Timestamp: 10, Plan: &plan})
		require.ErrorAs(t, err, new(*dataflow.PlanError))
		require.ErrorIs(t, controller.DropCollections(9), compute.ErrUnknownCollection)
	})
}

func TestPeekIsCancelled(t *testing.T) {
	inCluster(t, 1, 1, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5})
		controller := c.controller(t, compute.Config{})
		require.NoError(t, controller.AddReplica("r1", address("r1")))
		create(t, controller, compute.Description{ID: 1, Plan: sums, Shards: imports("t", "t"), Sink: indexed})
		controller.InitializationComplete()
		p, err := controller.Peek(compute.PeekRequest{Target: 1, Timestamp: 99})
		require.NoError(t, err)
		p.Cancel()
		_, err = p.Wait(background)
		require.ErrorIs(t, err, compute.ErrCanceled)
		p, err = controller.Peek(compute.PeekRequest{Target: 1, Timestamp: 99})
		require.NoError(t, err)
		ctx, cancel := c.w.Host().Clock().WithTimeout(background, time.Second)
		defer cancel()
		_, err = p.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = p.Wait(background)
		require.ErrorIs(t, err, compute.ErrCanceled)
	})
}

// At most as many dataflows hydrate at once as may, and all in the end.
func TestHydrationIsLimited(t *testing.T) {
	inCluster(t, 1, 1, func(c *cluster) {
		tab := c.table(t, "t")
		tab.write(10, [2]int64{1, 5})
		dyncfg := &compute.DynamicConfig{}
		dyncfg.SetHydrationConcurrency(1)
		controller := c.controller(t, compute.Config{Dynamic: dyncfg})
		for id := range protocol.GlobalID(5) {
			create(t, controller, compute.Description{ID: id + 1, Plan: sums, Shards: imports("t", "t"), Sink: indexed})
		}
		controller.InitializationComplete()
		require.NoError(t, controller.AddReplica("r1", address("r1")))
		waited := int64(0)
		c.eventually(t, "hydration", func() bool {
			s, err := controller.Replica("r1")
			require.NoError(t, err)
			waited = max(waited, s.Metrics.HydrationQueue.Load())
			return s.Hydrated
		})
		require.Equal(t, int64(4), waited)
	})
}

func TestNextIncarnation(t *testing.T) {
	inCluster(t, 1, 0, func(c *cluster) {
		consensus := persist.NewConsensusClient(c.w.Host(), "store:consensus")
		for want := range int64(3) {
			n, err := compute.NextIncarnation(background, consensus, "i")
			require.NoError(t, err)
			require.Equal(t, want+1, n)
		}
		kept, err := consensus.Scan(background, "compute/i/incarnation", 0, 10)
		require.NoError(t, err)
		require.Len(t, kept, 1, "the numbers before are not kept")
		n, err := compute.NextIncarnation(background, consensus, "other")
		require.NoError(t, err)
		require.Equal(t, int64(1), n)
	})
}
