package faults

import (
	"strconv"
	"time"

	"github.com/simrun-dev/simrun/sim"
)

func netKinds() []*Kind {
	return []*Kind{
		{
			Name:     "net.partition",
			Doc:      "messages between the two sides are lost",
			Cause:    "a switch, a firewall rule, a routing change",
			Machines: someMachines,
			Params:   []Param{wordParam("shape", "split", "who can't reach whom. split: the targets and the others; bridge: the same, but the first target reaches both; ring: each target reaches only the targets before and after it", "split", "bridge", "ring")},
			draw:     drawPartition,
			begin:    beginPartition,
		},
		{
			Name:     "net.oneway",
			Doc:      "messages from the first machine to the second are lost, those back are not",
			Cause:    "asymmetric routes, a full send buffer, a broken transceiver",
			Machines: twoMachines,
			begin:    rule(func(f *Fault) sim.Rule { return between(f, sim.Rule{Drop: true}, false) }),
		},
		{
			Name:     "net.clog",
			Doc:      "messages between two machines are held back and all delivered at the end",
			Cause:    "a stalled middlebox, bufferbloat, a paused hypervisor",
			Machines: twoMachines,
			begin:    rule(func(f *Fault) sim.Rule { return between(f, sim.Rule{Hold: true}, true) }),
		},
		{
			Name:     "net.swizzle",
			Doc:      "the machines are clogged one by one, and released one by one in another order",
			Cause:    "rolling maintenance of a network; the shape that finds the most, by FoundationDB's account",
			Machines: someMachines,
			draw:     drawSwizzle,
			begin:    beginSwizzle,
		},
		{
			Name:     "net.loss",
			Doc:      "a share of the messages to and from a machine is lost",
			Cause:    "a congested or broken link",
			Machines: oneMachine,
			Params:   []Param{percentParam("loss", "10%", "share of messages lost")},
			draw: func(s *sim.Stream, f *Fault, _ *Topology) {
				f.set("loss", percent(int(s.Between(1, 30))*10_000))
			},
			begin: rule(func(f *Fault) sim.Rule { return around(f, sim.Rule{Loss: f.PerMillion("loss")}) }),
		},
		{
			Name:     "net.duplicate",
			Doc:      "a share of the datagrams to and from a machine arrives twice",
			Cause:    "retransmission below, redundant paths",
			Machines: oneMachine,
			Params:   []Param{percentParam("share", "20%", "share of datagrams repeated")},
			begin:    rule(func(f *Fault) sim.Rule { return around(f, sim.Rule{Duplicate: f.PerMillion("share")}) }),
		},
		{
			Name:     "net.delay",
			Doc:      "messages between two machines take longer, each by another amount",
			Cause:    "a detour, a shared uplink",
			Machines: twoMachines,
			Params:   []Param{durationParam("mean", "50ms", "mean of the exponentially distributed extra time")},
			draw: func(s *sim.Stream, f *Fault, _ *Topology) {
				f.set("mean", (time.Duration(s.Between(5, 300)) * time.Millisecond).String())
			},
			begin: rule(func(f *Fault) sim.Rule { return between(f, sim.Rule{Delay: sim.Exp(0, f.Duration("mean"))}, true) }),
		},
		{
			Name:     "net.reorder",
			Doc:      "datagrams to and from a machine overtake each other",
			Cause:    "several paths of different length",
			Machines: oneMachine,
			Params:   []Param{durationParam("window", "20ms", "how far a datagram may fall behind")},
			begin: rule(func(f *Fault) sim.Rule {
				return around(f, sim.Rule{Delay: sim.Between(0, f.Duration("window"))})
			}),
		},
		{
			Name:     "net.slow",
			Doc:      "every message to and from a machine takes longer",
			Cause:    "a machine that swaps or whose network card has fallen back to a slow mode: a grey failure",
			Machines: oneMachine,
			Params:   []Param{durationParam("extra", "200ms", "extra time of each message")},
			draw: func(s *sim.Stream, f *Fault, _ *Topology) {
				f.set("extra", (time.Duration(s.Between(20, 1000)) * time.Millisecond).String())
			},
			begin: rule(func(f *Fault) sim.Rule { return around(f, sim.Rule{Delay: sim.Fixed(f.Duration("extra"))}) }),
		},
		{
			Name:     "net.throttle",
			Doc:      "little gets through to and from a machine: messages queue up",
			Cause:    "a saturated uplink, a backup, a rate limit",
			Machines: oneMachine,
			Params:   []Param{intParam("bandwidth", "20000", "bytes a second, on each link", 1, 1_000_000_000)},
			draw: func(s *sim.Stream, f *Fault, _ *Topology) {
				f.set("bandwidth", strconv.FormatInt(s.Between(2, 200)*1000, 10))
			},
			begin: rule(func(f *Fault) sim.Rule { return around(f, sim.Rule{Bandwidth: int64(f.Int("bandwidth"))}) }),
		},
		{
			Name:     "net.reset",
			Doc:      "all connections between two machines are cut",
			Cause:    "a load balancer or firewall that forgets its state",
			Machines: twoMachines,
			Instant:  true,
			begin: func(w *sim.World, f *Fault, _ *Topology) (func(), bool) {
				return nil, w.ResetConns(f.Target[0], f.Target[1]) > 0
			},
		},
	}
}

