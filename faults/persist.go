package faults

import (
	"fmt"

	"github.com/simrun-dev/simrun/sim"
)

// The kinds of package system/persist. Scenarios carry them out: they know the shards and wrap
// the clients of the services.
func persistKinds() []*Kind {
	return []*Kind{
		{
			Name:     "persist.upper_mismatch",
			Doc:      "a rival writer moves the upper of a shard",
			Cause:    "an old incarnation that is still writing, a second replica, an operator",
			Subjects: true,
			Instant:  true,
			Params:   []Param{intParam("rows", "1", "how many rows the rival appends; 0 moves just the upper", 0, 100)},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				f.Target = []string{pick(s, t.Subjects[f.Kind])}
				f.set("rows", fmt.Sprint(s.N(3)))
			},
		},
		{
			Name:     "persist.indeterminate",
			Doc:      "a share of a machine's calls to Consensus and Blob end in an error, and half of those were carried out: at once, or after the error",
			Cause:    "a connection lost between request and answer, a proxy's time-out, a fail-over of the store",
			Subjects: true,
			Params: []Param{
				percentParam("share", "20%", "share of calls that fail"),
				percentParam("told", "30%", "share of the failed ones that surely did not happen and say so"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				f.Target = []string{pick(s, t.Subjects[f.Kind])}
				f.set("share", percent(int(s.Between(5, 60))*10_000))
			},
		},
		{
			Name:     "persist.unavailable",
			Doc:      "a store answers none of a machine's calls: they hang until the fault is over or the caller gives up",
			Cause:    "an outage of the store, a security group, an expired credential",
			Subjects: true,
			Params: []Param{
				wordParam("store", "both", "which store", "both", "blob", "consensus"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				f.Target = []string{pick(s, t.Subjects[f.Kind])}
				f.set("store", []string{"both", "blob", "consensus"}[s.N(3)])
			},
		},
		{
			Name:     "persist.lease_expire",
			Doc:      "the leases of a machine's readers run out while they are in use, as those who commit see it",
			Cause:    "a process that stalls or swaps for longer than its lease, a clock far ahead on another machine",
			Subjects: true,
			Instant:  true,
			Params: []Param{
				intParam("times", "1", "how often in a row: each time that one who takes them for over commits, which also meets readers that have only just begun", 1, 100),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				f.Target = []string{pick(s, t.Subjects[f.Kind])}
				f.set("times", fmt.Sprint([]int64{1, s.Between(2, 30)}[s.N(2)]))
			},
		},
	}
}

func pick(s *sim.Stream, names []string) string { return names[s.N(uint64(len(names)))] }
