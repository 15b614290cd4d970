package cdc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/rpc"
)

var background = context.Background()

const feed = "feed"

// cluster is all machines that it takes, and a judge of what happens on them.
type cluster struct {
	t        testing.TB
	w        *sim.World
	judge    *judge
	coord    *sim.Node
	source   *sim.Node
	stores   []*sim.Node // of persist
	nodes    []*sim.Node // captures
	captures map[string]*cdc.Capture
	store    *source.Store // the upstream store's present life
	kv       *coord.Store  // the coordination service's

	// upstreamOf, if it is set, is the upstream store as the captures on a host have it.
	upstreamOf func(h host.Host, store source.Reader) source.Reader

	client   *coord.Remote
	upstream *source.Client
	admin    *cdc.Admin
	shards   *persist.Client
}

// config are the times of small tests: everything is quick.
func config() cdc.Config {
	return cdc.Config{SessionTTL: 2 * time.Second, RestartDelay: 100 * time.Millisecond}
}

func newCluster(t testing.TB, w *sim.World, captures int, cfg cdc.Config) *cluster {
	c := &cluster{t: t, w: w, judge: newJudge(t), captures: map[string]*cdc.Capture{}}
	c.judge.truth = func() map[model.ChangeFeedID]truth {
		s, err := c.kv.Range(background, coord.Prefix(cdc.InfoKey("")), 0)
		require.NoError(t, err)
		checkpoints := map[model.ChangeFeedID]truth{}
		for _, kv := range s.KVs {
			id := strings.TrimPrefix(kv.Key, cdc.InfoKey(""))
			var info model.ChangeFeedInfo
			if json.Unmarshal([]byte(kv.Value), &info) != nil {
				continue
			}
			stored, ok, err := coord.ReadKey(background, c.kv, cdc.StatusKey(id))
			require.NoError(t, err)
			if ok && info.State != model.StateFinished {
				var status model.ChangeFeedStatus
				require.NoError(t, json.Unmarshal([]byte(stored.Value), &status))
				checkpoints[id] = truth{kv.CreateRevision, status.CheckpointTs}
			}
		}
		return checkpoints
	}
	c.judge.registered = func(id model.CaptureID) bool {
		_, ok, err := coord.ReadKey(background, c.kv, cdc.CaptureKey(id))
		require.NoError(t, err)
		return ok
	}
	serve := func(name string, start func(h host.Host) error) *sim.Node {
		return w.NewNode(name, func(h host.Host) {
			for err := start(h); err != nil; err = start(h) {
				h.Logf("%v", err)
				h.Clock().Sleep(50 * time.Millisecond)
			}
		})
	}
	c.coord = serve("coord", func(h host.Host) (err error) {
		c.kv, _, err = coord.Serve(h, "coord", coord.StoreConfig{RewriteAt: 1 << 16, Retain: 40})
		return err
	})
	c.source = serve("source", func(h host.Host) (err error) {
		c.store, _, err = source.Serve(h, "source", source.Config{OnCommit: c.judge.committed, RewriteAt: 1 << 16})
		return err
	})
	c.stores = []*sim.Node{
		serve("blob", func(h host.Host) error { _, err := persist.ServeBlob(h, "persist"); return err }),
		serve("consensus", func(h host.Host) error { _, _, err := persist.ServeConsensus(h, "persist"); return err }),
	}
	c.client, c.upstream, c.shards = coord.Dial(w.Host(), "coord:coord"), source.Dial(w.Host(), "source:source"), c.persist(w.Host())
	c.admin = cdc.NewAdmin(w.Host(), c.client, c.upstream)
	w.Sleep(10 * time.Millisecond)
	for i := range captures {
		c.nodes = append(c.nodes, w.NewNode(fmt.Sprint("cap", i), func(h host.Host) { c.start(h, cfg, c.intoShards(h)) }))
	}
	return c
}

// intoShards are the sinks of captures on a host.
func (c *cluster) intoShards(h host.Host) sinks {
	shards := c.persist(h)
	return func(_ context.Context, _ model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
		return sink.NewShards(h, shards, info.SinkURI), nil
	}
}

type sinks = func(context.Context, model.ChangeFeedID, model.ChangeFeedInfo) (sink.Sink, error)

// start is what a capture's machine runs.
func (c *cluster) start(h host.Host, cfg cdc.Config, into sinks) {
	cfg.Coord, cfg.Upstream, cfg.Sinks, cfg.Observer = coord.Dial(h, "coord:coord"), source.Dial(h, "source:source"), into, c.judge
	if c.upstreamOf != nil {
		cfg.Upstream = c.upstreamOf(h, cfg.Upstream)
	}
	capture, err := cdc.Start(h, cfg)
	require.NoError(c.t, err)
	c.captures[h.Name()] = capture
}

