package persisttest_test

import (
	"testing"

	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/persist/persisttest"
)

// The functions that a package with a store of its own has in its tests.
func Example() {
	setup := func(t testing.TB, body func(persisttest.Bench[persist.Blob])) {
		// Make an empty store, call body with it, and take it down again.
	}
	_ = func(t *testing.T) { persisttest.RunBlob(t, setup) }       // func TestConformance
	_ = func(b *testing.B) { persisttest.BenchmarkBlob(b, setup) } // func BenchmarkBlob
}
