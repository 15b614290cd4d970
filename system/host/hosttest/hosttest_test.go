package hosttest_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/hosttest"
)

// cluster is a hosttest.Cluster of simulated machines, whose hosts are mutated.
type cluster struct {
	t      testing.TB
	w      *sim.World
	nodes  []*sim.Node
	mutate func(host.Host) host.Host
}

func (c *cluster) Host(machine int) host.Host { return c.mutate(c.nodes[machine].Host()) }

func (c *cluster) Start(machine int, task string, fn func(h host.Host)) (wait func()) {
	n := c.nodes[machine]
	life, ended := n.Incarnation(), false
	h := c.Host(machine)
	h.Go(task, func() {
		fn(h)
		ended = true
	})
	return func() {
		for !ended && n.Incarnation() == life {
			c.w.Sleep(time.Millisecond)
		}
		if c.t.Failed() {
			c.t.FailNow()
		}
	}
}

func (c *cluster) Restart(machine int) {
	c.nodes[machine].Crash()
	c.nodes[machine].Restart()
}

func setup(mutate func(host.Host) host.Host) hosttest.Setup {
	return func(t testing.TB, body func(hosttest.Cluster)) {
		w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour, MaxEvents: 100_000})
		defer w.Close()
		c := &cluster{t: t, w: w, mutate: mutate}
		for i := range hosttest.Machines {
			c.nodes = append(c.nodes, w.NewNode(fmt.Sprint("machine", i), nil))
		}
		w.Go("test", func() { body(c) })
		require.NoError(t, w.Run())
	}
}

func unchanged(h host.Host) host.Host { return h }

const mutantVariable = "HOSTTEST_MUTANT"

// TestSuite runs the suite: on the simulated host as it is, or in a process that TestMutants has
// started, on one that is broken.
func TestSuite(t *testing.T) {
	mutate := unchanged
	if name := os.Getenv(mutantVariable); name != "" {
		mutate = mutants[name].mutate
	}
	hosttest.Run(t, setup(mutate))
}

// Each broken host fails the suite, in the tests that are about what is broken.
func TestMutants(t *testing.T) {
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestSuite$/"+m.caughtBy)
			cmd.Env = append(os.Environ(), mutantVariable+"="+name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the suite passes")
			require.Contains(t, string(out), "--- FAIL: TestSuite/")
		})
	}
}

func BenchmarkSimulated(b *testing.B) { hosttest.Benchmark(b, setup(unchanged)) }
