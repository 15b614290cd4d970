package cli_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
	"github.com/simrun-dev/simrun/system/host"
)

// fakes are small scenarios, one for each thing that a run can come to.
func fakes() []*scenarios.Scenario {
	return []*scenarios.Scenario{
		{
			Name: "calm", Doc: "always passes", Oracles: []string{"calm/still"}, Profile: "chaos",
			Settings: []scenarios.Setting{{Name: "pace", Default: "100ms", Doc: "between two breaths"}},
			Build: func(r *scenarios.Run) {
				build(r)
				still := r.Check("calm/still")
				r.World.Go("breathe", func() {
					for r.Working() {
						still.Holds(true, "awake")
						r.World.Sleep(r.Duration("pace"))
						r.World.Host().Sometimes("took a breath", true)
						r.World.Host().Sometimes("held it", false)
					}
				})
			},
		},
		{
			Name: "child", Doc: "depends on GOMAXPROCS, which a run must not",
			Build: func(r *scenarios.Run) {
				build(r)
				r.World.Go("count", func() { r.World.Host().Logf("%d processors", runtime.GOMAXPROCS(0)) })
			},
		},
		{
			Name: "endless", Doc: "passes up to seed 5, and never ends from there on",
			Build: func(r *scenarios.Run) {
				build(r)
				if r.World.Seed() <= 5 {
					return
				}
				r.Ready("never", func() bool {
					for {
						r.World.Sleep(time.Nanosecond)
					}
				})
			},
		},
		{
			Name: "fussy", Doc: "fails for each seed that a setting divides", Oracles: []string{"fussy/number"},
			Settings: []scenarios.Setting{{Name: "divisor", Default: "7", Doc: "the number it minds"}},
			Build: func(r *scenarios.Run) {
				build(r)
				r.Check("fussy/number").Holds(true, "")
				r.World.Go("object", func() {
					r.World.Sleep(10 * time.Second)
					if n := uint64(r.Int("divisor")); r.World.Seed()%n == 0 {
						r.World.Fail("fussy/number", "seed %d is divided by %d", r.World.Seed(), n)
					}
				})
			},
		},
		{
			Name: "moody", Doc: "depends on how many runs there were before, which a run must not",
			Build: func(r *scenarios.Run) {
				build(r)
				n := moods.Add(1)
				r.World.Go("brood", func() {
					r.World.Sleep(time.Second)
					r.World.Host().Logf("mood %d\nand sinking", n)
				})
			},
		},
		{
			Name: "rude", Doc: "panics where nothing simulated catches it",
			Build: func(*scenarios.Run) { panic("well, really") },
		},
		{
			Name: "stuck", Doc: "passes up to seed 5, and from there on does not even notice that it is to stop",
			Build: func(r *scenarios.Run) {
				build(r)
				if r.World.Seed() > 5 {
					select {}
				}
			},
		},
		{
			Name: "vague", Doc: "does nothing that could be judged",
			Build: func(*scenarios.Run) {},
		},
	}
}

var moods atomic.Int64

// build adds what most of the fakes have: machines for faults, and an operation that succeeded.
func build(r *scenarios.Run) {
	for _, name := range []string{"one", "two", "three"} {
		r.AddNode(name, "node", func(host.Host) {})
	}
	r.Count(func() (ops, succeeded int) { return 1, 1 })
}

// fakeMutants are one for a scenario that there is, and one for another program's.
func fakeMutants() ([]*mutants.Mutant, error) {
	all, err := mutantWith("fail")
	return append(all, &mutants.Mutant{Name: "deaf", Scenario: "radio"}), err
}

// mutantWith is a bug that makes a constant of system/calm.go the given verdict.
func mutantWith(verdict string) ([]*mutants.Mutant, error) {
	m, err := mutants.Parse("001-sleepless.patch", []byte(strings.TrimLeft(`
Mutant: sleepless
Scenario: calm
Bug: Never sleeps.
Expect: calm/still

diff --git a/system/calm.go b/system/calm.go
--- a/system/calm.go
+++ b/system/calm.go
@@ -3,2 +3,2 @@
 // Verdict is what comes of it.
-const Verdict = "pass"
+const Verdict = "`, "\n")+verdict+"\"\n"))
	return []*mutants.Mutant{m}, err
}
