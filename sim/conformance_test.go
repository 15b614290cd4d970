package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/hosttest"
)

// simulated is a hosttest.Cluster of nodes.
type simulated struct {
	t     testing.TB
	w     *sim.World
	nodes []*sim.Node
}

func (s *simulated) Host(machine int) host.Host { return s.nodes[machine].Host() }

func (s *simulated) Start(machine int, task string, fn func(h host.Host)) (wait func()) {
	n := s.nodes[machine]
	life, ended := n.Incarnation(), false
	h := n.Host()
	h.Go(task, func() {
		fn(h)
		ended = true
	})
	return func() {
		for !ended && n.Incarnation() == life {
			s.w.Sleep(time.Millisecond)
		}
		if s.t.Failed() {
			s.t.FailNow()
		}
	}
}

func (s *simulated) Restart(machine int) {
	s.nodes[machine].Crash()
	s.nodes[machine].Restart()
}

// inSimulation is a hosttest.Setup. Each test gets a Strategy of its own; ended is told each world.
func inSimulation(config func() sim.Config, ended func(test string, w *sim.World)) hosttest.Setup {
	return func(t testing.TB, body func(hosttest.Cluster)) {
		w := sim.New(config())
		defer w.Close()
		s := &simulated{t: t, w: w}
		for i := range hosttest.Machines {
			s.nodes = append(s.nodes, w.NewNode(fmt.Sprint("machine", i), nil))
		}
		w.Go("test", func() { body(s) })
		require.NoError(t, w.Run())
		ended(t.Name(), w)
	}
}

// The simulated host and the real one are to be the same to the code that runs on them: both pass
// hosttest.
func TestConformance(t *testing.T) {
	slow := sim.DefaultNet()
	slow.Bandwidth, slow.Loss = 20<<20, 50_000
	for name, config := range map[string]sim.Config{
		"random": {},
		"fifo":   {},
		"pct":    {},
		"lossy":  {Net: slow},
	} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(name, "/", seed), func(t *testing.T) {
				hosttest.Run(t, inSimulation(func() sim.Config {
					cfg := config
					cfg.Seed, cfg.Strategy = seed, sim.NewStrategy(name)
					return cfg
				}, func(string, *sim.World) {}))
			})
		}
	}
}

// A test of the suite is a program like any other: the same seed, the same run.
func TestConformanceRunsTheSameAgain(t *testing.T) {
	hashes, again := map[string]uint64{}, 0
	config := func() sim.Config { return sim.Config{Seed: 7} }
	t.Run("once", func(t *testing.T) {
		hosttest.Run(t, inSimulation(config, func(test string, w *sim.World) {
			_, test, _ = strings.Cut(test, "/once/")
			hashes[test] = w.Hash()
		}))
	})
	t.Run("again", func(t *testing.T) {
		hosttest.Run(t, inSimulation(config, func(test string, w *sim.World) {
			_, test, _ = strings.Cut(test, "/again/")
			require.Contains(t, hashes, test)
			require.Equal(t, hashes[test], w.Hash())
			again++
		}))
	})
	require.Equal(t, len(hashes), again)
}

// Of a refusal that is lost the caller is told by the next one, not by its own patience.
func TestLostRefusals(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	w.NewNode("deaf", nil)
	heal := w.AddRule(sim.Rule{From: []string{"deaf"}, Drop: true})
	w.Go("healer", func() {
		w.Sleep(time.Second)
		heal()
	})
	w.Go("caller", func() {
		_, err := w.Host().Net().Dial(context.Background(), "deaf:nothing")
		require.ErrorIs(t, err, host.ErrRefused)
		require.Less(t, w.Now(), sim.DefaultNet().Timeout)
	})
	require.NoError(t, w.Run())
}

func BenchmarkHost(b *testing.B) {
	hosttest.Benchmark(b, inSimulation(func() sim.Config { return sim.Config{} }, func(string, *sim.World) {}))
}
