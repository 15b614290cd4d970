package faults

import (
	"time"

	"github.com/simrun-dev/simrun/sim"
)

func diskKinds() []*Kind {
	return []*Kind{
		{
			Name:     "disk.error",
			Doc:      "a share of the operations on the machine's disk fails; what failed writes and syncs did is not known",
			Cause:    "a dying disk, a bad cable, a thin-provisioned volume",
			Machines: oneDisk,
			Params:   []Param{percentParam("share", "5%", "share of operations that fail")},
			draw: func(s *sim.Stream, f *Fault, _ *Topology) {
				f.set("share", percent(int(s.Between(1, 30))*10_000))
			},
			begin: diskRule(func(f *Fault) sim.DiskRule { return sim.DiskRule{Fail: f.PerMillion("share")} }),
		},
		{
			Name:     "disk.full",
			Doc:      "what needs more room on the machine's disk fails",
			Cause:    "logs, a neighbour, a quota",
			Machines: oneDisk,
			begin:    diskRule(func(*Fault) sim.DiskRule { return sim.DiskRule{Full: true} }),
		},
		{
			Name:     "disk.slow",
			Doc:      "operations on the machine's disk take longer",
			Cause:    "a neighbour, a rebuild of an array, a disk that remaps sectors",
			Machines: oneDisk,
			Params:   []Param{durationParam("mean", "20ms", "mean of the exponentially distributed extra time")},
			draw: func(s *sim.Stream, f *Fault, _ *Topology) {
				f.set("mean", (time.Duration(s.Between(1, 200)) * time.Millisecond).String())
			},
			begin: diskRule(func(f *Fault) sim.DiskRule { return sim.DiskRule{Delay: sim.Exp(0, f.Duration("mean"))} }),
		},
		{
			Name:     "disk.lost",
			Doc:      "the machine loses power, and all that it had not synced; it starts anew at the end",
			Cause:    "loss of power with a large write cache",
			Machines: oneDisk,
			begin:    powerLoss(sim.UnsyncedLost),
		},
		{
			Name:     "disk.torn",
			Doc:      "the machine loses power, and of each write that it had not synced some sectors are on the disk; it starts anew at the end",
			Cause:    "loss of power while blocks are written out in any order",
			Machines: oneDisk,
			begin:    powerLoss(sim.UnsyncedTorn),
		},
		{
			Name:      "disk.corrupt",
			Doc:       "a bit of what is durable on the machine's disk flips",
			Cause:     "bit rot, cosmic rays, firmware",
			Machines:  oneDisk,
			Instant:   true,
			Unbounded: true,
			begin: func(w *sim.World, f *Fault, _ *Topology) (func(), bool) {
				_, ok := w.Node(f.Target[0]).CorruptDisk(w.NewStream("fault", f.ID, "act"))
				return nil, ok
			},
		},
		{
			Name:      "disk.misdirected",
			Doc:       "a sector of a file on the machine's disk is written over another of the same file",
			Cause:     "firmware that writes to the wrong place",
			Machines:  oneDisk,
			Instant:   true,
			Unbounded: true,
			begin: func(w *sim.World, f *Fault, _ *Topology) (func(), bool) {
				_, ok := w.Node(f.Target[0]).MisdirectDisk(w.NewStream("fault", f.ID, "act"))
				return nil, ok
			},
		},
		{
			Name:      "node.wipe",
			Doc:       "the machine dies with its disk, and starts anew on an empty one at the end",
			Cause:     "a replaced machine, an ephemeral volume",
			Machines:  oneMachine,
			Unbounded: true,
			begin: func(w *sim.World, f *Fault, _ *Topology) (func(), bool) {
				n := w.Node(f.Target[0])
				if !n.Up() {
					return nil, false
				}
				n.PowerOff()
				n.Wipe()
				return n.Restart, true
			},
		},
	}
}

func diskRule(of func(*Fault) sim.DiskRule) func(*sim.World, *Fault, *Topology) (func(), bool) {
	return func(w *sim.World, f *Fault, _ *Topology) (func(), bool) {
		return w.Node(f.Target[0]).AddDiskRule(of(f)), true
	}
}

func powerLoss(what sim.Unsynced) func(*sim.World, *Fault, *Topology) (func(), bool) {
	return func(w *sim.World, f *Fault, _ *Topology) (func(), bool) {
		n := w.Node(f.Target[0])
		if !n.Up() {
			return nil, false
		}
		n.SetUnsynced(what)
		n.PowerOff()
		n.SetUnsynced(sim.UnsyncedAny)
		return n.Restart, true
	}
}
