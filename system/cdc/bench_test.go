package cdc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
)

// BenchmarkReplication is one simulated second of a cluster of three captures and ten key spans under
// load: what a scenario pays for it.
func BenchmarkReplication(b *testing.B) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		c := newCluster(b, w, 3, config())
		c.create(10)
		stop := c.write(10 * time.Millisecond)
		w.Sleep(3 * time.Second)
		b.ReportAllocs()
		before := w.Events()
		for b.Loop() {
			w.Sleep(time.Second)
		}
		b.ReportMetric(float64(w.Events()-before)/float64(b.N), "events/op")
		stop()
	})
	require.NoError(b, w.Run())
}
