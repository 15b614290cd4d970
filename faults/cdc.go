package faults

import (
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/sim"
)

// The kinds of package system/cdc. Scenarios carry them out: they know who the owner is.
func cdcKinds() []*Kind {
	target := func(s *sim.Stream, f *Fault, t *Topology) { f.Target = []string{pick(s, t.Subjects[f.Kind])} }
	return []*Kind{
		{
			Name:     "owner.change",
			Doc:      "the owner loses its office: its lease is revoked without its knowing, or it is asked to resign",
			Cause:    "a lease that ran out during a long pause, a rolling restart, an operator",
			Subjects: true,
			Instant:  true,
			Params: []Param{
				wordParam("how", "revoked", "how it loses it", "revoked", "resigns", "crashes"),
				wordParam("moment", "now", "at once, or as soon as key spans are being removed, which the sink may then hold up, or a changefeed was resumed, within 2 s", "now", "busy", "resumed"),
				durationParam("after", "1ms", "how long after that"),
				intParam("times", "1", "how many owners in a row: each next one as soon as it is there", 1, 3),
				wordParam("returns", "no", "of one that resigns: whether others do so after it, until it is the owner again, when what captures have sent to it comes that was on its way", "no", "yes"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				target(s, f, t)
				f.set("how", []string{"revoked", "crashes", "resigns"}[s.N(3)])
				f.set("moment", []string{"now", "busy", "resumed"}[s.N(3)])
				f.set("after", (time.Duration(s.Between(1, 150)) * time.Millisecond).String())
				f.set("times", fmt.Sprint(1+s.N(4)/3))
				if f.Text("how") == "resigns" {
					f.set("returns", []string{"no", "yes"}[s.N(2)])
				}
			},
		},
		{
			Name:     "owner.zombie",
			Doc:      "the owner is cut off from the coordination service, with a clock that has slowed down, and goes on acting towards everybody else until it notices that it is deposed",
			Cause:    "a partial partition beside a paused virtual machine's clock",
			Subjects: true,
			Params: []Param{
				intParam("slow", "500000", "how much slower the owner's clock runs, in parts per million", 0, 900_000),
				wordParam("messages", "lost", "what becomes of messages between the owner and the service: all lost, or delivered at the end, when the owner may be another", "lost", "held"),
				wordParam("moment", "now", "at once, or when the owner is next about to schedule, and then to store a checkpoint", "now", "storing"),
				wordParam("stores", "reachable", "whether its calls to the stores of shards hang, until a key span is given up that it replicates and that is dropped, which is asked for, or the end", "reachable", "held"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				target(s, f, t)
				f.set("slow", fmt.Sprint(s.Between(0, 800)*1000))
				f.set("messages", []string{"lost", "held"}[s.N(2)])
				f.set("moment", []string{"now", "storing"}[s.N(2)])
				if offices := t.Subjects[f.Kind]; s.N(3) == 0 && slices.Contains(offices, "owner") && slices.Contains(offices, "mirror") {
					// Others take over, and are done with what it has left, before its clock tells it.
					f.Target = []string{"owner"}
					f.set("stores", "held")
					f.set("slow", "800000")
					f.sooner()
					f.longer(10 * time.Second)
				}
			},
		},
		{
			Name: "owner.overlap",
			Doc: "two lead at once: the owner loses its lease and does not hear of it, as its keep-alives hang and its clock has slowed down, " +
				"while it reads and writes as before; and what its successor does hangs for a while",
			Cause:    "one of several connections that hangs, a partition of a store that fails over",
			Subjects: true,
			Params: []Param{
				intParam("slow", "500000", "how much slower the owner's clock runs, in parts per million", 0, 900_000),
				wordParam("of", "reads", "what hangs: what its successor reads of key spans, from the beginning, or, a while later, its tables", "reads", "tables"),
				durationParam("after", "1ms", "how long its successor leads before its tables hang"),
				durationParam("hangs", "2s", "how long it does"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				target(s, f, t)
				f.set("slow", fmt.Sprint(s.Between(300, 700)*1000)) // and does what it does the less often
				hangs := s.Between(300, 3000)
				switch s.N(4) {
				case 0, 1:
					f.set("of", "tables")
					f.set("after", (time.Duration(s.Between(1, 2000)) * time.Millisecond).String())
				case 2:
					hangs = s.Between(3000, 8000) // the history that has been mirrored is let go every few seconds
				}
				f.set("hangs", (time.Duration(hangs) * time.Millisecond).String())
				f.sooner()
				f.longer(8 * time.Second)
			},
		},
		{
			Name:     "owner.slow",
			Doc:      "the owner takes its time between learning which key spans there are and scheduling them, and meanwhile there are more",
			Cause:    "garbage collection, a noisy neighbour, a slow answer",
			Subjects: true,
			Params: []Param{
				durationParam("by", "600ms", "how long it takes"),
				intParam("spans", "1", "how many key spans are added meanwhile", 0, 10),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				target(s, f, t)
				f.set("by", (time.Duration(s.Between(200, 1500)) * time.Millisecond).String())
				f.set("spans", fmt.Sprint(s.Between(0, 2)))
			},
		},
		{
			Name:     "capture.crash",
			Doc:      "a capture dies, preferably one that has key spans being added or removed, and is started again",
			Cause:    "out of memory under the load of new key spans",
			Subjects: true,
			Params: []Param{
				wordParam("how", "crash", "how it dies: with its connections reset, or silently", "crash", "silently"),
				wordParam("moment", "now", "at once, or as soon as what it has sent to the sink is on its way, within 2 s", "now", "writing"),
				durationParam("after", "1ms", "how long after that"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				target(s, f, t)
				f.set("how", []string{"crash", "silently"}[s.N(2)])
				f.set("moment", []string{"now", "writing"}[s.N(2)])
				f.set("after", (time.Duration(s.Between(1, 20)) * time.Millisecond).String())
			},
		},
		{
			Name:     "coord.stall",
			Doc:      "what is written to the coordination service gets no answer for a while, of one client or of all, while reads, watches and leases go on",
			Cause:    "a leader whose disk stalls, a proxy that queues, a quota of writes",
			Subjects: true,
			Params: []Param{
				wordParam("how", "held", "what becomes of the writes: each takes effect when the stall is over, whether or not its caller still waits; or at once, and only its answer stays away; or never", "held", "unanswered", "lost"),
				wordParam("until", "end", "when the stall is over: at the end, or, if that comes before, as soon as a caller has given up and then a key span was dispatched, which is asked for; or it is an owner's next candidature alone that is held, and the stall over when another has made it the owner and it has resigned, which is asked for", "end", "dispatch", "resigned"),
				durationParam("after", "1ms", "how long after that"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				target(s, f, t)
				f.set("how", []string{"held", "held", "unanswered", "lost"}[s.N(4)])
				f.set("until", []string{"end", "dispatch", "dispatch", "resigned"}[s.N(4)])
				f.set("after", (time.Duration(s.Between(1, 30)) * time.Millisecond).String())
				if f.Text("until") != "end" {
					f.longer(4 * time.Second) // or callers seldom give up, and a key span is moved, in time
				}
				if f.Text("until") == "resigned" {
					f.set("how", "held") // what is lost, or was done at once, is nobody's surprise
				}
			},
		},
		{
			Name:     "sink.refuse",
			Doc:      "a changefeed's sink refuses everything for good, as far as captures can tell, and takes it again at the end",
			Cause:    "a table that was dropped or made read-only, a revoked grant, a sink restored from a copy",
			Subjects: true,
			Params: []Param{
				wordParam("how", "closed", "what it says: that it takes no more rows, or that rows are missing in it where a key span is to go on", "closed", "gap"),
			},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				target(s, f, t)
				f.set("how", []string{"closed", "gap"}[s.N(2)])
			},
		},
		{
			Name:     "source.stall",
			Doc:      "the resolved timestamp of a key span stands still",
			Cause:    "a lock of a transaction that is never resolved, a region without a leader",
			Subjects: true,
			Params:   []Param{intParam("span", "0", "which of the key spans, counted from 0 around", 0, 1_000_000)},
			draw: func(s *sim.Stream, f *Fault, t *Topology) {
				target(s, f, t)
				f.set("span", fmt.Sprint(s.N(1000)))
			},
		},
	}
}