func (f *Fault) set(name, value string) {
	if f.Params == nil {
		f.Params = map[string]Value{}
	}
	f.Params[name] = Value(value)
}

// rule makes a begin of a fault that is one network rule.
func rule(of func(*Fault) sim.Rule) func(*sim.World, *Fault, *Topology) (func(), bool) {
	return func(w *sim.World, f *Fault, _ *Topology) (func(), bool) { return w.AddRule(of(f)), true }
}

func between(f *Fault, r sim.Rule, both bool) sim.Rule {
	r.From, r.To, r.Both = f.Target[:1], f.Target[1:2], both
	return r
}

func around(f *Fault, r sim.Rule) sim.Rule {
	r.From, r.Both = f.Target[:1], true
	return r
}

func drawPartition(s *sim.Stream, f *Fault, t *Topology) {
	all := shuffled(s, t.machineNames())
	switch s.N(4) {
	case 0, 1: // isolate one: what most real partitions are
		f.Target = all[:1]
	case 2: // halves
		f.Target = all[:max(1, len(all)/2)]
		if len(all) > 3 && s.N(2) == 0 {
			f.set("shape", "bridge")
		}
	default:
		f.Target = all
		f.set("shape", "ring")
		if len(all) < 4 {
			f.Target, f.Params = all[:1], nil
		}
	}
}

func beginPartition(w *sim.World, f *Fault, t *Topology) (func(), bool) {
	var removes []func()
	cut := func(from, to []string) {
		if len(from) > 0 && len(to) > 0 {
			removes = append(removes, w.AddRule(sim.Rule{From: from, To: to, Both: true, Drop: true}))
		}
	}
	switch f.Text("shape") {
	case "split":
		cut(f.Target, t.others(f.Target))
	case "bridge":
		cut(f.Target[1:], t.others(f.Target))
	case "ring":
		n := len(f.Target)
		for i := range n {
			for j := i + 2; j < n && j-i < n-1; j++ {
				cut(f.Target[i:i+1], f.Target[j:j+1])
			}
		}
	}
	return all(removes), len(removes) > 0
}

func drawSwizzle(s *sim.Stream, f *Fault, t *Topology) {
	names := shuffled(s, t.machineNames())
	f.Target = names[:max(1, len(names)/2)]
}

// beginSwizzle clogs the targets over the first third of the fault's time and releases them over
// the last third, in an order of its own.
func beginSwizzle(w *sim.World, f *Fault, _ *Topology) (func(), bool) {
	s := w.NewStream("fault", f.ID, "swizzle")
	releases := shuffled(s, f.Target)
	third := time.Duration(f.To-f.From) / 3
	pace := third / time.Duration(len(f.Target))
	held := map[string]func(){}
	over := false
	w.Go("fault "+f.ID, func() {
		for _, name := range f.Target {
			if over {
				return
			}
			held[name] = w.AddRule(sim.Rule{From: []string{name}, Both: true, Hold: true})
			w.Sleep(pace)
		}
		w.Sleep(third)
		for _, name := range releases {
			if over {
				return
			}
			held[name]()
			delete(held, name)
			w.Sleep(pace)
		}
	})
	return func() {
		over = true
		for _, name := range releases {
			if release := held[name]; release != nil {
				release()
			}
		}
	}, true
}

func all(fns []func()) func() {
	return func() {
		for _, fn := range fns {
			fn()
		}
	}
}

func shuffled(s *sim.Stream, names []string) []string {
	out := append([]string(nil), names...)
	for i := len(out) - 1; i > 0; i-- {
		j := int(s.N(uint64(i) + 1))
		out[i], out[j] = out[j], out[i]
	}
	return out
}
