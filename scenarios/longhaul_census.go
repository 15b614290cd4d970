package scenarios

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/pipeline"
)

// oracleBounded is the oracle longhaul/bounded: what the system keeps stays within bounds that follow from what is live,
// however long it runs. Everything is looked at every few minutes:
//
//   - of a live shard, a key span's, a table's, a sink's, there are no more versions, blobs and bytes than what is not yet
//     worth being collected and what leases pin make up;
//   - of a shard whose key span or table was dropped nothing is left but a tombstone, once all leases have had time to run
//     out and whoever has to see to it was well for long enough;
//   - the coordination service, the source, and the logs of both and of Consensus keep as much as their configurations
//     say, and leases and sessions are as many as there can be processes.
//
// Bounds are for a system that is being broken: what a fault keeps from being collected is collected when it is over. So
// what is beyond a bound has to have been for [garbageWithin] without a break.
const oracleBounded = "longhaul/bounded"

const (
	// censusPace is how often it is looked.
	censusPace = 10 * time.Minute
	// garbageWithin is how long something may be beyond its bound: the shard of what was dropped is finalised by somebody who
	// has to be elected, and up, and find no lease left. It is twice the longest that anything was in the seeds 1 to 4, three
	// hours; no live shard was at all.
	garbageWithin = 6 * time.Hour
)

// Bounds of a live shard.
const (
	// maintenanceEvery is persist's default RollupInterval and CollectInterval. Where only readers are left they do either at
	// twice as many versions.
	maintenanceEvery = 2 * 64
	// mostVersions: when a shard was collected, the newest rollup may be just short of being worth the next collection; that
	// begins with the one after it. As many versions again may be pinned by leases, half an hour of a burst. What was asked of
	// somebody who died, or who forgets it where a simulation asks for that, is asked for again by the next version. (147 in
	// longhaul:1; as long as it was left to who came to the next 64 versions, and one in four was forgotten, 636 and more.)
	mostVersions = 3 * maintenanceEvery
	// mostLeftBehind are blobs that no version refers to, which nobody deletes as long as the shard lives, see
	// [persist.Client.ListUnreferenced]: of appends that lost a race, which is what replicas do to each other all week, where
	// a simulation asks for the blob to be left, and of processes that died in the middle of an append. They grow with time:
	// in the week of longhaul:1 to 111, of view/by_label.
	mostLeftBehind = 256
	// mostBlobs: a version brings one at most, and most bring none, so that those of the earliest version fit in as well.
	mostBlobs = mostVersions + mostLeftBehind
	// blobBytes is what a blob has on average, at most: a few rows, or a state, which lists the rollups that there are, some
	// 40 bytes each: of every fourth version, where a simulation asks for that.
	blobBytes = mostVersions / 4 * 40
	// Of a shard that was given up there is a tombstone: a version or two, and a rollup.
	tombstoneVersions, tombstoneBlobs = 4, 2
)

// census is what there is at one moment.
type census struct {
	shards map[persist.ShardID]*shardCensus
	totals map[string]int64 // figures, by name
}

type shardCensus struct {
	versions, blobs int
	bytes           int64
}

// bounded watches over what is kept.
type bounded struct {
	s     *pipelineCluster
	check *Check
	// beyond is since when what is beyond its bound has been, by what it is.
	beyond  map[string]time.Duration
	longest time.Duration // that anything has been
	most    map[string]int64
	last    *census
}

// addBounded adds the oracle.
func (s *pipelineCluster) addBounded() {
	b := &bounded{s: s, check: s.r.Check(oracleBounded), beyond: map[string]time.Duration{}, most: map[string]int64{}}
	s.r.World.Go("census", func() {
		for s.r.Phase() <= PhaseFaults {
			s.r.World.Sleep(censusPace)
			b.look()
		}
	})
	s.r.Final(func() error { b.end(); return nil })
}

// look takes a census, if all stores serve: one that does not can't be looked into.
func (b *bounded) look() {
	s := b.s
	if !s.created || !s.serving[coordNode] || !s.serving[sourceNode] || !s.c.serving[consensusNode] || !s.c.serving[blobNode] {
		return
	}
	c := b.census()
	b.last = c
	for name, n := range c.totals {
		b.most[name] = max(b.most[name], n)
	}
	b.judge(c)
}

