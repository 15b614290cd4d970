package hosttest_test

import (
	"testing"

	"github.com/simrun-dev/simrun/system/host/hosttest"
)

// The two functions that a package with a host of its own has in its tests.
func Example() {
	setup := func(t testing.TB, body func(hosttest.Cluster)) {
		// Make hosttest.Machines machines, call body with them, and take them down again.
	}
	_ = func(t *testing.T) { hosttest.Run(t, setup) }       // func TestConformance
	_ = func(b *testing.B) { hosttest.Benchmark(b, setup) } // func BenchmarkHost
}
