package faults

import (
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/sim"
)

func nodeKinds() []*Kind {
	return []*Kind{
		{
			Name:     "node.crash",
			Doc:      "the machine's process dies, and starts anew at the end; unsynced writes are each kept, lost or torn, or stay unsynced",
			Cause:    "a bug, the out-of-memory killer, a deployment; loss of power where power is on",
			Machines: oneMachine,
			Params: []Param{
				wordParam("power", "off", "whether the machine dies with its process, so that its peers hear nothing", "on", "off"),
				wordParam("cache", "lost", "what becomes of unsynced writes when power is off: kept, the operating system still has them, and a crash later may lose them", "lost", "kept"),
			},
			draw: func(s *sim.Stream, f *Fault, _ *Topology) {
				switch s.N(4) {
				case 0, 1:
					f.set("power", "on")
				case 2:
					f.set("cache", "kept")
				}
			},
			begin: func(w *sim.World, f *Fault, _ *Topology) (func(), bool) {
				n := w.Node(f.Target[0])
				if !n.Up() {
					return nil, false
				}
				switch {
				case f.Text("power") == "on":
					n.PowerOff()
				case f.Text("cache") == "kept":
					n.Kill()
				default:
					n.Crash()
				}
				return n.Restart, true
			},
		},
		{
			Name:     "node.pause",
			Doc:      "the machine's process stands still, and goes on at the end",
			Cause:    "collection of garbage, a migrated virtual machine, a stopped container, swapping",
			Machines: oneMachine,
			begin: func(w *sim.World, f *Fault, _ *Topology) (func(), bool) {
				n := w.Node(f.Target[0])
				if !n.Up() || n.Paused() {
					return nil, false
				}
				n.Pause()
				life := n.Incarnation()
				return func() {
					if n.Incarnation() == life { // a crash has ended the pause otherwise
						n.Resume()
					}
				}, true
			},
		},
	}
}

func clockKinds() []*Kind {
	return []*Kind{
		{
			Name:     "clock.skew",
			Doc:      "the machine's clock runs too fast or too slow, and is right again at the end",
			Cause:    "a bad oscillator, a time daemon that slews",
			Machines: oneMachine,
			Params:   []Param{intParam("drift", "1000", "how much faster it runs, in parts per million; negative is slower", -500_000, 1_000_000)},
			draw: func(s *sim.Stream, f *Fault, _ *Topology) {
				f.set("drift", fmt.Sprint(s.Between(-200_000, 200_000)))
			},
			begin: func(w *sim.World, f *Fault, _ *Topology) (func(), bool) {
				return w.Node(f.Target[0]).SkewClock(f.Int("drift")), true
			},
		},
		{
			Name:     "clock.jump",
			Doc:      "the machine's clock jumps, and jumps back at the end",
			Cause:    "a time daemon that steps, a wrong time server, a resumed virtual machine",
			Machines: oneMachine,
			Params:   []Param{shiftParam("by", "5s", "how far; negative is into the past")},
			draw: func(s *sim.Stream, f *Fault, _ *Topology) {
				by := s.Between(-10_000, 10_000)
				if by == 0 {
					by = 1
				}
				f.set("by", (time.Duration(by) * time.Millisecond).String())
			},
			begin: func(w *sim.World, f *Fault, _ *Topology) (func(), bool) {
				n, by := w.Node(f.Target[0]), f.Duration("by")
				n.JumpClock(by)
				return func() { n.JumpClock(-by) }, true
			},
		},
	}
}
