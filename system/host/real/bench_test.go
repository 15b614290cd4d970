package real_test

import (
	"testing"

	"github.com/simrun-dev/simrun/system/host/hosttest"
)

func BenchmarkHost(b *testing.B) { hosttest.Benchmark(b, setup) }
