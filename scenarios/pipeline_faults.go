package scenarios

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/pipeline"
)

// addFaults makes every part the subject of the faults that are its own.
func (s *pipelineCluster) addFaults() {
	t, r := s.cfg.Topology, s.r
	s.c.unreliable(concat(t.Captures, t.Frontends, t.Mirrors, t.Controllers, t.Replicas)...)
	s.addRivals()
	r.Handle("owner.change", slices.Sorted(maps.Keys(pipelineElections)), s.changeLeader)
	r.Handle("owner.zombie", slices.Sorted(maps.Keys(pipelineElections)), s.makeZombie)
	r.Handle("owner.overlap", []string{"mirror"}, s.overlap)
	s.gate.handle(r, slices.Sorted(maps.Keys(pipelineElections)), s.leaderNode, nil)
	r.Handle("capture.crash", []string{"captures"}, func(f *faults.Fault) (func(), bool) {
		n := s.leaderNode("owner")
		if n == nil || f.Text("how") != "silently" {
			n = s.nodes[t.Captures[0]]
		}
		if !n.Up() {
			return nil, false
		}
		n.PowerOff()
		return n.Restart, true
	})
	r.Handle("source.stall", []string{sourceNode}, func(f *faults.Fault) (func(), bool) {
		if !s.serving[sourceNode] {
			return nil, false
		}
		spans := s.upstream.SpanIDs()
		id := spans[f.Int("span")%len(spans)]
		store := s.upstream
		store.Stall(id, true)
		return func() {
			if s.upstream == store { // another life's is not stalled, nor there while it begins
				store.Stall(id, false)
			}
		}, true
	})
	r.Handle("replica.disconnect", t.Replicas, func(f *faults.Fault) (func(), bool) {
		broken := 0
		for _, name := range t.Controllers {
			broken += r.World.ResetConns(name, f.Target[0])
		}
		return nil, broken > 0
	})
	restart := func(name string) (func(), bool) {
		n := s.nodes[name]
		if !n.Up() {
			return nil, false
		}
		n.Crash()
		n.Restart()
		return nil, true
	}
	r.Handle("flow.restart", concat(t.FlowNodes, t.Mirrors), func(f *faults.Fault) (func(), bool) { return restart(f.Target[0]) })
	r.Handle("controller.restart", t.Controllers, func(f *faults.Fault) (func(), bool) { return restart(f.Target[0]) })
	handleBackends(r, concat(t.FlowNodes, t.Mirrors), func(machine string) *backendFaults { return s.backends[machine] }, nil)
	handleMirrors(r, t.Frontends, s.mirrored)
}

func concat(lists ...[]string) (all []string) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// addRivals adds somebody who writes rows of their own into the introspection collections, which are nobody's but
// their tasks': what is there in the end is what the tasks want there.
func (s *pipelineCluster) addRivals() {
	var targets []rivalTarget
	for _, name := range pipeline.SystemCollections() {
		targets = append(targets, rivalTarget{string(pipeline.SystemShard(name)), func(ctx context.Context, w *persist.WriteHandle, updates []persist.Update, expected, next persist.Frontier) {
			s.c.durable.check("a rival's append", w.CompareAndAppend(ctx, updates, expected, next))
		}})
	}
	s.c.rivals(targets)
}

// pipelineElections are the offices that there are, by what faults call who holds them.
var pipelineElections = map[string]string{
	"owner": cdc.OwnerElection, "mirror": pipeline.MirrorElection, "controller": pipeline.ControllerElection,
}

// changeLeader has who leads lose its lease, or, if it is the owner of the changefeed, resign.
func (s *pipelineCluster) changeLeader(f *faults.Fault) (func(), bool) {
	leader, ok := s.leader(f.Target[0])
	if !ok {
		return nil, false
	}
	s.r.World.Go("end a term", func() {
		if f.Text("how") != "resigns" || f.Target[0] != "owner" {
			s.revoke(leader)
			return
		}
		ctx, cancel := s.r.World.Host().Clock().WithTimeout(context.Background(), opTimeout)
		defer cancel()
		_ = s.admin.Resign(ctx)
	})
	return nil, true
}

// revoke revokes the lease under which who leads does so.
func (s *pipelineCluster) revoke(leader coord.Leader) {
	ctx, cancel := s.r.World.Host().Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	client := pipeline.DialCoord(s.r.World.Host(), s.cfg)
	defer client.Close()
	if kv, ok, err := coord.ReadKey(ctx, client, leader.Key); err == nil && ok {
		_ = client.Revoke(ctx, kv.Lease)
	}
}

// leader reads an election from the coordination service's own memory.
func (s *pipelineCluster) leader(office string) (coord.Leader, bool) {
	if !s.serving[coordNode] {
		return coord.Leader{}, false
	}
	snapshot, err := s.kv.Range(context.Background(), coord.Prefix(pipelineElections[office]), 0)
	if err != nil {
		return coord.Leader{}, false
	}
	return coord.LeaderIn(snapshot.KVs, pipelineElections[office])
}

// leaderNode is the machine of who leads, nil when nobody does.
func (s *pipelineCluster) leaderNode(office string) *sim.Node {
	leader, ok := s.leader(office)
	if !ok {
		return nil
	}
	name, _, _ := strings.Cut(leader.Value, ".") // a capture's life is named after its machine
	if n := s.nodes[name]; n != nil && n.Up() {
		return n
	}
	return nil
}
