package simtest_test

import (
	"testing"

	"github.com/simrun-dev/simrun/sim/simtest"
)

// A test of a scenario: 200 seeds, and a situation that one of them has to meet.
func ExampleRun() {
	_ = func(t *testing.T) {
		simtest.Run(t, fussy(), simtest.Seeds(200), simtest.Set("divisor", "1000"), simtest.MustReach("fussy: met a thirteen"))
	}
}

// A property of a scenario: what fails is shrunk to few faults and little room.
func ExampleCheck() {
	_ = func(t *testing.T) {
		simtest.Check(t, frail(), simtest.Vary("room", "1", "2", "5"), simtest.Faults("chaos"))
	}
}

// BenchmarkRun is a test of ten seeds with a fault plan each.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
			Name: "TestFussy",
			F:    func(t *testing.T) { simtest.Run(t, fussy(), simtest.Seeds(10), simtest.Set("divisor", "77")) },
		}})
	}
}
