package faults

import (
	"maps"
	"slices"
	"time"
)

// Keep is the plan with those of its faults for which keep holds. The plan itself stays as it is.
func (p *Plan) Keep(keep func(index int, f *Fault) bool) *Plan {
	fewer := &Plan{Profile: p.Profile, Seed: p.Seed, Faults: []Fault{}}
	for i := range p.Faults {
		if keep(i, &p.Faults[i]) {
			fewer.Faults = append(fewer.Faults, p.Faults[i])
		}
	}
	return fewer
}

// Replace is the plan with another fault in the place of one. The plan itself stays as it is.
func (p *Plan) Replace(index int, f Fault) *Plan {
	other := &Plan{Profile: p.Profile, Seed: p.Seed, Faults: slices.Clone(p.Faults)}
	other.Faults[index] = f
	return other
}

// shortest is how long a fault lasts at least that is made simpler.
const shortest = Time(time.Millisecond)

// Simpler are faults of the same kind that are each a step simpler, the simplest first: with a
// parameter left to its default, fewer targets, at once after its moment or at the first of them, over
// sooner.
func (f *Fault) Simpler() []Fault {
	var simpler []Fault
	add := func(change func(*Fault)) {
		g := *f
		g.Target, g.Params = slices.Clone(f.Target), maps.Clone(f.Params)
		if f.When != nil {
			when := *f.When
			g.When = &when
		}
		change(&g)
		if k := kinds[g.Kind]; k != nil {
			if _, err := g.check(); err == nil {
				simpler = append(simpler, g)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Params)) {
		add(func(g *Fault) { delete(g.Params, name) })
	}
	if len(f.Target) > 1 {
		for i := range f.Target {
			add(func(g *Fault) { g.Target = slices.Delete(g.Target, i, i+1) })
		}
	}
	if f.When != nil && f.When.After > 0 {
		add(func(g *Fault) { g.When.After = 0 })
	}
	if f.When != nil && f.When.nth() > 1 {
		add(func(g *Fault) { g.When.Nth = 0 })
	}
	for _, part := range []Time{8, 2} {
		if lasts := (f.To - f.From) / part; f.To > 0 && lasts >= shortest {
			add(func(g *Fault) { g.To = g.From + rounded(lasts) })
		}
		if lasts := f.For / part; lasts >= shortest {
			add(func(g *Fault) { g.For = rounded(lasts) })
		}
	}
	return simpler
}

// rounded is a time in whole milliseconds.
func rounded(t Time) Time { return Time(time.Duration(t).Round(time.Millisecond)) }