// census counts what there is, in the stores' own memories and on their disks.
func (b *bounded) census() *census {
	s := b.s
	c := &census{shards: map[persist.ShardID]*shardCensus{}, totals: map[string]int64{}}
	for id, n := range s.c.consensus.VersionCounts() {
		c.shard(persist.ShardID(id)).versions = n
		c.totals["versions"] += int64(n)
	}
	for name, size := range s.r.World.Node(blobNode).DiskFiles() {
		if shard, ok := shardOfFile(name); ok {
			c.shard(shard).blobs++
			c.shard(shard).bytes += size
			c.totals["blobs"]++
			c.totals["blob_bytes"] += size
		}
	}
	for _, sh := range c.shards {
		c.totals["versions_of_a_shard"] = max(c.totals["versions_of_a_shard"], int64(sh.versions))
		c.totals["blobs_of_a_shard"] = max(c.totals["blobs_of_a_shard"], int64(sh.blobs))
		c.totals["bytes_of_a_shard"] = max(c.totals["bytes_of_a_shard"], sh.bytes)
	}
	kept, upstream := s.kv.Usage(), s.upstream.Usage()
	c.totals["shards"] = int64(len(c.shards))
	c.totals["coord_keys"], c.totals["coord_revisions"] = int64(kept.Keys), int64(kept.Revisions)
	c.totals["coord_entries"], c.totals["leases"] = int64(kept.Entries), int64(kept.Leases)
	c.totals["source_spans"], c.totals["source_rows"] = int64(upstream.Spans), int64(upstream.Rows)
	c.totals["source_transactions"], c.totals["source_services"] = int64(upstream.Transactions), int64(upstream.Services)
	for _, log := range []struct{ name, node string }{{"consensus_log_bytes", consensusNode}, {"coord_log_bytes", coordNode}, {"source_log_bytes", sourceNode}} {
		for _, size := range s.r.World.Node(log.node).DiskFiles() {
			c.totals[log.name] += size
		}
	}
	for _, name := range s.cfg.Topology.Frontends {
		if f := s.frontends[name]; f != nil {
			c.totals["tables_in_memory"] = max(c.totals["tables_in_memory"], int64(len(f.Tables())))
		}
	}
	return c
}

func (c *census) shard(id persist.ShardID) *shardCensus {
	if c.shards[id] == nil {
		c.shards[id] = &shardCensus{}
	}
	return c.shards[id]
}

// shardOfFile is the shard that a file of the Blob server belongs to.
func shardOfFile(name string) (persist.ShardID, bool) {
	escaped, ok := strings.CutPrefix(name, "blob/")
	escaped, isBlob := strings.CutSuffix(escaped, ".blob")
	key, err := url.PathUnescape(escaped)
	end := strings.LastIndexByte(key, '/')
	if !ok || !isBlob || err != nil || end < 0 {
		return "", false
	}
	return persist.ShardID(key[:end]), true
}

// live are the shards that have to be there, as the source and the catalog say.
func (b *bounded) live() map[persist.ShardID]bool {
	s := b.s
	live := map[persist.ShardID]bool{"catalog": true}
	for _, id := range s.upstream.SpanIDs() {
		live[pipeline.RawShard(id)] = true
	}
	for _, t := range pipelineTables {
		live[pipeline.TableShard(t.Name)] = true
	}
	for _, f := range pipelineFlows {
		live[pipeline.SinkShard(f.Sink)] = true
	}
	for n := 1; n <= s.passing; n++ { // which come back
		live[pipeline.SinkShard(passingFlow(n).Sink)] = true
	}
	for _, v := range pipelineViews {
		if v.Materialized {
			live[pipeline.ViewShard(v.Name)] = true
		}
	}
	for _, name := range pipeline.SystemCollections() {
		live[pipeline.SystemShard(name)] = true
	}
	for _, name := range s.cfg.Topology.Frontends {
		if f := s.frontends[name]; f != nil {
			for _, id := range f.KnownTables() {
				live[frontend.Shard(id)] = true
			}
		}
	}
	return live
}