func (c *cluster) persist(h host.Host) *persist.Client {
	opts := rpc.ClientOptions{DialTimeout: 500 * time.Millisecond, CallTimeout: time.Second}
	return persist.NewClient(h, persist.NewBlobClientOf(rpc.NewClient(h, "blob:persist", opts)),
		persist.NewConsensusClientOf(rpc.NewClient(h, "consensus:persist", opts)), persist.Config{RetryMax: time.Second})
}

// within calls until it succeeds, for the times when something is down.
func (c *cluster) within(d time.Duration, call func(ctx context.Context) error) {
	c.t.Helper()
	deadline := c.w.Now() + d
	for {
		ctx, cancel := c.w.Host().Clock().WithTimeout(background, 5*time.Second)
		err := call(ctx)
		cancel()
		if err == nil {
			return
		}
		require.Less(c.t, c.w.Now(), deadline, "%v", err)
		c.w.Sleep(100 * time.Millisecond)
	}
}

// spanRange are the keys of a span: "<id>/...".
func spanRange(id model.KeySpanID) (start, end string) {
	return fmt.Sprintf("%03d/", id), fmt.Sprintf("%03d0", id)
}

func (c *cluster) addSpan(id model.KeySpanID) {
	start, end := spanRange(id)
	c.within(20*time.Second, func(ctx context.Context) error {
		_, err := c.upstream.AddSpan(ctx, id, start, end)
		return err
	})
}

// create adds key spans and a changefeed of all there is.
func (c *cluster) create(spans int) {
	for id := range spans {
		c.addSpan(model.KeySpanID(id + 1))
	}
	c.within(20*time.Second, func(ctx context.Context) error {
		return c.admin.Create(ctx, feed, model.ChangeFeedInfo{SinkURI: feed})
	})
}

// write makes transactions until stop is called. Their keys are of the spans that there are.
func (c *cluster) write(every time.Duration) (stop func()) {
	stopped, ended := false, false
	c.w.Go("workload", func() {
		random := c.w.NewStream("test", "workload")
		for n := 0; !stopped; n++ {
			c.w.Sleep(time.Duration(random.Between(1, int64(2*every))))
			ids := c.store.SpanIDs()
			if len(ids) == 0 {
				continue
			}
			var mutations []source.Mutation
			for range random.Between(1, 4) {
				key := fmt.Sprintf("%03d/%d", ids[random.N(uint64(len(ids)))], random.N(6))
				if random.N(4) == 0 {
					mutations = append(mutations, source.Delete(key))
				} else {
					mutations = append(mutations, source.Put(key, fmt.Sprint("v", n)))
				}
			}
			ctx, cancel := c.w.Host().Clock().WithTimeout(background, time.Second)
			_, err := c.upstream.Commit(ctx, fmt.Sprint("txn-", n), mutations)
			cancel()
			if err != nil {
				require.True(c.t, errors.Is(err, source.ErrNotDone) || errors.Is(err, source.ErrUnknown) || errors.Is(err, source.ErrNoSpan), "%v", err)
			}
		}
		ended = true
	})
	return func() {
		stopped = true
		for !ended {
			c.w.Sleep(10 * time.Millisecond)
		}
	}
}

// checkpoint is the stored one.
func (c *cluster) checkpoint(id model.ChangeFeedID) model.Ts {
	var f cdc.Feed
	c.within(30*time.Second, func(ctx context.Context) (err error) {
		f, err = c.admin.Feed(ctx, id)
		return err
	})
	return f.Status.CheckpointTs
}

// reaches waits until the checkpoint is at or past a ts.
func (c *cluster) reaches(ts model.Ts) {
	c.t.Helper()
	deadline := c.w.Now() + 2*time.Minute
	for c.checkpoint(feed) < ts {
		if c.w.Now() > deadline {
			var s map[model.CaptureID]cdc.Status
			var err error
			s, err = c.admin.Scheduled(background, feed)
			require.Fail(c.t, "the checkpoint does not get there", "checkpoint %d, wanted %d, scheduled %+v %v", c.checkpoint(feed), ts, s, err)
		}
		c.w.Sleep(200 * time.Millisecond)
	}
}

// fails waits until a changefeed has failed, and says why.
func (c *cluster) fails(id model.ChangeFeedID, cause error) (f cdc.Feed) {
	c.t.Helper()
	c.within(time.Minute, func(ctx context.Context) (err error) {
		if f, err = c.admin.Feed(ctx, id); err == nil && f.Err() == nil {
			err = fmt.Errorf("it is %s at %d", f.Info.State, f.Status.CheckpointTs)
		}
		return err
	})
	require.ErrorIs(c.t, f.Err(), cdc.ErrFeedFailed)
	require.ErrorIs(c.t, f.Err(), cause)
	require.Equal(c.t, model.StateFailed, f.Info.State)
	return f
}

