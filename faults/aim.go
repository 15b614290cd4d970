package faults

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// aimed is a fault that waits for its moment.
type aimed struct {
	fault *Fault
	seen  int // how often its note has come
}

// change is the beginning or the end of a fault that waited for its moment.
type change struct {
	at    time.Duration
	begin bool
	fault *Fault // its targets are machines
}

// aims are the faults of a plan that wait for their moments. One task carries them all out: how many
// there are changes nothing for the others.
type aims struct {
	byNote  map[string][]*aimed
	armed   bool
	started time.Duration
	pending []change // in order of time
	wake    *host.Chan[struct{}]
}

func newAims(h host.Host, p *Plan) aims {
	a := aims{byNote: map[string][]*aimed{}, wake: host.NewChan[struct{}](h, "aimed faults", 1)}
	for n := range p.Faults {
		if f := &p.Faults[n]; f.When != nil {
			a.byNote[f.When.Note] = append(a.byNote[f.When.Note], &aimed{fault: f})
		}
	}
	return a
}

// add puts a change in its place, behind those of the same time.
func (a *aims) add(c change) {
	n := len(a.pending)
	for n > 0 && a.pending[n-1].at > c.at {
		n--
	}
	a.pending = slices.Insert(a.pending, n, c)
}

// Listens tells whether faults of the plan wait for notes: whether [Injector.Noted] is to be called.
func (i *Injector) Listens() bool { return len(i.aims.byNote) > 0 }

// Noted tells that the process on a machine has noted a piece of state of that key, or reached the
// situation of that name. It is called by any task, and does nothing in it: what waited for the note
// begins in a task of the injector's.
func (i *Injector) Noted(machine, note string) {
	if !i.aims.armed || i.healed {
		return
	}
	i.noted(machine, i.aims.byNote[note])
	if key, _, ok := strings.Cut(note, "/"); ok {
		i.noted(machine, i.aims.byNote[key])
	}
}

func (i *Injector) noted(machine string, waiting []*aimed) {
	now := i.w.Now()
	for _, a := range waiting {
		if now-i.aims.started < time.Duration(a.fault.From) {
			continue
		}
		a.seen++
		if a.seen != a.fault.When.nth() {
			continue
		}
		f := *a.fault
		f.Target = i.targets(a.fault, machine)
		i.aims.add(change{now + time.Duration(f.When.After), true, &f})
		i.aims.wake.TrySend(struct{}{})
	}
}

// targets are the machines that the targets of a fault stand for, now that a machine has noted what
// it waited for. Which one of a role it is is drawn from a stream of the fault's own.
func (i *Injector) targets(f *Fault, there string) []string {
	targets := slices.Clone(f.Target)
	for n, name := range targets {
		if name == There {
			targets[n] = there
		}
	}
	for n, name := range targets {
		role, ok := roleOf(name)
		if !ok {
			continue
		}
		left := slices.DeleteFunc(i.topology.machinesOf(role), func(m string) bool { return slices.Contains(targets, m) })
		if len(left) > 0 {
			targets[n] = pick(i.w.NewStream("fault", f.ID, name), left)
		}
	}
	return targets
}

// fits tells whether a fault can act on what its targets turned out to be.
func (i *Injector) fits(f *Fault) bool {
	k := kinds[f.Kind]
	known := i.topology.machineNames()
	switch {
	case k.Subjects:
		known = i.topology.Subjects[f.Kind]
	case k.Machines == oneDisk:
		known = i.topology.diskNames()
	}
	return k.checkTarget(f.Target) == nil &&
		!slices.ContainsFunc(f.Target, func(name string) bool { return !slices.Contains(known, name) })
}

// aim begins and ends the faults that wait for their moments.
func (i *Injector) aim() {
	for !i.healed {
		if len(i.aims.pending) == 0 {
			i.aims.wake.Recv()
			continue
		}
		next := i.aims.pending[0]
		if wait := next.at - i.w.Now(); wait > 0 {
			ctx, cancel := i.w.Host().Clock().WithTimeout(context.Background(), wait)
			_, _, _ = i.aims.wake.RecvContext(ctx) // woken or not, the loop looks what is due
			cancel()
			continue
		}
		i.aims.pending = i.aims.pending[1:]
		switch {
		case !next.begin:
			i.end(next.fault)
		case !i.fits(next.fault):
			i.w.Fault("nothing to do for " + next.fault.String())
		default:
			i.begin(next.fault)
			if next.fault.For > 0 {
				i.aims.add(change{i.w.Now() + time.Duration(next.fault.For), false, next.fault})
			}
		}
	}
}
