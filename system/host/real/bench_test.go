package real_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/hosttest"
	"github.com/simrun-dev/simrun/system/persist"
)

func BenchmarkHost(b *testing.B) { hosttest.Benchmark(b, setup) }

// BenchmarkPersistAppend is one append after the other to a shard whose stores another machine keeps:
// a blob and a log record, each synced.
func BenchmarkPersistAppend(b *testing.B) {
	c := newCluster(b, 2)
	c.servePersist(0)
	c.Start(1, "append", func(h host.Host) {
		w, err := persistClient(h, c.Host(0).Name()).OpenWriter(background, "shard")
		require.NoError(b, err)
		for n := uint64(0); b.Loop(); n++ {
			updates := []persist.Update{{Data: "a datum", Time: n, Diff: 1}}
			require.NoError(b, w.CompareAndAppend(background, updates, persist.At(n), persist.At(n+1)))
		}
	})()
}