// judge holds a census against the bounds.
func (b *bounded) judge(c *census) {
	now := map[string]time.Duration{}
	within := func(what string, got, bound int64) {
		b.check.Holds(true, "")
		if got <= bound {
			return
		}
		since, ok := b.beyond[what]
		if !ok {
			since = b.s.r.World.Now()
		}
		now[what] = since
		b.longest = max(b.longest, b.s.r.World.Now()-since)
		if !b.check.Holds(b.s.r.World.Now()-since < garbageWithin, "%s: %d, and %d is the bound, for %v", what, got, bound, b.s.r.World.Now()-since) {
			b.s.r.World.Stop() // it will not be less
		}
	}
	live := b.live()
	for _, id := range slices.Sorted(maps.Keys(c.shards)) {
		sh := c.shards[id]
		versions, blobs, kind := int64(tombstoneVersions), int64(tombstoneBlobs), "shard %s, which was dropped"
		if live[id] {
			versions, blobs, kind = mostVersions, mostBlobs, "shard %s"
		}
		name := fmt.Sprintf(kind, id)
		within("versions of "+name, int64(sh.versions), versions)
		within("blobs of "+name, int64(sh.blobs), blobs)
		within("bytes of "+name, sh.bytes, blobs*blobBytes)
	}
	for _, name := range slices.Sorted(maps.Keys(b.limits())) {
		within(name, c.totals[name], b.limits()[name])
	}
	b.beyond = now
}

// limits are the bounds of everything but shards.
func (b *bounded) limits() map[string]int64 {
	s := b.s
	t := s.cfg.Topology
	// Who has a session: captures, those who stand for the two elections, and visitors, who come every few minutes and
	// are remembered for as long as their leases are. Of each there may be one more life.
	processes := int64(len(t.Captures) + len(t.Mirrors) + len(t.Controllers))
	visitors := 1 + 4*int64(visitorTTL/s.r.Duration("visit-pace")+1)
	keys := int64(keysOfSpan * (len(s.upstream.SpanIDs()) + 1))
	return map[string]int64{
		"leases":     2*processes + visitors,
		"coord_keys": 4 * (2*processes + visitors),
		// Compaction leaves as many revisions as are retained, and begins at twice as many.
		"coord_revisions": 2*longhaulRetain + 128,
		"coord_entries":   2*longhaulRetain + 128 + 4*(2*processes+visitors),
		// The source keeps what is there, twice, and what has changed since the safepoint: a few steps ago.
		"source_spans":        int64(len(s.upstream.SpanIDs())) + 8,
		"source_rows":         3*keys + 300,
		"source_transactions": 150,
		"source_services":     4,
		"tables_in_memory":    int64(len(pipelineTables) + len(pipelineFlows) + 2),
		// A log is rewritten at the least when it is twice the size at which that begins, or four times what is live.
		"coord_log_bytes":     2 * longhaulLog,
		"source_log_bytes":    2 * longhaulLog,
		"consensus_log_bytes": 8 << 20,
	}
}

// end reports what there was.
func (b *bounded) end() {
	b.look()
	if b.last == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(b.most)) {
		b.s.r.Figure("most_"+name, b.most[name])
		b.s.r.Figure("last_"+name, b.last.totals[name])
	}
	b.s.r.Figure("beyond_bound_minutes", int64(b.longest/time.Minute))
	b.s.r.Figure("left_behind_in_a_shard", b.leftBehind())
}

// leftBehind is how many blobs there are, at most, of a live shard that no version refers to.
func (b *bounded) leftBehind() (most int64) {
	h := b.s.r.World.Host()
	ctx, cancel := h.Clock().WithTimeout(context.Background(), b.s.slow(opTimeout))
	defer cancel()
	client, live := b.s.c.client(h, b.s.cfg.Persist), b.live()
	defer client.Close()
	for _, id := range slices.Sorted(maps.Keys(b.last.shards)) {
		if !live[id] || b.last.shards[id].versions == 0 {
			continue
		}
		left, err := client.ListUnreferenced(ctx, id)
		if err != nil {
			h.Logf("what is left behind of %s: %v", id, err)
			continue
		}
		most = max(most, int64(len(left)))
	}
	return most
}