// now is the upstream store's.
func (c *cluster) now() (ts model.Ts) {
	c.within(30*time.Second, func(ctx context.Context) (err error) {
		ts, err = c.upstream.Now(ctx)
		return err
	})
	return ts
}

// settled waits until everything written so far is replicated, and compares.
func (c *cluster) settled() {
	c.t.Helper()
	c.reaches(c.now())
	c.compare(feed, c.checkpoint(feed))
	c.balanced()
}

// compare reads the sink as of a checkpoint, and some ts before, and compares with what was committed.
func (c *cluster) compare(prefix string, checkpoint model.Ts) {
	c.t.Helper()
	ids := c.judge.spanIDs()
	at := []model.Ts{checkpoint}
	for i := 0; i < 4; i++ {
		if ts, ok := c.judge.someTs(c.w, c.judge.start[prefix], checkpoint); ok {
			at = append(at, ts)
		}
	}
	for _, asOf := range at {
		got := map[string]string{}
		for _, id := range ids {
			if drop := c.judge.dropTs[id]; c.judge.addTs[id] >= asOf || drop != 0 && drop <= c.judge.start[prefix] {
				continue
			}
			reader, err := c.shards.OpenReader(background, sink.ShardOf(prefix, id))
			require.NoError(c.t, err)
			readAt := asOf
			if drop := c.judge.dropTs[id]; drop != 0 {
				readAt = min(readAt, drop)
			}
			ctx, cancel := c.w.Host().Clock().WithTimeout(background, 30*time.Second)
			updates, err := reader.SnapshotAndFetch(ctx, readAt)
			cancel()
			require.NoError(c.t, err, "span %d as of %d", id, readAt)
			reader.Close()
			for _, u := range updates {
				require.Equal(c.t, int64(1), u.Diff, "span %d, as of %d: %v is not there once", id, asOf, u)
				key, value, err := sink.Decode(u.Data)
				require.NoError(c.t, err)
				got[key] = value
			}
		}
		require.Equal(c.t, c.judge.contents(asOf), got, "as of %d, checkpoint %d", asOf, checkpoint)
	}
}

// balanced checks that all wanted key spans run, and each live capture has its share.
func (c *cluster) balanced() {
	c.t.Helper()
	c.within(time.Minute, func(ctx context.Context) error { return c.admin.Rebalance(ctx, feed) })
	c.within(time.Minute, func(ctx context.Context) error {
		scheduled, err := c.admin.Scheduled(ctx, feed)
		if err != nil {
			return err
		}
		captures, err := c.admin.Captures(ctx)
		if err != nil {
			return err
		}
		var running []model.KeySpanID
		most := 0
		for _, info := range captures {
			s := scheduled[info.ID]
			if len(s.Adding)+len(s.Removing) > 0 {
				return errors.New("operations are under way")
			}
			running = append(running, s.Running...)
			most = max(most, len(s.Running))
		}
		slices.Sort(running)
		live := c.store.SpanIDs()
		if !slices.Equal(running, live) || len(captures) != len(c.nodes) {
			return fmt.Errorf("%d captures run %v of %v", len(captures), running, live)
		}
		if share := (len(live) + len(captures) - 1) / len(captures); most > share {
			return fmt.Errorf("a capture has %d of %d", most, share)
		}
		return nil
	})
}

// ownerNode is the machine of the owner, nil when there is none.
func (c *cluster) ownerNode() *sim.Node {
	ctx, cancel := c.w.Host().Clock().WithTimeout(background, time.Second)
	defer cancel()
	id, _, err := c.admin.Owner(ctx)
	if err != nil {
		return nil
	}
	for _, n := range c.nodes {
		if capture := c.captures[n.Name()]; n.Up() && capture != nil && capture.ID() == id {
			return n
		}
	}
	return nil
}

// inWorld runs body as a task of a world.
func inWorld(t testing.TB, seed uint64, body func(w *sim.World)) (hash uint64, sometimes map[string]int) {
	t.Helper()
	w := sim.New(sim.Config{Seed: seed, MaxTime: 2 * time.Hour, Buggify: seed%2 == 1})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		body(w)
	})
	err := w.Run()
	require.NoError(t, err, "seed %d", seed)
	if t.Failed() {
		t.Fatalf("seed %d", seed)
	}
	return w.Hash(), maps.Clone(w.Sometimes())
}
