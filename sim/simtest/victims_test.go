package simtest_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim/simtest"
	"github.com/simrun-dev/simrun/system/host"
)

// fussy fails for each seed that a setting divides.
func fussy() *scenarios.Scenario {
	return &scenarios.Scenario{
		Name: "fussy", Oracles: []string{"fussy/number"},
		Settings: []scenarios.Setting{{Name: "divisor", Default: "7"}},
		Build: func(r *scenarios.Run) {
			machines(r)
			r.Check("fussy/number").Holds(true, "")
			r.World.Go("object", func() {
				r.World.Sleep(10 * time.Second)
				r.World.Host().Logf("looking at %d", r.World.Seed())
				r.World.Host().Sometimes("fussy: met a thirteen", r.World.Seed() == 13)
				if n := uint64(r.Int("divisor")); r.World.Seed()%n == 0 {
					r.World.Fail("fussy/number", "seed %d is divided by %d", r.World.Seed(), n)
				}
			})
		},
	}
}

// frail fails once the machine "two" has crashed twice, if it has room to.
func frail() *scenarios.Scenario {
	return &scenarios.Scenario{
		Name: "frail", Oracles: []string{"frail/two"},
		Settings: []scenarios.Setting{{Name: "room", Default: "5"}},
		Build: func(r *scenarios.Run) {
			machines(r)
			c := r.Check("frail/two")
			c.Holds(true, "")
			crashes := 0
			r.World.Node("two").OnCrash(func() {
				crashes++
				c.Holds(crashes < 2 || r.Int("room") < 2, "two crashed %d times at %v", crashes, r.World.Now())
			})
		},
	}
}

// vague has nothing that could be judged.
func vague() *scenarios.Scenario {
	return &scenarios.Scenario{Name: "vague", Build: func(*scenarios.Run) {}}
}

func machines(r *scenarios.Run) {
	for _, name := range []string{"one", "two", "three"} {
		r.AddNode(name, "node", func(host.Host) {})
	}
	r.Count(func() (ops, succeeded int) { return 1, 1 })
}

// victims are tests, most of which fail, that run in a process of their own.
var victims = map[string]func(*testing.T){
	"TestPasses":    func(t *testing.T) { simtest.Run(t, fussy(), simtest.Seeds(60), simtest.Set("divisor", "77")) },
	"TestFails":     func(t *testing.T) { simtest.Run(t, fussy(), simtest.Seeds(30), simtest.Short(6)) },
	"TestFailsMuch": func(t *testing.T) { simtest.Run(t, fussy(), simtest.Set("divisor", "1")) },
	"TestWithin": func(t *testing.T) {
		t.Run("a part", func(t *testing.T) {
			simtest.Run(t, fussy(), simtest.Seeds(7), simtest.Command("go run ./cmd/fussy"), simtest.Strategy("pct"))
		})
	},
	"TestVague":    func(t *testing.T) { simtest.Run(t, vague(), simtest.Seeds(2)) },
	"TestMistaken": func(t *testing.T) { simtest.Run(t, fussy(), simtest.Set("divider", "8")) },
	"TestBlind": func(t *testing.T) {
		simtest.Run(t, fussy(), simtest.Seeds(12), simtest.Set("divisor", "77"), simtest.MustReach())
	},
	"TestSees": func(t *testing.T) {
		simtest.Run(t, fussy(), simtest.Seeds(13), simtest.Set("divisor", "77"), simtest.MustReach("fussy: met a thirteen"))
	},
	"TestStuck":      func(t *testing.T) { simtest.Run(t, stuck(), simtest.Seeds(9)) },
	"TestCheckStuck": func(t *testing.T) { simtest.Check(t, stuck()) },
	"TestOutOfTime":  func(t *testing.T) { simtest.Run(t, calm(), simtest.Seeds(1_000_000_000)) },
	"TestShrinks": func(t *testing.T) {
		simtest.Check(t, frail(), simtest.Vary("room", "1", "2", "5"), simtest.Faults("chaos"))
	},
	"TestHolds": func(t *testing.T) { simtest.Check(t, fussy(), simtest.Set("divisor", "9999")) },
}

// stuck has a task that never waits.
func stuck() *scenarios.Scenario {
	return &scenarios.Scenario{Name: "stuck", Build: func(r *scenarios.Run) {
		machines(r)
		r.World.Go("loop", func() {
			for n := uint64(1); n != 0; n |= 1 {
			}
		})
	}}
}

// calm always passes.
func calm() *scenarios.Scenario { return &scenarios.Scenario{Name: "calm", Build: machines} }

const victimVariable = "SIMTEST_VICTIM"

// TestMain makes the test binary one with a single test when it is run again.
func TestMain(m *testing.M) {
	name := os.Getenv(victimVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	testing.Main(regexp.MatchString, []testing.InternalTest{{Name: name, F: victims[name]}}, nil, nil)
}

// victim runs one of the victims in dir, and returns what it prints.
func victim(t *testing.T, dir, name string, flags ...string) (output string, passed bool) {
	t.Helper()
	require.Contains(t, victims, name)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, append([]string{"-test.timeout=5m"}, flags...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), victimVariable+"="+name)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	passed = err == nil
	require.Contains(t, out.String(), map[bool]string{true: "PASS", false: "FAIL"}[passed])
	return strings.ReplaceAll(out.String(), "\n    ", "\n"), passed
}
