package persisttest

import (
	"fmt"
	"testing"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// stateLength and batchLength are about what a shard's version and a small batch take, in bytes.
const (
	stateLength = 1000
	batchLength = 4000
)

// BenchmarkConsensus measures a compare-and-set after the other, several callers' at once, and reads.
func BenchmarkConsensus(b *testing.B, setup Setup[persist.Consensus]) {
	data := bytesOf(1, stateLength)
	// count sets b.N versions, keeping a few.
	count := func(c persist.Consensus, key string, n int) error {
		for i := range persist.SeqNo(n) {
			if committed, err := c.CompareAndSet(background, key, i, persist.Versioned{SeqNo: i + 1, Data: data}); err != nil || !committed {
				return fmt.Errorf("committed %t: %w", committed, err)
			}
			if i%16 == 15 {
				if _, err := c.Truncate(background, key, i); err != nil {
					return err
				}
			}
		}
		return nil
	}
	b.Run("compare-and-set", func(b *testing.B) {
		setup(b, func(bench Bench[persist.Consensus]) {
			b.ResetTimer()
			check(b, count(bench.Client(), "k", b.N))
		})
	})
	for _, callers := range []int{8, 64} {
		b.Run(fmt.Sprintf("compare-and-set/callers=%d", callers), func(b *testing.B) {
			setup(b, func(bench Bench[persist.Consensus]) {
				b.ResetTimer()
				group := host.NewWaitGroup(bench.Host, "callers")
				for i := range callers {
					group.Go(bench.Host, "caller", func() { check(b, count(bench.Client(), fmt.Sprint(i), b.N/callers+1)) })
				}
				group.Wait()
			})
		})
	}
	b.Run("head", func(b *testing.B) {
		setup(b, func(bench Bench[persist.Consensus]) {
			c := bench.Client()
			check(b, count(c, "k", 100))
			b.ResetTimer()
			for range b.N {
				_, err := c.Head(background, "k")
				check(b, err)
			}
		})
	})
}

// BenchmarkBlob measures setting and getting values.
func BenchmarkBlob(b *testing.B, setup Setup[persist.Blob]) {
	b.Run("set", func(b *testing.B) {
		setup(b, func(bench Bench[persist.Blob]) {
			blob := bench.Client()
			b.SetBytes(batchLength)
			b.ResetTimer()
			for i := range b.N {
				check(b, blob.Set(background, fmt.Sprint("batch ", i%100), bytesOf(1, batchLength)))
			}
		})
	})
	b.Run("get", func(b *testing.B) {
		setup(b, func(bench Bench[persist.Blob]) {
			blob := bench.Client()
			check(b, blob.Set(background, "batch", bytesOf(1, batchLength)))
			b.SetBytes(batchLength)
			b.ResetTimer()
			for range b.N {
				_, _, err := blob.Get(background, "batch")
				check(b, err)
			}
		})
	})
}

// check fails the benchmark, from whichever task.
func check(b *testing.B, err error) {
	if err != nil {
		b.Error(err)
	}
}
