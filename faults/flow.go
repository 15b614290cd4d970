package faults

import (
	"fmt"

	"github.com/simrun-dev/simrun/sim"
)

// The kinds of package system/flow. Scenarios carry them out: they know the nodes, and wrap what frontends
// and flow nodes call of each other. The subjects are machines.
func flowKinds() []*Kind {
	one := func(s *sim.Stream, f *Fault, t *Topology) { f.Target = []string{pick(s, t.Subjects[f.Kind])} }
	return []*Kind{
		{
			Name: "flow.restart",
			Doc: "a flow node's process dies, at once or with its next write on the way, and starts anew, with all its flows to be refilled; " +
				"for a while it can't look which they are, and then their tables are slow to read",
			Cause:    "a deployment, a crash under a supervisor; caches that are cold after it",
			Subjects: true,
			Instant:  true,
			Params: []Param{
				wordParam("at", "once", "when it dies", "once", "writing"),
				durationParam("late", "300ms", "how long the write takes to come, on average"),
				durationParam("cold", "1ms", "how long its looks into the catalog hang after that, and for how long its reads of tables are then slow: by a quarter of this, on average"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				one(s, f, t)
				f.set("cold", fmt.Sprintf("%dms", s.Between(1, []int64{1, 1000, 2000}[s.N(3)])))
				if s.N(3) > 0 {
					f.set("at", "writing")
					f.set("late", fmt.Sprintf("%dms", s.Between(10, 1500)))
				}
			},
		},
		{
			Name:     "frontend.unavailable",
			Doc:      "a flow node's calls of frontends hang until the fault is over or the caller gives up",
			Cause:    "an overloaded frontend, a load balancer without a backend",
			Subjects: true,
			draw:     one,
		},
		{
			Name:     "frontend.slow",
			Doc:      "a flow node's calls of frontends take longer, each for itself",
			Cause:    "garbage collection, a slow disk behind the stores, a busy machine",
			Subjects: true,
			Params:   []Param{durationParam("mean", "100ms", "how much longer, on average")},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				one(s, f, t)
				f.set("mean", fmt.Sprintf("%dms", s.Between(5, 600)))
			},
		},
		{
			Name:     "frontend.forget",
			Doc:      "frontends do not know the changes any more that a flow node has missed, so that its flows have to begin anew",
			Cause:    "frontends that were restarted, a node that was away for long",
			Subjects: true,
			draw:     one,
		},
		{
			Name:     "flow.lost_reply",
			Doc:      "a share of a flow node's writes into sinks end in an error, and were carried out all the same: before it, or some time after",
			Cause:    "a connection lost between request and answer, a proxy's time-out, a retry in a library",
			Subjects: true,
			Params: []Param{
				percentParam("share", "30%", "share of writes that seem to fail"),
				durationParam("late", "300ms", "how long after the error half of them are carried out, on average"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				one(s, f, t)
				f.set("share", percent(int(s.Between(10, 90))*10_000))
				f.set("late", fmt.Sprintf("%dms", s.Between(10, 1500)))
			},
		},
		{
			Name:     "flow.untold",
			Doc:      "a share of the frontends' calls that tell a flow node of flows that are created and dropped end in an error: they never come, or some time after",
			Cause:    "a connection lost before the request was read, a proxy's queue, a retry in a library",
			Subjects: true,
			Params: []Param{
				percentParam("share", "30%", "share of calls that seem to fail"),
				durationParam("late", "200ms", "how long after the error half of them come, on average"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				one(s, f, t)
				f.set("share", percent(int(s.Between(10, 90))*10_000))
				f.set("late", fmt.Sprintf("%dms", s.Between(10, 600)))
			},
		},
		{
			Name:     "flow.mirror",
			Doc:      "mirrored inserts from a frontend are lost, come late, and come twice",
			Cause:    "calls that nobody waits for, retries, a queue between the two",
			Subjects: true,
			Params: []Param{
				percentParam("lost", "10%", "share that never comes"),
				percentParam("twice", "20%", "share that comes twice"),
				durationParam("late", "200ms", "how late they come, on average"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				one(s, f, t)
				f.set("lost", percent(int(s.N(4))*100_000))
				f.set("twice", percent(int(s.N(6))*100_000))
				f.set("late", fmt.Sprintf("%dms", s.Between(1, 2000)))
			},
		},
	}
}
