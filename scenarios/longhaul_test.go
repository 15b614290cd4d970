package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/system/persist"
)

// A short haul, as in CI: what comes up in a week comes up in six hours, too, but rarely.
func TestLonghaul(t *testing.T) {
	opt := Options{Seed: 1, Settings: map[string]string{"duration": "6h"}}
	res := longhaul().Execute(context.Background(), opt)
	require.Equal(t, Pass, res.Verdict, "%v", res.Failures)
	for _, name := range []string{
		"coord: a lease expired", "persist: a reader's lease expired", "persist: blobs were collected", "persist: versions were dropped",
		"pipeline: a dropped key span's shard was finalised",
	} {
		require.Positive(t, res.Sometimes[name], name)
	}
	for _, name := range []string{"blobs", "blob_bytes", "versions", "leases", "source_rows"} {
		require.Positive(t, res.Figures["most_"+name], name)
		require.LessOrEqual(t, res.Figures["last_"+name], res.Figures["most_"+name], name)
	}
}

// What stays beyond its bound is a violation, once it has been there for long enough without a break.
func TestBounded(t *testing.T) {
	var violations int
	s := longhaul()
	s.Oracles = nil
	s.Build = func(r *Run) {
		p := addPipeline(r, longhaulSlowness)
		p.addBounded()
		live := &census{shards: map[persist.ShardID]*shardCensus{}, totals: map[string]int64{}}
		r.World.Go("leak", func() {
			for p.upstream == nil || !p.created {
				r.World.Sleep(time.Minute)
			}
			b := &bounded{s: p, check: r.Check("leak"), beyond: map[string]time.Duration{}, most: map[string]int64{}}
			look := func(versions int) {
				live.shard("raw/999").versions = versions
				b.judge(live)
			}
			look(tombstoneVersions + 1)
			r.World.Sleep(garbageWithin / 2)
			look(tombstoneVersions) // a break
			look(tombstoneVersions + 1)
			r.World.Sleep(garbageWithin - time.Minute)
			look(tombstoneVersions + 1)
			violations = -len(b.check.found)
			r.World.Sleep(time.Minute)
			look(tombstoneVersions + 1)
			violations += len(b.check.found)
		})
	}
	res := s.Execute(context.Background(), Options{Seed: 1, Plan: &faults.Plan{}, Settings: map[string]string{"duration": "24h"}})
	require.Equal(t, 1, violations, "none until then")
	require.Contains(t, res.Failures[0].Message, "versions of shard raw/999, which was dropped: 5, and 4 is the bound, for 6h0m0s")
}

func TestShardOfFile(t *testing.T) {
	shard, ok := shardOfFile("blob/raw%2F7%2Fb-mirror.1-00.blob")
	require.True(t, ok)
	require.EqualValues(t, "raw/7", shard)
	for _, name := range []string{"blob/incoming/3", "consensus.log", "blob/%zz.blob", "blob/x.blob"} {
		_, ok := shardOfFile(name)
		require.False(t, ok, name)
	}
}
