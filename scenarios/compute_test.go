package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	computereplica "github.com/simrun-dev/simrun/system/compute/replica"
)

// reconnecting is a run in which a replica is connected to as told says, which is given the watch and how to wait.
func reconnecting(t *testing.T, told func(w *computeWatch, sleep func(time.Duration))) Result {
	t.Helper()
	s := &Scenario{Name: "reconnecting", Oracles: []string{oracleReconnects}, Build: func(r *Run) {
		w := newComputeWatch(r, map[string]string{"r": rightVersion}, r.Check(oracleReconnects))
		over := false
		r.World.Go("told", func() {
			told(w, r.World.Sleep)
			over = true
		})
		r.Settled("what is told", func() bool { return over })
		r.Count(func() (int, int) { return 1, 1 })
	}}
	return s.Execute(context.Background(), Options{Seed: 1, Plan: &faults.Plan{}, Settings: map[string]string{"duration": "1s"}})
}

func TestReconnectsJudgesHistories(t *testing.T) {
	epoch := protocol.Epoch{Controller: 1, Replica: 1}
	connects := func(w *computeWatch, sleep func(time.Duration), took time.Duration) {
		controller := &controllerWatch{w, 1}
		controller.Observe(compute.ReplicaSpawned{Replica: "r", Epoch: epoch})
		sleep(took)
		controller.Observe(compute.ReplicaConnected{Replica: "r", Epoch: epoch})
	}
	for name, c := range map[string]struct {
		told  func(w *computeWatch, sleep func(time.Duration))
		wrong string
	}{
		"soon": {told: func(w *computeWatch, sleep func(time.Duration)) {
			w.healed = 1
			connects(w, sleep, connectLimit)
		}},
		"late": {wrong: "though nothing was in the way", told: func(w *computeWatch, sleep func(time.Duration)) {
			w.healed = 1
			connects(w, sleep, connectLimit+time.Millisecond)
		}},
		"late, for faults": {told: func(w *computeWatch, sleep func(time.Duration)) {
			connects(w, sleep, time.Minute)
		}},
		"late after the faults": {wrong: "r was reached after 6s", told: func(w *computeWatch, sleep func(time.Duration)) {
			controller := &controllerWatch{w, 1}
			controller.Observe(compute.ReplicaSpawned{Replica: "r", Epoch: epoch})
			sleep(20 * time.Second)
			w.healed = w.r.World.Now()
			sleep(6 * time.Second)
			controller.Observe(compute.ReplicaConnected{Replica: "r", Epoch: epoch})
		}},
		"another version": {wrong: "r, of version 0.9.0, accepts a controller of version 1.0.0", told: func(w *computeWatch, sleep func(time.Duration)) {
			connects(w, sleep, time.Millisecond)
			w.versions["r"] = "0.9.0"
			(&replicaWatch{w, "r"}).Observe(computereplica.Accepted{Epoch: epoch})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			result := reconnecting(t, c.told)
			if c.wrong == "" {
				require.Equal(t, Pass, result.Verdict, result.Failures)
				return
			}
			require.Equal(t, Fail, result.Verdict)
			require.Equal(t, oracleReconnects, result.Failures[0].Oracle)
			require.Contains(t, result.Failures[0].Message, c.wrong)
		})
	}
}
