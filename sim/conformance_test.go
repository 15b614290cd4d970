package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/hosttest"
)

// simulated is a hosttest.Cluster of nodes.
type simulated struct {
	t     *testing.T
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

// inSimulation is a hosttest.Setup.
func inSimulation(cfg sim.Config) hosttest.Setup {
	return func(t *testing.T, body func(hosttest.Cluster)) {
		w := sim.New(cfg)
		defer w.Close()
		s := &simulated{t: t, w: w}
		for i := range hosttest.Machines {
			s.nodes = append(s.nodes, w.NewNode(fmt.Sprint("machine", i), nil))
		}
		w.Go("test", func() { body(s) })
		require.NoError(t, w.Run())
	}
}

// The simulated host and the real one are to be the same to the code that runs on them: both pass
// hosttest.
func TestConformance(t *testing.T) {
	slow := sim.DefaultNet()
	slow.Bandwidth, slow.Loss = 20<<20, 50_000
	for name, cfg := range map[string]func() sim.Config{
		"random": func() sim.Config { return sim.Config{} },
		"fifo":   func() sim.Config { return sim.Config{Strategy: sim.FIFO()} },
		"pct":    func() sim.Config { return sim.Config{Strategy: sim.PCT(3, 2000, time.Millisecond)} },
		"lossy":  func() sim.Config { return sim.Config{Net: slow} },
	} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(name, "/", seed), func(t *testing.T) {
				// A Strategy is of one world.
				hosttest.Run(t, func(t *testing.T, body func(hosttest.Cluster)) {
					cfg := cfg()
					cfg.Seed = seed
					inSimulation(cfg)(t, body)
				})
			})
		}
	}
}
