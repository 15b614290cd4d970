package faults

import (
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/sim"
)

// The kinds of package system/compute. Scenarios carry them out: they have the connections' ends, and run
// the controllers.
func computeKinds() []*Kind {
	return []*Kind{
		{
			Name:     "replica.disconnect",
			Doc:      "the connection between the controller and a replica is cut, again and again, each time after so many messages, in whichever direction",
			Cause:    "a proxy with a limit, a flapping link, an overloaded machine that is taken for dead",
			Subjects: true,
			Params: []Param{
				intParam("after", "20", "after how many messages it is cut; 0 is at once, and only once", 0, 100_000),
				wordParam("stores", "reachable", "whether the replica's process starts anew before, and then does not reach the stores of shards until the end: what it is told to read it has not begun to read when the next connection asks for it as of another time", "reachable", "cold"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				f.Target = []string{pick(s, t.Subjects[f.Kind])}
				limit := []uint64{1, 8, 40, 300}[s.N(4)]
				f.set("after", fmt.Sprint(s.N(limit)))
				if s.N(3) == 0 {
					f.set("stores", "cold")
					f.set("after", fmt.Sprint(s.Between(50, 200)))
					f.longer(6 * time.Second) // or nobody gives up history meanwhile
				}
			},
		},
		{
			Name:     "replica.version",
			Doc:      "a replica's process is replaced by one of another version, and at the end by one of the right version",
			Cause:    "a rollout that reaches machines one after the other, an old image that is started again",
			Subjects: true,
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				f.Target = []string{pick(s, t.Subjects[f.Kind])}
			},
		},
		{
			Name:     "controller.restart",
			Doc:      "a new controller takes over; the old one goes on for a while, until it notices",
			Cause:    "a deployment, a fail-over by someone who takes the controller for dead",
			Subjects: true,
			Instant:  true,
			Params: []Param{
				durationParam("zombie", "1ms", "how long the old controller goes on at most"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				f.Target = []string{pick(s, t.Subjects[f.Kind])}
				if s.N(2) == 0 {
					f.set("zombie", (time.Duration(s.Between(100, 5000)) * time.Millisecond).String())
				}
			},
		},
	}
}
