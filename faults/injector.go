package faults

import (
	"slices"
	"time"

	"github.com/simrun-dev/simrun/sim"
)

// Handler carries out a fault of a scenario's own kind: it begins it, and returns how to end it,
// which is nil for an instant one. done is false when there was nothing to act on; such a fault does
// not count as fired. It is called in a task of the world's own process, and must not wait: it
// starts tasks for that.
type Handler func(f *Fault) (end func(), done bool)

// Injector carries out a plan. For faults that wait for a moment it must be told what processes note:
// see [Injector.Noted].
type Injector struct {
	w        *sim.World
	plan     *Plan
	topology *Topology
	handlers map[string]Handler

	active []*activeFault
	fired  map[string]int
	healed bool
	aims   aims
}

type activeFault struct {
	fault *Fault
	end   func()
}

// NewInjector checks the plan against the topology and the handlers. Its errors are *PlanError.
func NewInjector(w *sim.World, p *Plan, t *Topology, handlers map[string]Handler) (*Injector, error) {
	handled := func(kind string) bool { return handlers[kind] != nil }
	if err := p.Check(t, handled); err != nil {
		return nil, err
	}
	return &Injector{w: w, plan: p, topology: t, handlers: handlers, fired: map[string]int{}, aims: newAims(w.Host(), p)}, nil
}

// Start begins the fault phase now: the plan's times count from here.
func (i *Injector) Start() {
	var changes []change
	for n := range i.plan.Faults {
		f := &i.plan.Faults[n]
		if f.When != nil {
			continue
		}
		changes = append(changes, change{time.Duration(f.From), true, f})
		if f.To != 0 {
			changes = append(changes, change{time.Duration(f.To), false, f})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return int(min(max(a.at-b.at, -1), 1)) })
	start := i.w.Now()
	i.w.Go("faults", func() {
		for _, c := range changes {
			i.w.Sleep(start + c.at - i.w.Now())
			if i.healed {
				return
			}
			if c.begin {
				i.begin(c.fault)
			} else {
				i.end(c.fault)
			}
		}
	})
	// Even if none waits for a moment: runs are the same up to the first fault that only one has.
	i.aims.armed, i.aims.started = true, start
	i.w.Go("aimed faults", i.aim)
}

func (i *Injector) begin(f *Fault) {
	k := kinds[f.Kind]
	var end func()
	var done bool
	if h := i.handlers[f.Kind]; h != nil {
		end, done = h(f)
	} else {
		end, done = k.begin(i.w, f, i.topology)
	}
	if !done {
		i.w.Fault("nothing to do for " + f.String())
		return
	}
	i.fired[f.Kind]++
	i.w.Fault("begin " + f.String())
	if end != nil {
		i.active = append(i.active, &activeFault{f, end})
	}
}

func (i *Injector) end(f *Fault) {
	n := slices.IndexFunc(i.active, func(a *activeFault) bool { return a.fault == f })
	if n < 0 {
		return
	}
	a := i.active[n]
	i.active = slices.Delete(i.active, n, n+1)
	i.w.Fault("end " + f.ID)
	a.end()
}

// Heal ends all faults that are in force, in the order in which they began, and begins no more.
func (i *Injector) Heal() {
	if !i.healed {
		i.aims.wake.Close()
	}
	i.healed = true
	for len(i.active) > 0 {
		i.end(i.active[0].fault)
	}
}

// Active are the faults in force.
func (i *Injector) Active() []*Fault {
	all := make([]*Fault, len(i.active))
	for n, a := range i.active {
		all[n] = a.fault
	}
	return all
}

// Fired is how many faults of each kind began.
func (i *Injector) Fired() map[string]int { return i.fired }
