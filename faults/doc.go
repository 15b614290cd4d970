// Package faults makes things go wrong on purpose, as a plan that can be read, edited and
// replayed.
//
// A [Plan] is a list of faults: what kind, on what, from when to when. [Generate] draws one from a
// seed by a [Profile], in the way of swarm testing (Groce et al., ISSTA 2012): each seed switches a
// random subset of the kinds on, at random rates, and the others fully off, since kinds that are
// always on mask each other. Each kind draws from a stream of its own and each fault of a kind from
// one addressed by its ordinal, so that to leave a fault or a kind out changes no other.
//
// A fault begins at a time, or waits for a moment ([When]): that a process notes a piece of state or
// reaches a situation, at which something is half done. Profiles aim some faults at the catalogue of
// [Moments].
//
// An [Injector] carries a plan out in a world. The kinds that break machines and the network are
// built in; a scenario adds handlers for those of its own system.
//
//	plan := faults.Generate(seed, profile, topology)
//	injector, err := faults.NewInjector(world, plan, topology, handlers)
//	injector.Start()
//	...
//	injector.Noted(machine, "persist.upper") // of what processes note, for faults that wait for it
//	...
//	injector.Heal() // all faults end
//
// [Kinds] is the catalogue: every kind with its parameters and what causes it in the real world.
package faults
