package scenarios

import (
	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/pipeline"
)

// overlap has two mirrors lead at once. The one that leads loses its lease, and does not hear of it: it goes on to mirror
// what there is. Either what the other wants to read of the raw shards hangs, when it has found out how far the tables are,
// or what it wants to write to those, when it has read that: then it is told what the first one has done meanwhile.
func (s *pipelineCluster) overlap(f *faults.Fault) (func(), bool) {
	leader, _ := s.leader(f.Target[0])
	n := s.leaderNode(f.Target[0])
	if n == nil {
		return nil, false
	}
	s.gate.unheard[n.Name()]++
	right := n.SkewClock(-f.Int("slow"))
	over := false
	var hung []*hungShards
	hang := func(name, prefix string) {
		h := &hungShards{prefix, s.r.World.Now() + f.Duration("hangs")}
		stores := s.c.flaky[name]
		stores.hung, hung = append(stores.hung, h), append(hung, h)
	}
	s.r.World.Go("lead beside another", func() {
		if f.Text("of") == "reads" {
			for _, name := range s.cfg.Topology.Mirrors {
				if name != n.Name() {
					hang(name, "raw/")
				}
			}
			s.revoke(leader)
			return
		}
		s.revoke(leader)
		var next *sim.Node
		for ; !over && (next == nil || next == n); next = s.leaderNode(f.Target[0]) {
			s.r.World.Sleep(poll)
		}
		s.r.World.Sleep(f.Duration("after"))
		if !over {
			hang(next.Name(), string(pipeline.TableShard("")))
		}
	})
	return func() {
		over = true
		for _, h := range hung {
			h.until = 0
		}
		s.gate.unheard[n.Name()]--
		right()
	}, true
}
